// Package terminal is the screen of 'wamble play': a board, recent texts, the trail, an input
// line, and the wall of boards that others play on. It draws with Bubble Tea and Lip Gloss, and
// does not access the terminal: it gets keys, clicks and sizes as messages and returns a View.
//
//   - Model is the state of the screen. Update handles a message and returns
//     effects of package play; View draws.
//   - layout is the positions on a screen of this size, for drawing and clicks.
//   - theme is the colours for dark terminals, for light ones, or none.
package terminal
