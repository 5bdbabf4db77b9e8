// Package record writes a stored game as it leaves the house: as PGN for chess
// programs, or as one line of JSON for other programs. Both name the player and
// the time of every move.
package record
