// Package bot plays computer players at a Wamble server.
//
//   - Pool is a group of bots at one server: Run keeps them playing (pool.go).
//   - Player chooses moves: Novice, the built-in one, or Engines, a few processes
//     that speak UCI and are shared by all bots (player.go).
//
// A bot recovers from a server restart, the loss of its board, and an engine that crashes,
// hangs or plays an illegal move. It keeps to a pace, and says goodbye when it is stopped.
package bot
