// Package bot seats computer players at a Wamble server.
//
//   - Crowd is several seats at one server: Run keeps them playing.
//   - Player chooses moves: Novice, the built-in one, or Engines, a few processes
//     that speak UCI and are shared by all seats.
//
// A seat survives what can happen to it: a server that restarts, a board that is taken
// away, an engine that crashes, hangs or plays an illegal move. It keeps a polite pace,
// and says goodbye when it is told to stop.
package bot
