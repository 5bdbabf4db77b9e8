package storetest

import (
	"wamble"
	"wamble/internal/intent"
)

// The cases of predictions, and of players who leave.

var prediction = intent.RecordPrediction{ID: 11, Board: 3, Session: 1, UCI: "e7e5", Ply: 2, Streak: 1, At: at(41)}

var predictionCase = intentCase{
	before: []intent.Intent{newSession(1), newBoard(3), &prediction},
	intent: &intent.RecordPrediction{ID: 12, Board: 3, Session: 1, Parent: 11, UCI: "g1f3", Ply: 3, At: at(42)},
	check: func(w *world) {
		got, err := w.Predictions(w.Context(), 3)
		w.must(err)
		w.equal("predictions", got, []wamble.Prediction{
			{ID: 11, Board: 3, Session: 1, UCI: "e7e5", Ply: 2, Streak: 1, At: at(41)},
			{ID: 12, Board: 3, Session: 1, Parent: 11, UCI: "g1f3", Ply: 3, Depth: 1, At: at(42)},
		})
	},
}

var resolutionCase = intentCase{
	before: []intent.Intent{newSession(1), newBoard(3), &prediction,
		&intent.RecordPrediction{ID: 12, Board: 3, Session: 1, Parent: 11, UCI: "g1f3", Ply: 3, At: at(42)}},
	intent: &intent.ResolvePrediction{ID: 11, Session: 1, Status: wamble.Correct, Points: 2.5, At: at(60)},
	check: func(w *world) {
		got, err := w.Predictions(w.Context(), 3)
		w.must(err)
		if len(got) != 2 || got[0].Status != wamble.Correct || got[0].Points != 2.5 || got[1].Depth != 1 {
			w.Errorf("predictions: got %+v, want the resolved parent above its pending child", got)
		}
		w.equal("prediction score", w.session(1).Stats.PredictionScore, 2.5)
	},
}

// Sessions 1 and 4 belong to key 7: one has moved, the other has not.
var eraseCase = intentCase{
	before: []intent.Intent{newSession(1), newSession(2), newSession(4), link(1, 7, 20), link(2, 8, 20), link(4, 7, 20),
		newBoard(3), newBoard(4),
		&terms, &intent.RecordTermsAcceptance{Session: 2, Profile: Profile, Hash: [32]byte{9}, Text: "x", At: at(1)},
		move(3, 1, 1, true),
		&intent.RecordRating{Board: 3, Key: key(7), Delta: 5, At: at(50)}, &prediction,
		&intent.RecordPrediction{ID: 12, Board: 3, Session: 2, Parent: 11, UCI: "g1f3", Ply: 3, At: at(42)},
		hold(4, 4, 30, 900),
		&intent.RecordLastMoveShown{Board: 3, Session: 1, UCI: "e2e4", At: at(50)}},
	intent: &intent.ErasePlayer{Key: key(7), At: at(60)},
	check: func(w *world) {
		_, err := w.Player(w.Context(), key(7))
		w.notFound("the player", err)
		_, err = w.SessionByHandle(w.Context(), "h_0007")
		w.notFound("the handle", err)
		for _, n := range []byte{1, 4} {
			_, err = w.Session(w.Context(), token(n))
			w.notFound("a token", err)
		}
		w.equal("the session", w.session(1),
			wamble.Session{ID: 1, Created: at(1), LastSeen: at(1), Stats: wamble.Stats{Games: 1}})
		w.equal("its acceptance", w.accepted(1), false)
		w.equal("the game", w.board(3).Moves, []wamble.Move{{Ply: 1, UCI: "e2e4", Session: 1, At: at(101)}})
		w.equal("the holder", w.board(4).Holder, (*wamble.Reservation)(nil))
		w.equal("somebody else", w.session(2).Key, key(8))
		w.equal("their acceptance", w.accepted(2), true)
		got, err := w.Predictions(w.Context(), 3)
		w.must(err)
		w.equal("predictions", got,
			[]wamble.Prediction{{ID: 12, Board: 3, Session: 2, UCI: "g1f3", Ply: 3, At: at(42)}})
	},
}

// Sessions 1 to 5: idle, idle but moved, seen since, idle with an identity,
// idle but holding a board.
var purgeCase = intentCase{
	before: []intent.Intent{
		newSession(1), newSession(2), newSession(3), newSession(4), newSession(5), link(4, 7, 5), newBoard(3),
		newBoard(4),
		&intent.RecordTermsAcceptance{Session: 1, Profile: Profile, Hash: [32]byte{9}, Text: "x", At: at(1)},
		move(3, 2, 1, true),
		&intent.RecordPrediction{ID: 11, Board: 3, Session: 1, UCI: "e7e5", Ply: 2, At: at(2)},
		&intent.RecordPrediction{ID: 12, Board: 3, Session: 3, Parent: 11, UCI: "g1f3", Ply: 3, At: at(3)},
		hold(4, 5, 5, 500),
		&intent.RecordLastMoveShown{Board: 3, Session: 1, UCI: "e2e4", At: at(3)},
		&intent.UpdateSessionLastSeen{Session: 3, At: at(400)},
	},
	intent: &intent.PurgeSessions{Before: at(300), At: at(410)},
	check: func(w *world) {
		_, err := w.SessionByID(w.Context(), 1)
		w.notFound("an idle session", err)
		_, err = w.Session(w.Context(), token(2))
		w.notFound("the token of one that moved", err)
		w.equal("its row", w.session(2),
			wamble.Session{ID: 2, Created: at(2), LastSeen: at(2), Stats: wamble.Stats{Games: 1}})
		w.equal("its game", w.board(3).Moves[0].Session, wamble.SessionID(2))
		w.equal("one seen since", w.session(3).Token, token(3).Hash())
		w.equal("one with an identity", w.session(4).Token, token(4).Hash())
		w.equal("one that holds a board", w.session(5).Token, token(5).Hash())
		got, err := w.Predictions(w.Context(), 3)
		w.must(err)
		w.equal("predictions", got, []wamble.Prediction{{ID: 12, Board: 3, Session: 3, UCI: "g1f3", Ply: 3, At: at(3)}})
	},
}
