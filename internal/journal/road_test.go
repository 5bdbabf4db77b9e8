package journal_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"wamble"
	"wamble/internal/intent"
	"wamble/internal/journal"
	"wamble/internal/store"
	"wamble/internal/store/postgres/pgtest"
	"wamble/runner"
	"wamble/runner/pebblestore"
)

// onBothStores runs a test on an empty PostgreSQL and an empty SQLite store.
func onBothStores(t *testing.T, test func(t *testing.T, store store.Store)) {
	t.Run("postgres", func(t *testing.T) { test(t, openPostgres(t, pgtest.Migrated(t))) })
	t.Run("sqlite", func(t *testing.T) { test(t, migratedSQLite(t)) })
}

func migratedSQLite(t *testing.T) store.Store {
	t.Helper()
	store, err := openSQLite(filepath.Join(t.TempDir(), "games.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	if err := store.Migrate(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	return store
}

// road is a journal with a drain, driven by hand.
type road struct {
	t       *testing.T
	r       *runner.Runner
	d       *journal.Drain
	trouble func() // called at every failure of the store
}

func openJournal(t *testing.T) *runner.Runner {
	t.Helper()
	r, err := runner.Open(pebblestore.At(t.TempDir(), pebblestore.Options{Durability: pebblestore.Write}),
		runner.Options{Schema: journal.Schema, Create: true, MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func newRoad(t *testing.T, r *runner.Runner, profile string, store store.Store) *road {
	t.Helper()
	made := &road{t: t, r: r, trouble: func() { t.Error("the store is in trouble") }}
	var err error
	made.d, err = journal.NewDrain(t.Context(), r, store, journal.DrainOptions{
		Profile: profile, Limits: journal.Limits{Intents: 512, Bytes: 65536},
		OnStoreResult: func(err error) {
			if err != nil {
				made.trouble()
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// post puts each request into the journal as a message of its own.
func (r *road) post(requests ...[]intent.Intent) {
	r.t.Helper()
	for _, intents := range requests {
		if _, err := journal.Post(r.t.Context(), r.r, r.d.Worker(), intents...); err != nil {
			r.t.Fatal(err)
		}
	}
}

func (r *road) empty() {
	r.t.Helper()
	if err := r.d.DrainAll(r.t.Context(), nil); err != nil {
		r.t.Fatal(err)
	}
}

// dead returns the number of dead letters.
func (r *road) dead() int {
	r.t.Helper()
	letters, err := r.r.DeadLetters(runner.DeadFilter{}, runner.Row{}, 100)
	if err != nil {
		r.t.Fatal(err)
	}
	return len(letters)
}

// request is the intents of one request.
func request(intents ...intent.Intent) []intent.Intent { return intents }

func second(n int) time.Time { return epoch.Add(time.Duration(n) * time.Second) }

func newSession(id wamble.SessionID) intent.Intent {
	return &intent.CreateSession{Session: id, Token: wamble.Token{byte(id)}.Hash(), At: epoch}
}

func newBoard(id wamble.BoardID) intent.Intent {
	return &intent.CreateBoard{Board: id, FEN: "start", Status: wamble.Dormant, Variant: -1, At: epoch}
}

func board(t *testing.T, store store.Store, id wamble.BoardID) wamble.Board {
	t.Helper()
	b, err := store.Board(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestReservationsOfOneBoard creates, removes and creates one in the same batch: the last
// intent counts.
func TestReservationsOfOneBoard(t *testing.T) {
	onBothStores(t, func(t *testing.T, store store.Store) {
		r := newRoad(t, openJournal(t), profile, store)
		hold := func(b wamble.BoardID, s wamble.SessionID, n int) intent.Intent {
			return &intent.CreateReservation{Board: b, Session: s, At: second(n), Expires: second(n + 100)}
		}
		free := func(b wamble.BoardID, n int) intent.Intent {
			return &intent.RemoveReservation{Board: b, At: second(n)}
		}
		r.post(
			request(hold(1, 1, 1), newBoard(1), newBoard(2), newSession(1), newSession(2)),
			request(free(1, 2), hold(2, 1, 2)),
			request(hold(1, 2, 3)),
			request(free(2, 4)),
		)
		r.empty()
		if h := board(t, store, 1).Holder; h == nil || h.Session != 2 {
			t.Errorf("board 1: got holder %+v, want session 2", h)
		}
		if h := board(t, store, 2).Holder; h != nil {
			t.Errorf("board 2: got holder %+v, want none", h)
		}
		if n := r.dead(); n != 0 {
			t.Errorf("got %d dead letters, want none", n)
		}
	})
}

// TestErasedAndLinkedAgain erases an identity and links its key anew, in two requests and in
// one: the new identity is another one, and stays. The session of the old one has no
// identity.
func TestErasedAndLinkedAgain(t *testing.T) {
	link := func(player wamble.PlayerID, n int) intent.Intent {
		return &intent.LinkSession{Session: wamble.SessionID(player), Key: wamble.PublicKey{7}, Player: player,
			Handle: "seven", Rating: 1200, At: second(n)}
	}
	erase := func(n int) intent.Intent { return &intent.ErasePlayer{Key: wamble.PublicKey{7}, At: second(n)} }
	for _, tc := range []struct {
		name     string
		requests [][]intent.Intent
		want     wamble.PlayerID
	}{
		{"in two requests", [][]intent.Intent{request(erase(2)), request(link(2, 3))}, 2},
		{"in one request", [][]intent.Intent{request(erase(2), link(2, 2))}, 2},
		{"the other way round", [][]intent.Intent{request(link(2, 2), erase(2))}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			onBothStores(t, func(t *testing.T, db store.Store) {
				r := newRoad(t, openJournal(t), profile, db)
				r.post(request(newSession(1), newSession(2), link(1, 1)))
				r.post(tc.requests...)
				r.empty()
				for id, want := range map[wamble.SessionID]wamble.PlayerID{1: 0, 2: tc.want} {
					s, err := db.SessionByID(t.Context(), id)
					if err != nil || s.Player != want {
						t.Errorf("session %d: got player %d, %v, want %d", id, s.Player, err, want)
					}
				}
				if _, err := db.Player(t.Context(), wamble.PublicKey{7}); errors.Is(err,
					store.ErrNotFound) != (tc.want == 0) {
					t.Errorf("player by key: got %v", err)
				}
				if n := r.dead(); n != 0 {
					t.Errorf("got %d dead letters, want none", n)
				}
			})
		})
	}
}

// TestPurgeInMidBacklog deletes the sessions that were old when it was posted,
// and none that came after it.
func TestPurgeInMidBacklog(t *testing.T) {
	onBothStores(t, func(t *testing.T, db store.Store) {
		r := newRoad(t, openJournal(t), profile, db)
		r.post(
			request(newSession(1)),
			request(&intent.PurgeSessions{Before: second(10), At: second(20)}),
			request(newSession(2)),
		)
		r.empty()
		if _, err := db.SessionByID(t.Context(), 1); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("session 1: got %v, want it gone", err)
		}
		if _, err := db.SessionByID(t.Context(), 2); err != nil {
			t.Errorf("session 2: got %v, want it there", err)
		}
	})
}

// TestLateReplay replays a refused UPDATE_BOARD from the dead letters after the board has
// gone on: it must not turn it back.
func TestLateReplay(t *testing.T) {
	onBothStores(t, func(t *testing.T, store store.Store) {
		r := newRoad(t, openJournal(t), profile, store)
		update := func(v uint64, fen string) intent.Intent {
			return &intent.UpdateBoard{Board: 1, FEN: fen, Status: wamble.Active, Version: v, At: second(int(v))}
		}
		r.post(request(newSession(1), update(2, "second")))
		r.empty()
		if _, err := store.SessionByID(t.Context(), 1); err != nil {
			t.Errorf("the rest of the request: %v", err)
		}
		if n := r.dead(); n != 1 {
			t.Fatalf("a board that does not exist: got %d dead letters, want 1", n)
		}
		r.post(request(newBoard(1), update(5, "fifth")))
		r.empty()
		if n, err := r.r.ReplayDeadLetters(t.Context(), runner.DeadFilter{}); n != 1 || err != nil {
			t.Fatalf("replay: got %d, %v", n, err)
		}
		r.empty()
		if b := board(t, store, 1); b.FEN != "fifth" || b.Version != 5 {
			t.Errorf("got %q, version %d, want it as it was", b.FEN, b.Version)
		}
		if n := r.dead(); n != 0 {
			t.Errorf("got %d dead letters, want none", n)
		}
	})
}

// TestNegativeDuration brings the result of a game to the stores whose duration
// an older binary has counted below zero, because the clock had been set back.
func TestNegativeDuration(t *testing.T) {
	onBothStores(t, func(t *testing.T, store store.Store) {
		r := newRoad(t, openJournal(t), profile, store)
		result := &intent.RecordGameResult{Board: 1, Result: wamble.BlackWins, Plies: 4, Duration: -time.Hour,
			Reason: "checkmate", At: second(1)}
		r.post(request(newBoard(1)), request(result))
		r.empty()
		if n := r.dead(); n != 0 {
			t.Fatalf("got %d dead letters, want none", n)
		}
		b := board(t, store, 1)
		if b.Result == nil || b.Result.Result != wamble.BlackWins || b.Result.Duration != 0 {
			t.Errorf("got the result %+v, want that black wins after 0 s", b.Result)
		}
	})
}

// TestProfilesOnDifferentDatabases drains two profiles of one journal into two
// databases. When one is away the other goes on.
func TestProfilesOnDifferentDatabases(t *testing.T) {
	journal := openJournal(t)
	away := openPostgres(t, pgtest.Migrated(t))
	blue := newRoad(t, journal, "blue", away)
	red := newRoad(t, journal, "red", migratedSQLite(t))
	green := openPostgres(t, pgtest.Migrated(t))
	third := newRoad(t, journal, "green", green)
	for i, r := range []*road{blue, red, third} {
		r.post(request(newBoard(wamble.BoardID(i + 1))))
	}
	if err := away.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	blue.trouble = cancel
	if err := blue.d.DrainAll(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("blue: got %v, want it to wait for its database", err)
	}
	red.empty()
	third.empty()
	if n := blue.d.Pending(); n != 1 {
		t.Errorf("blue: got %d pending, want 1", n)
	}
	if b := board(t, green, 3); b.Profile != "green" {
		t.Errorf("got profile %q, want green", b.Profile)
	}
	for _, other := range []wamble.BoardID{1, 2} {
		if _, err := green.Board(t.Context(), other); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("board %d of another profile: got %v", other, err)
		}
	}
	if at := red.d.Applied(); at != 1 {
		t.Errorf("red: got applied %d, want its own first message", at)
	}
}
