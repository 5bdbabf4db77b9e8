// Package play is a player at a terminal, without the terminal: what he knows, what he
// types, what he is told. Two front ends show it: the lines of 'wamble play --plain',
// and the screen of package terminal.
//
//   - Game: what the player knows. Line takes what he typed, Take what has happened;
//     both return effects.
//   - Effect: what is to be done for him: a request to the server, a file to be kept, a
//     text to be said. Whoever owns the connection does it, and tells the result by
//     Take.
//   - Board: a board that he holds or watches; Describe says in words what stands on it.
//   - Step: one move of his trail, and its Fate: what became of it.
//   - Wall: the boards that he watches.
//
// Nothing here waits, and nothing knows the time but from its caller.
package play
