//go:build proof

package server

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"wamble"
	"wamble/chess"
	"wamble/client"
	"wamble/internal/profile"
	"wamble/internal/prooftest"
)

// world is a server at which simulated people play: they think for 1 to 5 s, make 10 to 30
// moves and close the tab without a word, and half of the visits are by a former player. The
// simulation sets the server's clock, so hours pass in seconds; all else is real:
// connections, journal, database.
type world struct {
	*here
	rng    *rand.Rand
	now    atomic.Int64 // ns
	seats  []*person
	away   []wamble.Token
	visits uint64 // that have ended
	choose func(chess.Position) chess.Move
}

// person is a player at a seat, or the seat while it is empty.
type person struct {
	at    time.Time // of the next move, or of the next visitor's arrival
	c     *client.Client
	moves int // moves left in this visit
}

func newWorld(t *testing.T, people int, text string) *world {
	w := &world{rng: prooftest.Random(t)}
	w.choose = func(p chess.Position) chess.Move {
		moves := p.LegalMoves(nil)
		return moves[w.rng.IntN(len(moves))]
	}
	w.set(time.Now())
	dir, err := os.MkdirTemp("/dev/shm", "wamble-world-") // thousands of moves, one after the other
	if err != nil {
		dir = t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	w.here = serve(t, Options{Dir: dir, Clock: func() time.Time { return time.Unix(0, w.now.Load()) }},
		conf(`(def min-boards 4)`+text)).ready()
	for range people {
		w.seats = append(w.seats, &person{at: w.time().Add(w.upTo(20))})
	}
	return w
}

func (w *world) time() time.Time { return time.Unix(0, w.now.Load()) }

func (w *world) set(now time.Time) { w.now.Store(now.UnixNano()) }

func (w *world) upTo(seconds float64) time.Duration {
	return time.Duration(w.rng.Float64() * seconds * float64(time.Second))
}

// stats returns the values of the metrics.
func (w *world) stats() (s profile.Stats) {
	w.first().shards[0].runtime.Do(w.t.Context(), func(p *profile.Profile) { s = p.Stats() })
	return s
}

// run lets a while pass.
func (w *world) run(d time.Duration) {
	w.t.Helper()
	end := w.time().Add(d)
	for {
		next := w.seats[0]
		for _, p := range w.seats {
			if p.at.Before(next.at) {
				next = p
			}
		}
		if next.at.After(end) {
			w.set(end)
			return
		}
		w.set(next.at)
		w.wake()
		switch {
		case next.c == nil:
			w.arrive(next)
		case next.moves > 0:
			w.move(next)
		default:
			w.leave(next)
		}
	}
}

// wake runs what is due by now. The server's own timers do not follow the simulated clock:
// without wake a board would seem held by a player who left long ago.
func (w *world) wake() {
	w.t.Helper()
	if _, _, err := w.first().shards[0].runtime.Tell(w.t.Context(), &profile.Tick{}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) arrive(p *person) {
	w.t.Helper()
	token := wamble.Token{}
	if n := len(w.away); n > 0 && w.rng.IntN(2) == 0 {
		i := w.rng.IntN(n)
		token, w.away[i] = w.away[i], w.away[n-1]
		w.away = w.away[:n-1]
	}
	c, err := dial(w.t.Context(), "ws://"+w.Addresses().HTTP.String()+"/ws", token)
	if err != nil {
		w.t.Fatalf("hello: %v", err)
	}
	p.c, p.moves = c, 10+w.rng.IntN(21)
	p.at = w.time().Add(time.Second + w.upTo(4))
}

// move makes a move, and returns the board on which it was made.
func (w *world) move(p *person) client.Board {
	w.t.Helper()
	b := p.c.Board()
	position, err := chess.ParseFEN(b.FEN)
	if err != nil {
		w.t.Fatalf("board %d: %v", b.ID, err)
	}
	if _, err := p.c.PlayOn(w.t.Context(), b.ID, w.choose(position).String()); err != nil {
		w.t.Fatalf("board %d: %v", b.ID, err)
	}
	if p.moves--; p.moves > 0 {
		p.at = w.time().Add(time.Second + w.upTo(4))
	}
	return b
}

// leave closes the connection, and waits until the server has noticed.
func (w *world) leave(p *person) {
	w.t.Helper()
	w.away = append(w.away, p.c.Token())
	p.c.Close()
	w.visits++
	for late := time.Now().Add(patience); w.stats().Deals.Visits < w.visits; {
		if time.Now().After(late) {
			w.t.Fatal("the server does not notice that a visitor is gone")
		}
	}
	p.c, p.at = nil, w.time().Add(2*time.Second+w.upTo(18))
}

// TestWorldLives: on a real server with 1 and 10 people, and with 100 in a long proof, the
// numbers of games that end, the wait of boards, the visits that see an end and the players
// who answer themselves are as in the simulation of package board, within a fifth. Boards are
// seldom fresh, and nobody gets the board again that they have just left.
func TestWorldLives(t *testing.T) {
	prooftest.Needs(t, "minutes")
	type spread struct{ Mean, SD float64 }
	var figures []struct {
		Size                      string
		Players, Warm, Measured   int
		Games, Waits, SawEnd, Own spread
	}
	text, err := os.ReadFile("../board/testdata/world.json")
	if err == nil {
		err = json.Unmarshal(text, &figures)
	}
	if err != nil {
		t.Fatal(err)
	}
	size := prooftest.Sized("usual", "usual", "long")
	for _, f := range figures {
		if f.Size != size {
			continue
		}
		t.Run(fmt.Sprintf("players=%d", f.Players), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, f.Players, `(def max-moves-per-board 77)`)
			w.run(time.Duration(f.Warm) * time.Minute)
			before := w.stats()
			w.run(time.Duration(f.Measured) * time.Minute)
			s := w.stats()
			deals, was := s.Deals, before.Deals
			games := 60 * float64(s.Finished-before.Finished) / float64(f.Measured)
			waits := (deals.Waited - was.Waited).Seconds() / float64(deals.Answers-was.Answers)
			saw := float64(deals.SawEnd-was.SawEnd) / float64(deals.Visits-was.Visits)
			given := float64(deals.Given - was.Given)
			own, fresh, same := float64(deals.Own-was.Own)/given, float64(deals.Fresh-was.Fresh)/given,
				float64(deals.Same-was.Same)/given
			t.Logf("%d moves: %.1f games an hour (%.1f), a board waits %.2f s (%.2f), %.0f %% of %d visits see an end (%.0f), own %.1f %% (%.1f), fresh %.1f %%, the same again %.1f %%",
				s.Moves, games, f.Games.Mean, waits, f.Waits.Mean, 100*saw, deals.Visits-was.Visits, 100*f.SawEnd.Mean,
				100*own, 100*f.Own.Mean, 100*fresh, 100*same)
			if fresh > 0.03 {
				t.Errorf("%.1f %% of the boards are fresh", 100*fresh)
			}
			if same > 0.001 {
				t.Errorf("%.1f %% of the boards are those that the player has just left", 100*same)
			}
			// In a short time chance counts, too.
			for what, v := range map[string]struct {
				got  float64
				want spread
			}{"games an hour": {games, f.Games}, "seconds of waiting": {waits, f.Waits},
				"visits that see an end": {saw, f.SawEnd}, "own moves to answer": {own, f.Own}} {
				if off := math.Abs(v.got - v.want.Mean); off > 0.2*v.want.Mean+5*v.want.SD+0.01 {
					t.Errorf("%s: %.3f, the simulation has %.3f ± %.3f", what, v.got, v.want.Mean, v.want.SD)
				}
			}
		})
	}
}
