package storetest

import (
	"math"
	"strings"
	"time"

	"wamble/internal/intent"
	"wamble/internal/store"
)

// limitCases are values that fit into a column, and values that do not.
var limitCases = []testCase{
	{"what fits", func(w *world) {
		fen := strings.Repeat("x", 90)
		w.apply(newSession(1), &intent.CreateBoard{Board: 1, FEN: fen, Variant: 959, At: at(1)},
			&intent.CreateBoard{Board: math.MaxInt64, FEN: "é" + fen[1:], Variant: 0, At: at(1)},
			&intent.UpdateBoard{Board: 1, FEN: fen, Version: math.MaxInt64, At: at(1)},
			&intent.RecordMove{Board: 1, Session: 1, UCI: "a7a8q!", Ply: math.MaxInt32, At: at(1)},
			&intent.RecordGameResult{Board: 1, Reason: strings.Repeat("r", 31), At: at(1)},
			&intent.RecordPayout{Board: 1, Session: 1, Points: 999_999.9998, Canonical: -999_999.9998, At: at(1)})
		b := w.board(1)
		w.equal("fen", b.FEN, fen)
		w.equal("version", b.Version, uint64(math.MaxInt64))
		w.equal("move", b.Moves[0].UCI, "a7a8q!")
		w.equal("ply", b.Moves[0].Ply, math.MaxInt32)
		w.equal("score", w.session(1).Stats.Score, 999_999.9998)
		w.equal("the highest board", w.board(math.MaxInt64).Variant, int16(0))
	}},
	{"what does not", func(w *world) {
		w.apply(newSession(1), newBoard(1))
		for _, c := range misfits {
			w.T.Logf("%s", c.name)
			w.refuses([]intent.Intent{newSession(2), c.intent, newBoard(2)}, 1)
		}
	}},
	{"frames that do not", func(w *world) {
		for _, b := range []store.Batch{
			{Profile: "", Through: 1},
			{Profile: strings.Repeat("p", 129), Through: 1},
			{Profile: Profile},
			{Profile: Profile, After: 5, Through: 4},
			{Profile: Profile, Through: math.MaxInt64 + 1},
		} {
			if err := w.Apply(w.Context(), b); err == nil {
				w.Errorf("%+v: got no error", b)
			}
			if _, err := w.Probe(w.Context(), b); err == nil {
				w.Errorf("probe of %+v: got no error", b)
			}
		}
	}},
}

var misfits = []struct {
	name   string
	intent intent.Intent
}{
	{"a FEN of 91", &intent.CreateBoard{Board: 9, FEN: strings.Repeat("x", 91), At: at(1)}},
	{"no FEN", &intent.UpdateBoard{Board: 1, Version: 1, At: at(1)}},
	{"a FEN with NUL", &intent.CreateBoard{Board: 9, FEN: "a\x00b", At: at(1)}},
	{"a FEN that is not UTF-8", &intent.CreateBoard{Board: 9, FEN: "a\xffb", At: at(1)}},
	{"an unknown status", &intent.CreateBoard{Board: 9, FEN: "x", Status: 4, At: at(1)}},
	{"variant 960", &intent.CreateBoard{Board: 9, FEN: "x", Variant: 960, At: at(1)}},
	{"board 0", &intent.CreateBoard{Board: 0, FEN: "x", At: at(1)}},
	{"a board past 63 bits", &intent.CreateBoard{Board: math.MaxInt64 + 1, FEN: "x", At: at(1)}},
	{"a version past 63 bits", &intent.UpdateBoard{Board: 1, FEN: "x", Version: math.MaxInt64 + 1, At: at(1)}},
	{"no time", &intent.CreateBoard{Board: 9, FEN: "x"}},
	{"a time past 9999", &intent.CreateBoard{Board: 9, FEN: "x", At: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}},
	{"a UCI of 7", &intent.RecordMove{Board: 1, Session: 1, UCI: "a7a8qqq", Ply: 1, At: at(1)}},
	{"no UCI", &intent.RecordMove{Board: 1, Session: 1, Ply: 1, At: at(1)}},
	{"ply 0", &intent.RecordMove{Board: 1, Session: 1, UCI: "e2e4", At: at(1)}},
	{"session 0", &intent.RecordMove{Board: 1, UCI: "e2e4", Ply: 1, At: at(1)}},
	{"an unknown result", &intent.RecordGameResult{Board: 1, Result: 3, At: at(1)}},
	{"a reason of 32", &intent.RecordGameResult{Board: 1, Reason: strings.Repeat("r", 32), At: at(1)}},
	{"a game that ended before it began", &intent.RecordGameResult{Board: 1, Duration: -1, At: at(1)}},
	{"points that are no number", &intent.RecordPayout{Board: 1, Session: 1, Points: math.NaN(), At: at(1)}},
	{"endless points", &intent.RecordPayout{Board: 1, Session: 1, Points: math.Inf(1), At: at(1)}},
	{"a million points", &intent.RecordPayout{Board: 1, Session: 1, Points: 1e6, At: at(1)}},
	{"no token", &intent.CreateSession{Session: 9, At: at(1)}},
	{"no key", &intent.LinkSession{Session: 1, Player: 1, Handle: "h_1234", At: at(1)}},
	{"a short handle", &intent.LinkSession{Session: 1, Key: key(1), Player: 1, Handle: "h_", At: at(1)}},
	{"a handle of two words", &intent.LinkSession{Session: 1, Key: key(1), Player: 1, Handle: "two words", At: at(1)}},
	{"a long handle", &intent.LinkSession{Session: 1, Key: key(1), Player: 1, Handle: strings.Repeat("h", 64), At: at(1)}},
	{"player 0", &intent.LinkSession{Session: 1, Key: key(1), Handle: "h_1234", At: at(1)}},
	{"a prediction that is its own parent", &intent.RecordPrediction{ID: 4, Parent: 4, Board: 1, Session: 1, UCI: "e2e4", Ply: 1, At: at(1)}},
	{"a resolution to pending", &intent.ResolvePrediction{ID: 4, Session: 1, At: at(1)}},
	{"terms of a long profile", &intent.RecordTermsAcceptance{Session: 1, Profile: strings.Repeat("p", 129), At: at(1)}},
	{"terms over a megabyte", &intent.RecordTermsAcceptance{Session: 1, Profile: "p", Text: strings.Repeat("t", 1<<20+1), At: at(1)}},
	{"nobody to erase", &intent.ErasePlayer{At: at(1)}},
	{"a player to merge into themselves", &intent.MergePlayers{From: key(1), Into: key(1), At: at(1)}},
	{"no horizon to purge before", &intent.PurgeSessions{At: at(1)}},
}
