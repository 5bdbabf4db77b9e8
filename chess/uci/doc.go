// Package uci runs a chess engine that understands UCI: it starts the program, sends it
// positions, and checks its answers.
//
//	e, err := uci.Start(ctx, uci.Config{Command: []string{"stockfish"}})
//	…
//	defer e.Close()
//	r, err := e.Search(ctx, uci.Limit{Nodes: 1000}, chess.Start())
//
// The types, and the files with their names:
//
//   - Engine is one process. Use it from one goroutine at a time.
//   - Option is an option of the engine.
//   - Limit is the bound of a Search; Result is what the Search has found.
//
// The package does not trust the engine, which may hang, exit, write without end or play an
// illegal move. The bytes of a line and of an answer are bounded, and every wait has a
// deadline. After ErrTimeout, ErrExited and ErrFlood, and when the context of a call other than
// Search has ended, the process has ended: start another. On Unix its children have been
// killed with it.
package uci
