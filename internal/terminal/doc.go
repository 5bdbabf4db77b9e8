// Package terminal is the screen of 'wamble play': a board, what was said last, the trail,
// a line to type in, and the wall of boards that others play on. It draws with Bubble Tea
// and Lip Gloss, and owns no terminal: keys, clicks and sizes come in as messages, and a
// View goes out.
//
//   - Model: what is on the screen. Update takes a message and returns the effects of
//     package play that are to be done; View draws.
//   - layout: where things are on a screen of this size; drawing and clicks share it.
//   - theme: the colours for dark and for light terminals, and none.
package terminal
