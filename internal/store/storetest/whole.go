package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"wamble/internal/intent"
	"wamble/internal/store"

	"wamble"
)

// chess960Board is a board of Whole with the usual position as one of Chess960.
const chess960Board = 7

// Whole fills an empty store with n sessions and boards, so that every table of both databases has rows. All
// games can be replayed. Token n is that of session n. Ten is the least n.
func Whole(t testing.TB, s store.Store, n int) {
	t.Helper()
	cursor := uint64(0)
	apply := func(intents ...intent.Intent) {
		t.Helper()
		b := store.Batch{Journal: store.JournalID{1}, Profile: Profile, After: cursor, Through: cursor + 1, Intents: intents}
		if err := s.Apply(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		cursor++
	}
	for _, of := range wamble.Sequences() {
		if _, err := s.Lease(t.Context(), of, 2*n+int(of)); err != nil {
			t.Fatal(err)
		}
	}
	each := func(of func(i int) []intent.Intent) {
		t.Helper()
		for first := 1; first <= n; first += 100 {
			var all []intent.Intent
			for i := first; i < min(first+100, n+1); i++ {
				all = append(all, of(i)...)
			}
			slices.SortStableFunc(all, func(a, b intent.Intent) int { return int(a.Kind()) - int(b.Kind()) })
			apply(all...)
		}
	}
	each(func(i int) []intent.Intent {
		variant, fen := int16(-1), startFEN
		if i == chess960Board {
			variant, fen = 518, strings.Replace(fen, "KQkq", "HAha", 1)
		}
		return []intent.Intent{
			&intent.CreateSession{Session: wamble.SessionID(i), Token: WholeToken(i).Hash(), At: at(i)},
			&intent.CreateBoard{Board: wamble.BoardID(i), FEN: fen, Status: wamble.Dormant, Variant: variant, At: at(i)},
		}
	})
	each(func(i int) []intent.Intent {
		board, session, fen := wamble.BoardID(i), wamble.SessionID(i), afterE4
		if i == chess960Board {
			fen = strings.Replace(fen, "KQkq", "HAha", 1)
		}
		all := []intent.Intent{
			&intent.UpdateBoard{Board: board, FEN: fen, Status: wamble.Active, Version: 1, At: at(100 + i)},
			&intent.UpdateBoardAssignmentTime{Board: board, At: at(100 + i)},
			&intent.RecordMove{Board: board, Session: session, UCI: "e2e4", Ply: 1, First: true, At: at(100 + i)},
			&intent.RecordLastMoveShown{Board: board, Session: session, UCI: "e2e4", At: at(101 + i)},
			// The number of a parent may be higher than that of its child.
			&intent.RecordPrediction{ID: wamble.PredictionID(2*n + 1 - i), Board: board, Session: session, UCI: "e7e5", Ply: 2, At: at(150)},
		}
		if i%2 == 0 {
			all = append(all, &intent.CreateReservation{Board: board, Session: session, White: i%4 == 0, At: at(160), Expires: at(900)})
		}
		return all
	})
	each(func(i int) []intent.Intent {
		all := []intent.Intent{&intent.RecordPrediction{ID: wamble.PredictionID(i), Board: wamble.BoardID(i), Session: wamble.SessionID(i),
			Parent: wamble.PredictionID(2*n + 1 - i), UCI: "g1f3", Ply: 3, Streak: 1, At: at(170)}}
		if i%3 == 0 {
			var key wamble.PublicKey
			copy(key[:], fmt.Sprintf("key %d", i))
			all = append(all, &intent.LinkSession{Session: wamble.SessionID(i), Key: key, Player: wamble.PlayerID(i), Handle: fmt.Sprintf("h_%04d", i),
				Rating: 1200.1234, At: at(200)})
		}
		return all
	})
	var three, six wamble.PublicKey
	copy(three[:], "key 3")
	copy(six[:], "key 6")
	apply(&intent.RecordGameResult{Board: 9, Result: wamble.BlackWins, Plies: 1, Reason: "resignation", At: at(300)})
	apply(&intent.RecordPayout{Board: 9, Session: 9, Points: 1.3333, Canonical: 0.6667, At: at(300)})
	apply(&intent.RecordPayout{Board: 9, Session: 1, Points: 0.0001, Canonical: 0.1, At: at(300)})
	apply(&intent.RecordRating{Board: 9, Key: three, Delta: -12.3456, At: at(300)})
	apply(&intent.SetName{Key: three, Name: "Ann-3", At: at(310)})
	apply(&intent.MergePlayers{From: six, Into: three, At: at(320)})
	apply(&intent.MarkBot{Session: 4, At: at(330)})
	apply(&intent.SetTrust{Session: 5, Level: 10, At: at(340)})
	apply(&intent.RenewToken{Session: 3, Token: WholeToken(3).Hash(), Host: "192.0.2.1/32", At: at(350)})
	apply(&terms)
	if err := s.SetShards(t.Context(), Profile, 4); err != nil {
		t.Fatal(err)
	}
	apply(&intent.MoveBoard{Board: 10, Version: 5, From: 0, To: 2, At: at(400)})
}

// WholeToken returns the token of a session of Whole.
func WholeToken(session int) wamble.Token {
	return wamble.Token{byte(session), byte(session >> 8), 15: 0xA0}
}

// WholeMore changes a store that Whole has filled: a player moves.
func WholeMore(t testing.TB, s store.Store) {
	t.Helper()
	at0, err := s.Cursor(t.Context(), store.JournalID{1}, Profile)
	if err != nil {
		t.Fatal(err)
	}
	b := store.Batch{Journal: store.JournalID{1}, Profile: Profile, After: at0, Through: at0 + 1, Intents: []intent.Intent{
		&intent.CreateSession{Session: 5000, Token: WholeToken(5000).Hash(), At: at(500)}}}
	if err := s.Apply(t.Context(), b); err != nil {
		t.Fatal(err)
	}
}
