package server

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/anishathalye/porcupine"

	"wamble"
	"wamble/internal/store"
)

// The judge checks the answers that the players of a crowd got for linearizability, board by
// board, with Porcupine. Its model is independent of the server: a board is a list of moves;
// a player plays the next one, or sees how many there are; at the end the store has the list.

// moveOp is the operation of a player who asks for a move. If unknown is true, the player got
// no answer.
type moveOp struct {
	ply     int
	uci     string
	unknown bool
}

// viewOp is the operation of a player who is shown a board with so many moves.
type viewOp struct{ plies int }

// finalOp is the last operation on a board: the store has these moves.
type finalOp struct{ moves string }

// boardState is the model's state of a board between two operations.
type boardState struct {
	plies int
	moves string
}

var boardModel = porcupine.Model{
	Init: func() any { return boardState{} },
	Step: func(state, input, _ any) (bool, any) {
		s := state.(boardState)
		switch op := input.(type) {
		case moveOp:
			if s.plies != op.ply-1 {
				return op.unknown, s
			}
			return true, boardState{op.ply, s.moves + " " + op.uci}
		case viewOp:
			return s.plies == op.plies, s
		case finalOp:
			return s.moves == op.moves, s
		}
		panic(fmt.Sprintf("unknown operation %T", input))
	},
	DescribeOperation: func(input, _ any) string { return fmt.Sprintf("%T%+v", input, input) },
	DescribeState:     func(state any) string { return fmt.Sprintf("%+v", state) },
}

// history is what the players of a crowd did and saw, by board. Each player has their own,
// so that it needs no lock.
type history map[wamble.BoardID][]porcupine.Operation

// clock orders operations: it counts them, so that it does not depend on a real clock.
var clock atomic.Int64

// add adds an operation that began at call and ends now; if it is unknown, its end is open.
func (h history) add(player int, board wamble.BoardID, call int64, op any) {
	end := clock.Add(1)
	if m, ok := op.(moveOp); ok && m.unknown {
		end = math.MaxInt64
	}
	h[board] = append(h[board], porcupine.Operation{ClientId: player, Input: op, Call: call, Return: end})
}

// judge returns the boards whose histories no order of their operations explains. For each it
// writes a picture of the history and returns its file.
func (c *crowd) judge(t testing.TB, q store.Queries, profile string) map[wamble.BoardID]string {
	t.Helper()
	all := history{}
	for _, p := range c.players {
		for board, ops := range p.history {
			all[board] = append(all[board], ops...)
		}
	}
	final := map[wamble.BoardID]string{}
	for b, err := range q.Games(context.Background(), wamble.GameFilter{Profile: profile}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range b.Moves {
			final[b.ID] += " " + m.UCI
		}
	}
	for board := range final {
		if all[board] == nil {
			all[board] = nil // a board without operations must be empty
		}
	}
	wrong := map[wamble.BoardID]string{}
	for board, ops := range all {
		now := clock.Add(1)
		ops = append(ops, porcupine.Operation{ClientId: len(c.players), Input: finalOp{final[board]}, Call: now,
			Return: clock.Add(1)})
		result, info := porcupine.CheckOperationsVerbose(boardModel, ops, 0)
		if result == porcupine.Ok {
			continue
		}
		wrong[board] = "no picture"
		if f, err := os.CreateTemp("", fmt.Sprintf("wamble-board-%d-*.html", board)); err == nil {
			if err := porcupine.Visualize(boardModel, info, f); err == nil {
				wrong[board] = f.Name()
			}
			_ = f.Close()
		}
	}
	return wrong
}

