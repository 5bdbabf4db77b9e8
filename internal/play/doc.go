// Package play is a player's game at a terminal, without the terminal: what the player knows,
// types and is told. Two front ends use it: the lines of 'wamble play --plain', and the screen
// of package terminal.
//
//   - Game is the state of the player. Line handles typed text, Take handles
//     messages; both return effects.
//   - Effect is something to be done for the player: a request to the server, a
//     file to be stored, a text to be shown. The owner of the connection carries
//     it out, and passes the result to Take.
//   - Board is a board that the player holds or watches; Describe lists its pieces.
//   - Step is one move of the player's trail, and its Fate the outcome.
//   - Wall is the set of boards that the player watches.
//   - Mnemonic is the player's identity, as twelve words.
//
// Nothing in this package blocks, and the caller passes the time.
package play
