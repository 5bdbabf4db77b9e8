//go:build proof

package server

import (
	"context"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/chess"
	"wamble/client"
	"wamble/internal/prooftest"
	"wamble/wire"
)

// TestNewcomer: a newcomer among twenty people sees the end of a game in which they have
// moved within five minutes, and gets points or is told of a loss; meanwhile they answer
// other people, and none of them twice in a row, on boards that are seldom new.
func TestNewcomer(t *testing.T) {
	prooftest.Needs(t, "minutes")
	w := newWorld(t, 20, `(def max-moves-per-board 160)`)
	random := w.choose
	w.choose = func(p chess.Position) chess.Move { // a mate if there is one, seldom a move that allows one, else any
		if m, ok := mateIn(p); ok {
			return m
		}
		if w.rng.IntN(30) == 0 {
			for _, m := range p.LegalMoves(nil) {
				if _, ok := mateIn(p.Play(m)); ok {
					return m
				}
			}
		}
		return random(p)
	}
	w.run(10 * time.Minute)

	me := &person{at: w.time()}
	w.arrive(me)
	me.moves = 1 << 30
	w.seats = append(w.seats, me)
	came := w.time()
	var self, before wamble.SessionID // the newcomer, and the player answered last
	mine := map[wamble.BoardID]bool{} // boards that the newcomer has moved on, and whether as White
	won, lost, ends := 0, 0, 0
	given, early, opening := 0, 0, 0 // boards, and those of them with at most two moves, or seven
	for answers := 0; (won+lost == 0 || answers < 60) && w.time().Sub(came) < 5*time.Minute; {
		w.run(me.at.Add(-time.Nanosecond).Sub(w.time())) // until it is my turn to move
		b := me.c.Board()
		live, ok := w.first().Board(t.Context(), b.ID)
		if !ok {
			t.Fatalf("board %d is mine and does not exist", b.ID)
		}
		given++
		if len(live.Moves) <= 2 {
			early++
		}
		if len(live.Moves) <= 7 {
			opening++
		}
		if n := len(live.Moves); n > 0 {
			by := live.Moves[n-1].Session
			if by == self || by == before {
				t.Errorf("on board %d I am to answer %d; I am %d and have just answered %d", b.ID, by, self, before)
			}
			before = by
			answers++
		} else {
			before = 0
		}
		mine[b.ID] = strings.Contains(b.FEN, " w ")
		w.set(me.at)
		w.move(me)
		if live, ok := w.first().Board(t.Context(), b.ID); ok && self == 0 {
			self = live.Moves[len(live.Moves)-1].Session
		}
		for id, white := range mine { // the browser's trail asks the same
			if _, ok := w.first().Board(t.Context(), id); ok {
				continue
			}
			var game wamble.Board
			until(t, "a game that has ended is in the database", func() bool {
				var err error
				game, err = w.first().store.Board(t.Context(), id)
				return err == nil && game.Result != nil
			})
			delete(mine, id)
			ends++
			t.Logf("after %v board %d ends: %s (%s)", w.time().Sub(came).Round(time.Second), id, game.Result.Reason,
				game.Result.Result)
			switch {
			case game.Result.Result == wamble.Draw:
			case (game.Result.Result == wamble.WhiteWins) == white:
				if won++; won == 1 { // what follows may arrive together with more
					t.Logf("I get %s", payout(t, me.c, id))
				}
			default:
				lost++
			}
		}
	}
	t.Logf("after %v and %d moves: %d ends, %d won, %d lost, %d of %d boards with two moves at most, %d with seven",
		w.time().Sub(came).Round(time.Second), 1<<30-me.moves, ends, won, lost, early, given, opening)
	if given < 20 || early > given/4 || opening > given/2 {
		t.Errorf("of my %d boards %d have two moves at most, and %d seven", given, early, opening)
	}
	if ends == 0 {
		t.Error("no game in which I have moved has ended")
	}
	if won+lost == 0 {
		t.Error("I have neither won nor lost")
	}
}

// mateIn returns a move that mates.
func mateIn(p chess.Position) (chess.Move, bool) {
	for _, m := range p.LegalMoves(nil) {
		if next := p.Play(m); next.InCheck() && next.CountLegal() == 0 {
			return m, true
		}
	}
	return 0, false
}

// payout waits for what a game has paid a player.
func payout(t *testing.T, c *client.Client, board wamble.BoardID) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		e, err := c.Event(ctx)
		if err != nil {
			t.Fatalf("board %d is won, and nobody tells it: %v", board, err)
		}
		if e.Kind == client.Notice && e.Notice == wire.NoticePotPayout {
			return e.Text
		}
	}
}
