package storetest

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"wamble/internal/intent"
	"wamble/internal/store"

	"wamble"
)

// Populate fills an empty store with rows for every case of Reads.
func Populate(t *testing.T, s store.Store) {
	t.Helper()
	w := newWorld(t, s)
	w.apply(newSession(1), link(1, 7, 20), &terms, newBoard(3), move(3, 1, 1, true),
		&intent.RecordPayout{Board: 3, Session: 1, Points: 2, Canonical: 2, At: at(60)}, &prediction,
		hold(3, 1, 30, 90),
		&intent.SetTrust{Session: 1, Level: 10, At: at(60)})
}

// reads has one row per method of store.Queries, on the rows of Populate. A read reports
// whether it found them.
var reads = map[string]func(*world) (bool, error){
	"Session": func(w *world) (bool, error) {
		s, err := w.Session(w.Context(), token(1))
		return s.ID == 1, err
	},
	"SessionByID": func(w *world) (bool, error) {
		s, err := w.SessionByID(w.Context(), 1)
		return s.Token == token(1).Hash(), err
	},
	"Holders": func(w *world) (bool, error) {
		all, err := w.Holders(w.Context(), []wamble.SessionID{1, 9}, Profile, terms.Hash)
		return len(all) == 1 && all[0].Token == token(1).Hash() && all[0].Accepted && all[0].Player != nil &&
			all[0].Player.Key == key(7) && all[0].Player.Stats.Score == 2, err
	},
	"SessionByHandle": func(w *world) (bool, error) {
		s, err := w.SessionByHandle(w.Context(), "h_0007")
		return s.ID == 1, err
	},
	"Sessions": func(w *world) (bool, error) {
		all, err := w.Sessions(w.Context(), key(7), 9)
		return len(all) == 1 && all[0].ID == 1, err
	},
	"TrustChanges": func(w *world) (bool, error) {
		all, _, err := w.TrustChanges(w.Context(), 0)
		return slices.Equal(all, []wamble.TrustLevel{{Session: 1, Level: 10}}), err
	},
	"Player": func(w *world) (bool, error) {
		p, err := w.Player(w.Context(), key(7))
		return p.Stats.Score == 2, err
	},
	"Past": func(w *world) (bool, error) {
		past, err := w.Past(w.Context(), wamble.PastQuery{Profile: Profile, From: at(0), Until: at(1 << 20), Limit: 9})
		return slices.ContainsFunc(past.Boards, func(b wamble.Board) bool { return b.ID == 3 }), err
	},
	"Began": func(w *world) (bool, error) {
		began, err := w.Began(w.Context(), Profile)
		return !began.IsZero(), err
	},
	"LiveBoards": func(w *world) (found bool, err error) {
		for b, err := range w.LiveBoards(w.Context(), Profile, 0) {
			return b.ID == 3, err
		}
		return false, nil
	},
	"Arrivals": func(w *world) (bool, error) {
		_, err := w.Arrivals(w.Context(), Profile, 1, 1)
		return err == nil, err
	},
	"Shards": func(w *world) (bool, error) {
		n, err := w.Shards(w.Context(), Profile)
		return n == 1, err
	},
	"Board": func(w *world) (bool, error) {
		b, err := w.Board(w.Context(), 3)
		return len(b.Moves) == 1, err
	},
	"Games": func(w *world) (found bool, err error) {
		for b, err := range w.Games(w.Context(), wamble.GameFilter{}) {
			return b.ID == 3, err
		}
		return false, nil
	},
	"Scores": func(w *world) (bool, error) {
		p, err := w.Player(w.Context(), key(7))
		if err != nil {
			return false, err
		}
		all, err := w.Scores(w.Context(), wamble.ScoreQuery{Player: p.ID, Limit: 9})
		return len(all) == 1, err
	},
	"Trail": func(w *world) (bool, error) {
		t, err := w.Trail(w.Context(), 1)
		return len(t.Boards) == 1 && len(t.Paid) == 1, err
	},
	"Leaderboard": func(w *world) (bool, error) {
		l, err := w.Leaderboard(w.Context(), wamble.LeaderboardQuery{Limit: 1, Self: 1})
		return l.Self != nil && l.Total == 1, err
	},
	"Reservations": func(w *world) (bool, error) {
		r, err := w.Reservations(w.Context(), key(7), at(0))
		return len(r) == 1, err
	},
	"Predictions": func(w *world) (bool, error) {
		p, err := w.Predictions(w.Context(), 3)
		return len(p) == 1, err
	},
	"People": func(w *world) (bool, error) {
		all, err := w.People(w.Context(), wamble.PeopleQuery{Name: "H_0007", Limit: 9})
		return len(all) == 1 && all[0].Key == key(7), err
	},
	"PredictionsOf": func(w *world) (bool, error) {
		p, err := w.PredictionsOf(w.Context(), key(7), 0, 9)
		return len(p) == 1 && p[0].UCI == prediction.UCI, err
	},
	"TermsOf": func(w *world) (bool, error) {
		a, err := w.TermsOf(w.Context(), key(7))
		return slices.Equal(a, []wamble.Acceptance{{Session: 1, Profile: Profile, Hash: terms.Hash, At: terms.At}}), err
	},
	"MergedKeys": func(w *world) (bool, error) {
		keys, err := w.MergedKeys(w.Context(), key(7))
		return len(keys) == 0, err // no one was merged into the player
	},
	"FormerNames": func(w *world) (bool, error) {
		names, err := w.FormerNames(w.Context(), key(7))
		return len(names) == 0, err // the player was never renamed
	},
	"TermsAccepted": func(w *world) (bool, error) { return w.TermsAccepted(w.Context(), 1, Profile, terms.Hash) },
}

