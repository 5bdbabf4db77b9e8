// Package uci speaks to a chess engine over UCI: it starts the program, tells it
// positions, and checks what it answers.
//
//	e, err := uci.Start(ctx, uci.Config{Command: []string{"stockfish"}})
//	…
//	defer e.Close()
//	r, err := e.Search(ctx, uci.Limit{Nodes: 1000}, chess.Start())
//
// Its nouns, and the files that bear their names:
//
//   - Engine is one process. It belongs to one goroutine.
//   - Option is what the engine lets one set.
//   - Limit says how long a Search may think; Result is what came of it.
//
// An engine is a stranger: it may hang, die, write without end or play a move that
// is not legal. Every line and every search is bounded, every wait has a deadline, and
// whatever an engine does comes back as one of the errors in engine.go. After all of
// them but ErrIllegal the process has ended with all its children: start another one.
package uci
