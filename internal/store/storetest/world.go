package storetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"wamble/internal/intent"
	"wamble/internal/store"

	"wamble"
)

// Profile is the profile of the suite's boards.
const Profile = "alpha"

// startFEN is the position of a new board.
const startFEN = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"

// epoch is the start time of the cases: not a whole second, because stores keep microseconds.
var epoch = time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)

// at returns a time of a case, in seconds after epoch.
func at(seconds int) time.Time { return epoch.Add(time.Duration(seconds) * time.Second) }

// token and key return distinct, readable test values.
func token(n byte) wamble.Token   { return wamble.Token{0: n, 15: 0xA0} }
func key(n byte) wamble.PublicKey { return wamble.PublicKey{0: n, 31: 0xB0} }

// world is a store with the position of one profile's cursor.
type world struct {
	*testing.T
	store.Store
	journal store.JournalID
	profile string
	cursor  uint64

	together bool // the batch also has the intents that this one depends on
}

func newWorld(t *testing.T, s store.Store) *world {
	return &world{T: t, Store: s, journal: store.JournalID{1, 2, 3}, profile: Profile}
}

// next returns the next batch, with these intents.
func (w *world) next(intents ...intent.Intent) store.Batch {
	return store.Batch{Journal: w.journal, Profile: w.profile, After: w.cursor, Through: w.cursor + 1, Intents: intents}
}

// apply applies the next batch; an error fails the test.
func (w *world) apply(intents ...intent.Intent) {
	w.Helper()
	if err := w.Apply(w.Context(), w.next(intents...)); err != nil {
		w.Fatalf("apply: %v", err)
	}
	w.cursor++
}

// refuses expects a permanent error without a step of the cursor, and a probe that returns
// exactly the intents at the indexes bad.
func (w *world) refuses(intents []intent.Intent, bad ...int) {
	w.Helper()
	b := w.next(intents...)
	err := w.Apply(w.Context(), b)
	var moved *store.CursorMoved
	if err == nil || errors.Is(err, store.ErrTransient) || errors.As(err, &moved) || errors.Is(err, context.Canceled) {
		w.Errorf("apply: got %v, want a permanent error", err)
	}
	got, err := w.Cursor(w.Context(), w.journal, w.profile)
	w.must(err)
	w.equal("cursor after a refusal", got, w.cursor)
	rejected, err := w.Probe(w.Context(), b)
	w.must(err)
	var at []int
	for _, r := range rejected {
		at = append(at, r.Index)
		if r.Err == nil || errors.Is(r.Err, store.ErrTransient) {
			w.Errorf("rejection of intent %d: got %v, want a permanent error", r.Index, r.Err)
		}
	}
	w.equal("rejected intents", fmt.Sprint(at), fmt.Sprint(bad))
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) equal(what string, got, want any) {
	w.Helper()
	if !reflect.DeepEqual(got, want) {
		w.Errorf("%s:\n got %+v\nwant %+v", what, got, want)
	}
}

// notFound expects store.ErrNotFound.
func (w *world) notFound(what string, err error) {
	w.Helper()
	if !errors.Is(err, store.ErrNotFound) {
		w.Errorf("%s: got %v, want not found", what, err)
	}
}

func (w *world) session(id wamble.SessionID) wamble.Session {
	w.Helper()
	s, err := w.SessionByID(w.Context(), id)
	w.must(err)
	return s
}

// accepted reports whether a session accepted the terms of the suite.
func (w *world) accepted(id wamble.SessionID) bool {
	w.Helper()
	yes, err := w.TermsAccepted(w.Context(), id, Profile, terms.Hash)
	w.must(err)
	return yes
}

func (w *world) player(k wamble.PublicKey) wamble.Player {
	w.Helper()
	p, err := w.Player(w.Context(), k)
	w.must(err)
	return p
}

func (w *world) board(id wamble.BoardID) wamble.Board {
	w.Helper()
	b, err := w.Board(w.Context(), id)
	w.must(err)
	return b
}

// games reads all boards of a filter.
func (w *world) games(f wamble.GameFilter) []wamble.Board {
	w.Helper()
	var all []wamble.Board
	for b, err := range w.Games(w.Context(), f) {
		w.must(err)
		all = append(all, b)
	}
	return all
}

func (w *world) live(profile string) []wamble.Board {
	w.Helper()
	var all []wamble.Board
	for b, err := range w.LiveBoards(w.Context(), profile, 0) {
		w.must(err)
		all = append(all, b)
	}
	return all
}

// liveAt reads the boards of a shard, sorted by number.
func (w *world) liveAt(shard int) []wamble.Board {
	w.Helper()
	var all []wamble.Board
	for b, err := range w.LiveBoards(w.Context(), Profile, shard) {
		w.must(err)
		all = append(all, b)
	}
	slices.SortFunc(all, func(a, b wamble.Board) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

func (w *world) arrivals(shard int) []wamble.Board {
	w.Helper()
	all, err := w.Arrivals(w.Context(), Profile, shard, 10)
	w.must(err)
	return all
}

// ids returns the numbers of boards.
func ids(boards []wamble.Board) string {
	var all []wamble.BoardID
	for _, b := range boards {
		all = append(all, b.ID)
	}
	return fmt.Sprint(all)
}

// Short forms of the intents that most cases begin with.

func newSession(id wamble.SessionID) intent.Intent {
	return &intent.CreateSession{Session: id, Token: token(byte(id)).Hash(), At: at(int(id))}
}

func newBoard(id wamble.BoardID) intent.Intent {
	return &intent.CreateBoard{Board: id, FEN: startFEN, Status: wamble.Dormant, Variant: -1, At: at(int(id))}
}

func link(id wamble.SessionID, k byte, seconds int) *intent.LinkSession {
	return &intent.LinkSession{Session: id, Key: key(k), Player: wamble.PlayerID(k) * 100,
		Handle: fmt.Sprintf("h_%04d", k), Rating: 1200, At: at(seconds)}
}

func move(b wamble.BoardID, s wamble.SessionID, ply int, first bool) *intent.RecordMove {
	return &intent.RecordMove{Board: b, Session: s, UCI: "e2e4", Ply: ply, First: first, At: at(100 + ply)}
}

func hold(b wamble.BoardID, s wamble.SessionID, from, until int) *intent.CreateReservation {
	return &intent.CreateReservation{Board: b, Session: s, White: true, At: at(from), Expires: at(until)}
}

func pay(b wamble.BoardID, s wamble.SessionID) *intent.RecordPayout {
	return &intent.RecordPayout{Board: b, Session: s, Points: 1, Canonical: 1, At: at(100)}
}

// Epoch returns the start time of the cases.
func Epoch() time.Time { return epoch }
