// Package record exports a stored game: as PGN for chess programs, as one line of JSON for other programs,
// or as a picture. PGN and JSON name the player and the time of every move.
package record