// Reads calls every read on a store filled by Populate, and fails if a method of store.Queries
// has no row here. A store's own tests call it on a read-only database.
func Reads(t *testing.T, s store.Store) {
	t.Helper()
	w := newWorld(t, s)
	methods := reflect.TypeFor[store.Queries]()
	for i := range methods.NumMethod() {
		name := methods.Method(i).Name
		read, ok := reads[name]
		if !ok {
			t.Errorf("%s has no row in reads", name)
			continue
		}
		if found, err := read(w); err != nil || !found {
			t.Errorf("%s: found %v, error %v", name, found, err)
		}
	}
}

// TermsText applies acceptances with and without the text of the terms. Text returns the only
// stored one.
func TermsText(t testing.TB, s store.Store, text func() string) {
	t.Helper()
	for i, step := range []struct{ said, want string }{
		{"", ""}, {"be kind", "be kind"}, {"", "be kind"}, {"be cruel", "be kind"},
	} {
		id := wamble.SessionID(i + 1)
		b := store.Batch{Journal: store.JournalID{9}, Profile: Profile, After: uint64(i), Through: uint64(i + 1),
			Intents: []intent.Intent{
				newSession(id), &intent.RecordTermsAcceptance{Session: id, Profile: Profile, Hash: [32]byte{9},
					Text: step.said, At: at(5)},
			}}
		if err := s.Apply(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		if got := text(); got != step.want {
			t.Errorf("after %q: got %q, want %q", step.said, got, step.want)
		}
	}
}

// OldMoves returns SQL for both stores with moves of board 40 in the form before runs: 70 plies
// of session 1, without ply 50, at times that depend on $ply.
func OldMoves(at string) string {
	var rows []string
	for ply := 1; ply <= 70; ply++ {
		if ply != 50 {
			rows = append(rows, fmt.Sprintf("(40, 1, 'm%d', %d, %s)", ply, ply,
				strings.ReplaceAll(at, "$ply", strconv.Itoa(ply))))
		}
	}
	return "INSERT INTO moves (board_id, session_id, move_uci, move_number, timestamp) VALUES " +
		strings.Join(rows, ", ")
}

// HasOldMoves compares a store with OldMoves, whose first move was made at a time and each
// further one a second later, and writes the missing one.
func HasOldMoves(t *testing.T, s store.Store, first time.Time) {
	t.Helper()
	missing := &intent.RecordMove{Board: 40, Session: 1, UCI: "m50", Ply: 50, At: first.Add(49 * time.Second)}
	b := store.Batch{Journal: store.JournalID{9}, Profile: Profile, Through: 1, Intents: []intent.Intent{missing}}
	if err := s.Apply(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	board, err := s.Board(t.Context(), 40)
	if err != nil || len(board.Moves) != 70 {
		t.Fatalf("got %d moves, %v, want 70", len(board.Moves), err)
	}
	for i, m := range board.Moves {
		want := wamble.Move{Ply: i + 1, UCI: fmt.Sprintf("m%d", i+1), Session: 1,
			At: first.Add(time.Duration(i) * time.Second)}
		if m != want {
			t.Errorf("got %+v, want %+v", m, want)
		}
	}
}
