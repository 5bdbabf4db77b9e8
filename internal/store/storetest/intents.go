package storetest

import (
	"time"

	"wamble/internal/intent"

	"wamble"
)

const afterE4 = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1"

var terms = intent.RecordTermsAcceptance{Session: 1, Profile: Profile, Hash: [32]byte{9}, Text: "Be kind. Ⅎ", At: at(5)}

// intentCases has one row per kind. Each is also repeated, and run in one batch with the
// intents that it depends on; see playIntent.
var intentCases = map[intent.Kind]intentCase{
	intent.KindCreateSession: {
		intent: newSession(1),
		check: func(w *world) {
			want := wamble.Session{ID: 1, Token: token(1).Hash(), Created: at(1), LastSeen: at(1)}
			got, err := w.Session(w.Context(), token(1))
			w.must(err)
			w.equal("session", got, want)
		},
	},
	intent.KindLinkSession: {
		before: []intent.Intent{newSession(1)},
		intent: link(1, 7, 20),
		check: func(w *world) {
			w.equal("session", w.session(1),
				wamble.Session{ID: 1, Token: token(1).Hash(), Player: 700, Key: key(7), Handle: "h_0007",
					Created: at(1), LastSeen: at(1), Stats: wamble.Stats{Rating: 1200}})
			w.equal("player", w.player(key(7)), wamble.Player{ID: 700, Key: key(7), Handle: "h_0007", Created: at(20),
				Stats: wamble.Stats{Rating: 1200}})
		},
	},
	intent.KindRenewToken: {
		before: []intent.Intent{newSession(1), newSession(2), link(1, 7, 20)},
		intent: &intent.RenewToken{Session: 1, Token: token(50).Hash(), Host: "192.0.2.1/32", At: at(30)},
		check: func(w *world) {
			got, err := w.Session(w.Context(), token(50))
			w.must(err)
			w.equal("session", got, wamble.Session{ID: 1, Token: token(50).Hash(), Player: 700, Key: key(7),
				Handle:  "h_0007",
				Created: at(1), LastSeen: at(1), Stats: wamble.Stats{Rating: 1200}, Host: "192.0.2.1/32"})
			_, err = w.Session(w.Context(), token(1))
			w.notFound("the old token", err)
			w.equal("somebody else", w.session(2).Token, token(2).Hash())
		},
	},
	intent.KindMarkBot: {
		before: []intent.Intent{newSession(1), newSession(2), link(1, 7, 20)},
		intent: &intent.MarkBot{Session: 1, At: at(30)},
		check: func(w *world) {
			w.equal("the session", w.session(1).Bot, true)
			w.equal("somebody else", w.session(2).Bot, false)
			w.refuses([]intent.Intent{&intent.MarkBot{Session: 99, At: at(30)}}, 0)
		},
	},
	intent.KindSetTrust: {
		before: []intent.Intent{newSession(1), newSession(2)},
		intent: &intent.SetTrust{Session: 1, Level: 10, At: at(30)},
		check: func(w *world) {
			w.equal("trust", w.session(1).Trust, 10)
			w.equal("others", w.session(2).Trust, 0)
		},
	},
	intent.KindSetName: {
		before: []intent.Intent{newSession(1), link(1, 7, 20), newSession(2), link(2, 8, 20)},
		intent: &intent.SetName{Key: key(7), Name: "Ann-7", At: at(30)},
		check: func(w *world) {
			w.equal("name", w.session(1).Handle, "Ann-7")
			w.equal("since", w.player(key(7)).Renamed, at(30))
			w.equal("others", w.session(2).Handle, "h_0008")
			names, err := w.FormerNames(w.Context(), key(7))
			w.must(err)
			w.equal("former names", names, []wamble.FormerName{{Name: "h_0007", Until: at(30)}})
			if s, err := w.SessionByHandle(w.Context(), "aNN-7"); err != nil || s.ID != 1 {
				w.Errorf("without regard to case: %+v, %v", s, err)
			}
		},
	},
	intent.KindUnlinkSession: {
		before: []intent.Intent{newSession(1), link(1, 7, 20)},
		intent: &intent.UnlinkSession{Session: 1, At: at(30)},
		check: func(w *world) {
			w.equal("session", w.session(1),
				wamble.Session{ID: 1, Token: token(1).Hash(), Created: at(1), LastSeen: at(1)})
			w.equal("the player stays", w.player(key(7)).ID, wamble.PlayerID(700))
		},
	},
	intent.KindRecordTermsAcceptance: {
		before: []intent.Intent{newSession(1), newSession(2)},
		intent: &terms,
		check: func(w *world) {
			for _, q := range []struct {
				name    string
				session wamble.SessionID
				profile string
				hash    byte
				want    bool
			}{{"accepted", 1, Profile, 9, true}, {"other session", 2, Profile, 9, false},
				{"other profile", 1, "beta", 9, false}, {"newer text", 1, Profile, 8, false}} {
				got, err := w.TermsAccepted(w.Context(), q.session, q.profile, [32]byte{q.hash})
				w.must(err)
				w.equal(q.name, got, q.want)
			}
		},
	},
	intent.KindCreateBoard: {
		intent: &intent.CreateBoard{Board: 3, FEN: startFEN, Status: wamble.Dormant, Variant: 518, At: at(3)},
		check: func(w *world) {
			w.equal("board", w.board(3), wamble.Board{ID: 3, Profile: Profile, FEN: startFEN, Status: wamble.Dormant,
				Variant: 518, Created: at(3)})
		},
	},
	intent.KindUpdateBoard: {
		before: []intent.Intent{newBoard(3)},
		intent: &intent.UpdateBoard{Board: 3, FEN: afterE4, Status: wamble.Active, Version: 2, At: at(9)},
		check: func(w *world) {
			w.equal("board", w.board(3), wamble.Board{ID: 3, Profile: Profile, FEN: afterE4, Status: wamble.Active,
				Variant: -1, Version: 2, Created: at(3)})
		},
	},
	intent.KindUpdateBoardAssignmentTime: {
		before: []intent.Intent{newBoard(3)},
		intent: &intent.UpdateBoardAssignmentTime{Board: 3, At: at(8)},
		check:  func(w *world) { w.equal("last assigned", w.board(3).LastAssigned, at(8)) },
	},
	intent.KindRecordMove: {
		before: []intent.Intent{newSession(1), newBoard(3)},
		intent: move(3, 1, 1, true),
		check: func(w *world) {
			w.equal("moves", w.board(3).Moves, []wamble.Move{{Ply: 1, UCI: "e2e4", Session: 1, At: at(101)}})
			w.equal("games", w.session(1).Stats, wamble.Stats{Games: 1})
		},
	},
	intent.KindRecordGameResult: {
		before: []intent.Intent{newBoard(3)},
		intent: &intent.RecordGameResult{Board: 3, Result: wamble.BlackWins, Plies: 4,
			Duration: 90*time.Second + 7*time.Microsecond, Reason: "checkmate", At: at(90)},
		check: func(w *world) {
			w.equal("result", w.board(3).Result, &wamble.GameResult{Result: wamble.BlackWins, Plies: 4,
				Duration: 90*time.Second + 7*time.Microsecond, Reason: "checkmate", Finished: at(90)})
		},
	},
	intent.KindRecordPayout: {
		before: []intent.Intent{newSession(1), newBoard(3)},
		intent: &intent.RecordPayout{Board: 3, Session: 1, Points: 6.66666, Canonical: 10, At: at(90)},
		check:  func(w *world) { w.equal("score", w.session(1).Stats.Score, 6.6667) },
	},
	intent.KindRecordRating: {
		before: []intent.Intent{newSession(1), link(1, 7, 20), newBoard(3)},
		intent: &intent.RecordRating{Board: 3, Key: key(7), Delta: 12.25, At: at(90)},
		check: func(w *world) {
			w.equal("player's rating", w.player(key(7)).Stats.Rating, 1212.25)
			w.equal("session's rating", w.session(1).Stats.Rating, 1212.25)
		},
	},
	intent.KindRecordPrediction:  predictionCase,
	intent.KindResolvePrediction: resolutionCase,
	intent.KindCreateReservation: {
		before: []intent.Intent{newSession(1), link(1, 7, 20), newBoard(3)},
		intent: hold(3, 1, 30, 90),
		check: func(w *world) {
			want := wamble.Reservation{Board: 3, Profile: Profile, Session: 1, Key: key(7), White: true, At: at(30),
				Expires: at(90)}
			w.equal("holder", w.board(3).Holder, &want)
			got, err := w.Reservations(w.Context(), key(7), at(89))
			w.must(err)
			w.equal("reservations", got, []wamble.Reservation{want})
		},
	},
	intent.KindRemoveReservation: {
		before: []intent.Intent{newSession(1), newBoard(3), newBoard(4), hold(3, 1, 30, 90), hold(4, 1, 31, 90)},
		intent: &intent.RemoveReservation{Board: 3, At: at(40)},
		check: func(w *world) {
			if w.board(3).Holder != nil || w.board(4).Holder == nil {
				w.Errorf("holders: got %v and %v, want none and session 1", w.board(3).Holder, w.board(4).Holder)
			}
		},
	},
	intent.KindMoveBoard: {
		before: []intent.Intent{newBoard(3), newBoard(4)},
		intent: &intent.MoveBoard{Board: 3, Version: 5, From: 0, To: 2, At: at(40)},
		check: func(w *world) {
			w.equal("stay", ids(w.liveAt(0)), "[4]")
			w.equal("moved", ids(w.liveAt(2)), "[3]")
			w.equal("arrivals", ids(w.arrivals(2)), "[3]")
			w.equal("arrivals elsewhere", ids(w.arrivals(1)), "[]")
		},
	},
	intent.KindArriveBoard: {
		before: []intent.Intent{newBoard(3), newBoard(4), &intent.MoveBoard{Board: 3, Version: 5, From: 0, To: 2,
			At: at(40)}, &intent.MoveBoard{Board: 4, Version: 5, From: 0, To: 2, At: at(40)}},
		intent: &intent.ArriveBoard{Board: 3, Shard: 2, Version: 5, State: "as it is", At: at(41)},
		check: func(w *world) {
			if w.together {
				return // no shard has both in one batch
			}
			w.equal("boards", ids(w.liveAt(2)), "[3 4]")
			w.equal("arrivals", ids(w.arrivals(2)), "[4]")
		},
	},
	intent.KindRecordLastMoveShown: {
		before: []intent.Intent{newSession(1), newBoard(3)},
		intent: &intent.RecordLastMoveShown{Board: 3, Session: 1, UCI: "e2e4", At: at(50)},
		// No read returns it: it must be accepted, also when repeated, and refer to existing
		// rows.
		check: func(w *world) {
			w.refuses([]intent.Intent{&intent.RecordLastMoveShown{Board: 99, Session: 1, UCI: "e2e4", At: at(50)}}, 0)
		},
	},
	intent.KindUpdateSessionLastSeen: {
		before: []intent.Intent{newSession(1), newSession(2)},
		intent: &intent.UpdateSessionLastSeen{Session: 1, At: at(70)},
		check: func(w *world) {
			w.equal("seen", w.session(1).LastSeen, at(70))
			w.equal("the other", w.session(2).LastSeen, at(2))
		},
	},
	intent.KindRevokeSessions: {
		before: []intent.Intent{newSession(1), newSession(2), newSession(3), link(1, 7, 20), link(2, 7, 20),
			link(3, 8, 20)},
		intent: &intent.RevokeSessions{Session: 2, Key: key(7), At: at(60)},
		check: func(w *world) {
			_, err := w.Session(w.Context(), token(2))
			w.notFound("the token", err)
			w.equal("the session", w.session(2).Key, key(7))
			w.equal("another one of the key", w.session(1).Token, token(1).Hash())
			w.equal("somebody else's", w.session(3).Token, token(3).Hash())
			all, err := w.Sessions(w.Context(), key(7), 9)
			w.must(err)
			w.equal("the sessions that are left", len(all), 1)
		},
	},
	intent.KindErasePlayer:   eraseCase,
	intent.KindMergePlayers:  mergeCase,
	intent.KindPurgeSessions: purgeCase,
}
