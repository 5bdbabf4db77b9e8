package journal_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"wamble"
	"wamble/internal/intent"
	"wamble/internal/journal"
	"wamble/internal/store"
	"wamble/internal/store/postgres"
	"wamble/internal/store/postgres/pgtest"
	"wamble/internal/store/sqlite"
	"wamble/runner"
	"wamble/runner/pebblestore"
)

// The proofs of this package post a numbered stream of messages, kill processes and cut
// connections, and then compare the moves table with what was acknowledged. Message k is the
// same in every process:
//
//	board   1 + k/plies, made by its first ply
//	session 1 + k mod sessions, made by its first message
const (
	plies    = 20
	sessions = 7
	profile  = "proof"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func boardOf(k int) wamble.BoardID     { return wamble.BoardID(1 + k/plies) }
func plyOf(k int) int                  { return 1 + k%plies }
func sessionOf(k int) wamble.SessionID { return wamble.SessionID(1 + k%sessions) }

// intents are those of a move: the session and the board if they are new, the move, the
// board's new state, and its holder.
func intents(k int) []intent.Intent {
	at := epoch.Add(time.Duration(k) * time.Millisecond)
	board, session := boardOf(k), sessionOf(k)
	var all []intent.Intent
	if k < sessions {
		all = append(all, &intent.CreateSession{Session: session, Token: wamble.Token{byte(k + 1)}.Hash(), At: at})
	}
	if plyOf(k) == 1 {
		all = append(all, &intent.CreateBoard{Board: board, FEN: "start", Status: wamble.Dormant, Variant: -1, At: at})
	}
	return append(all,
		&intent.RecordMove{Board: board, Session: session, UCI: "e2e4", Ply: plyOf(k), First: plyOf(k) <= sessions,
			At: at},
		&intent.UpdateBoard{Board: board, FEN: "after " + strconv.Itoa(plyOf(k)), Status: wamble.Reserved,
			Version: uint64(plyOf(k)), At: at},
		&intent.RemoveReservation{Board: board, At: at},
		&intent.CreateReservation{Board: board, Session: session, At: at, Expires: at.Add(time.Hour)},
		&intent.UpdateSessionLastSeen{Session: session, At: at},
	)
}

// line is one process of the road: a journal, a store and the drain between.
type line struct {
	r     *runner.Runner
	d     *journal.Drain
	ended chan error
	stop  context.CancelFunc

	mu      sync.Mutex
	moved   sync.Cond
	applied uint64
}

func openLine(ctx context.Context, dir string, store store.Store) (*line, error) {
	r, err := runner.Open(pebblestore.At(filepath.Join(dir, "journal"), pebblestore.Options{}),
		runner.Options{Schema: journal.Schema, Create: true, MinFree: -1})
	if err != nil {
		return nil, err
	}
	l := &line{r: r, ended: make(chan error, 1)}
	l.moved.L = &l.mu
	l.d, err = journal.NewDrain(ctx, r, store, journal.DrainOptions{
		Profile: profile,
		Limits:  journal.Limits{Intents: 512, Bytes: 65536},
		OnApplied: func(through uint64) {
			l.mu.Lock()
			l.applied = through
			l.mu.Unlock()
			l.moved.Broadcast()
		},
	})
	if err != nil {
		return nil, err
	}
	ctx, l.stop = context.WithCancel(ctx)
	go func() { l.ended <- l.d.Run(ctx) }()
	return l, nil
}

// wait returns when the store has the first n messages.
func (l *line) wait(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.applied < uint64(n) {
		l.moved.Wait()
	}
}

func (l *line) close() error {
	l.stop()
	err := <-l.ended
	if cerr := l.r.Close(); err == nil {
		err = cerr
	}
	return err
}

// post puts messages [k, k+n) into the journal as one group and returns when
// they are durable.
func (l *line) post(k, n int) error {
	durable := make(chan error, 1)
	g := l.r.NewGroup(func(_ *runner.Group, err error) { durable <- err })
	var frame []byte
	for i := range n {
		frame = journal.Begin(frame[:0])
		for _, in := range intents(k + i) {
			frame = journal.Append(frame, in)
		}
		if err := journal.Add(g, l.d.Worker(), frame); err != nil {
			return err
		}
	}
	if err := l.r.Submit(g); err != nil {
		return err
	}
	err := <-durable
	l.d.Added(n)
	return err
}

// finish drains the rest in a last process, and compares the moves of the store with what was
// acknowledged and with what was posted at all.
func finish(t *testing.T, dir string, store store.Store, acked, posted map[int]bool) {
	t.Helper()
	l, err := openLine(t.Context(), dir, store)
	if err != nil {
		t.Fatal(err)
	}
	l.stop()
	if err := <-l.ended; err != nil {
		t.Fatal(err)
	}
	if err := l.d.DrainAll(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if letters, err := l.r.DeadLetters(runner.DeadFilter{}, runner.Row{}, 10); err != nil || len(letters) > 0 {
		t.Errorf("got dead letters %v, %v, want none", letters, err)
	}
	if err := l.r.Close(); err != nil {
		t.Fatal(err)
	}
	compare(t, store, acked, posted)
}

// compare looks at every stored move and board.
func compare(t *testing.T, store store.Store, acked, posted map[int]bool) {
	t.Helper()
	stored := map[int]bool{}
	firsts := map[wamble.SessionID]int{}
	for b, err := range store.Games(t.Context(), wamble.GameFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range b.Moves {
			k := int(b.ID-1)*plies + m.Ply - 1
			if stored[k] {
				t.Errorf("message %d is stored twice", k)
			}
			stored[k] = true
			if m.Session != sessionOf(k) || !m.At.Equal(epoch.Add(time.Duration(k)*time.Millisecond)) {
				t.Errorf("message %d: got %+v", k, m)
			}
			if m.Ply <= sessions {
				firsts[m.Session]++
			}
		}
		if n := len(b.Moves); n > 0 && b.FEN != fmt.Sprintf("after %d", b.Moves[n-1].Ply) {
			t.Errorf("board %d has %q after %d moves", b.ID, b.FEN, n)
		}
		if b.Holder == nil || b.Holder.Session != b.Moves[len(b.Moves)-1].Session {
			t.Errorf("board %d is held by %+v", b.ID, b.Holder)
		}
	}
	missing, strange := 0, 0
	for k := range acked {
		if !stored[k] {
			missing++
		}
	}
	for k := range stored {
		if !posted[k] {
			strange++
		}
	}
	if missing > 0 || strange > 0 {
		t.Errorf("of %d acknowledged moves %d are missing; of %d stored %d were never posted", len(acked), missing,
			len(stored), strange)
	}
	for s, want := range firsts {
		got, err := store.SessionByID(t.Context(), s)
		if err != nil || got.Stats.Games != want {
			t.Errorf("session %d: got %d games, %v, want %d", s, got.Stats.Games, err, want)
		}
	}
	t.Logf("measured: %d acknowledged, %d stored, 0 missing, 0 twice", len(acked), len(stored))
}

func openSQLite(path string) (*sqlite.Store, error) {
	return sqlite.Open(sqlite.Options{Path: path})
}

func openPostgres(t *testing.T, o postgres.Options) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestMain(m *testing.M) {
	if os.Getenv(childVar) != "" {
		child()
		return
	}
	pgtest.Main(m)
}