// TestJudge: the judge's verdicts on histories written by hand.
func TestJudge(t *testing.T) {
	t.Parallel()
	type at struct {
		call, end int64
		op        any
	}
	for _, c := range []struct {
		name string
		ops  []at
		want porcupine.CheckResult
	}{
		{"moves of two players", []at{{1, 2, moveOp{1, "e2e4", false}}, {3, 4, moveOp{2, "e7e5", false}}, {5, 6, finalOp{" e2e4 e7e5"}}}, porcupine.Ok},
		{"a lost move", []at{{1, 2, moveOp{1, "e2e4", false}}, {3, 4, moveOp{2, "e7e5", false}}, {5, 6, finalOp{" e2e4"}}}, porcupine.Illegal},
		{"a doubled move", []at{{1, 2, moveOp{1, "g1f3", false}}, {5, 6, finalOp{" g1f3 g1f3"}}}, porcupine.Illegal},
		{"a move without an answer that was played", []at{{1, math.MaxInt64, moveOp{1, "e2e4", true}}, {3, 4, viewOp{1}}, {5, 6, finalOp{" e2e4"}}}, porcupine.Ok},
		{"a move without an answer that was not", []at{{1, math.MaxInt64, moveOp{1, "e2e4", true}}, {3, 4, viewOp{0}}, {5, 6, finalOp{""}}}, porcupine.Ok},
		{"one that was seen and is gone", []at{{1, math.MaxInt64, moveOp{1, "e2e4", true}}, {3, 4, viewOp{1}}, {5, 6, finalOp{""}}}, porcupine.Illegal},
		{"an old position after a new one", []at{{1, 2, moveOp{1, "e2e4", false}}, {3, 4, viewOp{0}}, {5, 6, finalOp{" e2e4"}}}, porcupine.Illegal},
		{"the same ply twice", []at{{1, 2, moveOp{1, "e2e4", false}}, {3, 4, moveOp{1, "d2d4", false}}, {5, 6, finalOp{" e2e4"}}}, porcupine.Illegal},
	} {
		var ops []porcupine.Operation
		for i, o := range c.ops {
			ops = append(ops, porcupine.Operation{ClientId: i, Input: o.op, Call: o.call, Return: o.end})
		}
		if got, _ := porcupine.CheckOperationsVerbose(boardModel, ops, 0); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// TestJudgeFindsLostMoves: a server that is killed and restarts with an old data directory
// has lost moves, and the judge finds it. Without the exchange of directories it finds
// nothing.
func TestJudgeFindsLostMoves(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		old  bool
	}{{"the old directory", true}, {"the right directory", false}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "data")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			text := staying(t, conf(""))
			s := spawn(t, dir, text)
			crowd := gather(t, s.address(), 4)
			crowd.play()
			crowd.more(t, 40)
			crowd.finish()
			s.end()
			if out, err := exec.Command("cp", "-a", dir, dir+".old").CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			s = spawn(t, dir, text)
			crowd.play()
			crowd.more(t, 40)
			crowd.finish()
			s.kill()
			if c.old {
				if err := os.Rename(dir, dir+".new"); err != nil {
					t.Fatal(err)
				}
				if err := os.Rename(dir+".old", dir); err != nil {
					t.Fatal(err)
				}
			}
			spawn(t, dir, text).end()
			crowd.wantVerdict(t, dir, c.old)
		})
	}
}

// TestJudgeFindsDoubledMove: a store that writes the last move of some rows twice is found.
func TestJudgeFindsDoubledMove(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := staying(t, conf(""))
	spawn(t, dir, text).end()
	executeSQLite(t, filepath.Join(dir, "games.db"), `CREATE TRIGGER double_move AFTER INSERT ON move_runs BEGIN
		UPDATE move_runs SET plies = plies + 1, moves = json_insert(moves, '$[#]', json_extract(moves, '$[#-1]'))
		WHERE board_id = NEW.board_id AND first_ply = NEW.first_ply; END`)
	s := spawn(t, dir, text)
	c := gather(t, s.address(), 4)
	c.play()
	c.more(t, 40)
	c.finish()
	s.end()
	c.wantVerdict(t, dir, true)
}

// wantVerdict fails the test unless the judge finds faults as wanted.
func (c *crowd) wantVerdict(t *testing.T, dir string, faults bool) {
	t.Helper()
	db := openSQLite(t, dir)
	wrong := c.judge(t, db, "")
	for _, picture := range wrong {
		defer os.Remove(picture)
	}
	if (len(wrong) > 0) != faults {
		t.Errorf("the judge found faults on %d boards: %v; want some: %v", len(wrong), wrong, faults)
	}
}

// executeSQLite runs SQL on a database that no server has open.
func executeSQLite(t *testing.T, path, text string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(text); err != nil {
		t.Fatal(err)
	}
}
