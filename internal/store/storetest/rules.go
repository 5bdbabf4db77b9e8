package storetest

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"wamble"
	"wamble/internal/intent"
)

// intentRules test the effects of intents on each other.
var intentRules = []testCase{
	{"an older version of a board has no effect", func(w *world) {
		update := func(v uint64, fen string) intent.Intent {
			return &intent.UpdateBoard{Board: 3, FEN: fen, Status: wamble.Active, Version: v, At: at(int(v))}
		}
		w.apply(newBoard(3), update(5, afterE4))
		w.apply(update(4, startFEN))
		w.equal("fen", w.board(3).FEN, afterE4)
		w.apply(update(7, "newest w - - 0 1"), update(6, startFEN))
		w.equal("two in one batch", w.board(3).FEN, "newest w - - 0 1")
		w.equal("version", w.board(3).Version, uint64(7))
	}},
	{"merged players stay one", func(w *world) {
		w.apply(newSession(1), newSession(2), newSession(3), link(1, 7, 20), link(2, 8, 20), link(3, 9, 20))
		w.apply(&intent.MergePlayers{From: key(7), Into: key(6), At: at(60)},
			&intent.MergePlayers{From: key(6), Into: key(7), At: at(60)})
		w.equal("with nobody", w.session(1).Key, key(7))
		w.apply(&intent.MergePlayers{From: key(7), Into: key(8), At: at(10)})
		w.equal("before they were there", w.session(1).Key, key(7))
		w.apply(&intent.MergePlayers{From: key(7), Into: key(8), At: at(60)})
		w.apply(link(1, 7, 30)) // delayed
		w.apply(&intent.MergePlayers{From: key(7), Into: key(8), At: at(61)})
		w.apply(&intent.MergePlayers{From: key(8), Into: key(9), At: at(70)})
		for _, k := range []byte{7, 8, 9} {
			w.equal("whose key it is", w.player(key(k)).Key, key(9))
		}
		w.apply(&intent.ErasePlayer{Key: key(9), At: at(80)})
		for _, k := range []byte{7, 8, 9} {
			_, err := w.Player(w.Context(), key(k))
			w.notFound("after erasing", err)
		}
	}},
	{"an older time has no effect", func(w *world) {
		w.apply(newSession(1), newBoard(3), &intent.UpdateBoardAssignmentTime{Board: 3, At: at(50)},
			&intent.UpdateSessionLastSeen{Session: 1, At: at(50)})
		w.apply(&intent.UpdateBoardAssignmentTime{Board: 3, At: at(40)},
			&intent.UpdateSessionLastSeen{Session: 1, At: at(40)})
		w.equal("assigned", w.board(3).LastAssigned, at(50))
		w.equal("seen", w.session(1).LastSeen, at(50))
	}},
	{"a game counts once", func(w *world) {
		w.apply(newSession(1), newSession(2), newBoard(3),
			&intent.CreateBoard{Board: 4, FEN: startFEN, Variant: 0, At: at(1)},
			move(3, 1, 1, true), move(3, 2, 2, true), move(3, 1, 3, false), move(4, 1, 1, true))
		w.equal("session 1", w.session(1).Stats, wamble.Stats{Games: 2, Chess960Games: 1})
		w.equal("session 2", w.session(2).Stats, wamble.Stats{Games: 1})
	}},
	{"a ply has one move", func(w *world) {
		other := move(3, 1, 1, true)
		other.UCI = "d2d4"
		w.apply(newSession(1), newSession(2), newBoard(3), move(3, 1, 1, true))
		w.refuses([]intent.Intent{other}, 0)
		w.refuses([]intent.Intent{move(3, 2, 1, true)}, 0)
		w.refuses([]intent.Intent{move(3, 2, 2, true), other}, 1)
		w.equal("moves", len(w.board(3).Moves), 1)
	}},
	{"moves that are there in part are completed", func(w *world) {
		plies := func(from, to int) (moves []intent.Intent) {
			for ply := from; ply <= to; ply++ {
				moves = append(moves, move(3, wamble.SessionID(1+ply%2), ply, ply < 3))
			}
			return moves
		}
		w.apply(newSession(1), newSession(2), newBoard(3))
		w.apply(plies(5, 8)...)
		w.apply(plies(1, 6)...)
		w.apply(append(plies(7, 7), plies(7, 9)...)...)
		w.apply(plies(2, 80)...)
		for i, m := range w.board(3).Moves {
			w.equal("ply", m.Ply, i+1)
			w.equal("session", m.Session, wamble.SessionID(1+(i+1)%2))
			w.equal("time", m.At, move(3, 1, i+1, false).At)
		}
		w.equal("moves", len(w.board(3).Moves), 80)
		w.equal("games", w.session(1).Stats.Games, 1)
		other := move(3, 1, 40, false)
		other.UCI = "d2d4"
		w.refuses([]intent.Intent{move(3, 2, 39, false), other, move(3, 2, 81, false)}, 1)
	}},
	{"a board belongs to one profile", func(w *world) {
		w.apply(newBoard(3))
		beta := *w
		beta.profile, beta.cursor = "beta", 0
		beta.refuses([]intent.Intent{newBoard(3)}, 0)
		w.equal("profile", w.board(3).Profile, Profile)
	}},
	{"an identity is found by its key", func(w *world) {
		again := link(2, 7, 25)
		again.Player, again.Handle, again.Rating = 999, "h_other", 1500
		w.apply(newSession(1), newSession(2), link(1, 7, 20), again, newBoard(3), newBoard(4), move(3, 1, 1, true),
			move(4, 2, 1, true),
			&intent.RecordPayout{Board: 3, Session: 1, Points: 2, Canonical: 2, At: at(60)},
			&intent.RecordPayout{Board: 4, Session: 2, Points: 0.5, Canonical: 1, At: at(60)})
		w.equal("player of session 2", w.session(2).Player, wamble.PlayerID(700))
		w.equal("player", w.player(key(7)), wamble.Player{ID: 700, Key: key(7), Handle: "h_0007", Created: at(20),
			Stats: wamble.Stats{Score: 2.5, Rating: 1200, Games: 2}})
	}},
	{"the newest link or unlink holds", func(w *world) {
		w.apply(newSession(1), link(1, 7, 20), &intent.UnlinkSession{Session: 1, At: at(30)})
		w.apply(link(1, 7, 20))
		w.equal("a late link", w.session(1).Player, wamble.PlayerID(0))
		w.apply(link(1, 8, 40))
		w.apply(&intent.UnlinkSession{Session: 1, At: at(30)})
		w.equal("a late unlink", w.session(1).Key, key(8))
		w.apply(link(1, 7, 50), link(1, 9, 51))
		w.equal("the last of two", w.session(1).Key, key(9))
	}},
	{"the newest holder holds", func(w *world) {
		w.apply(newSession(1), newSession(2), newBoard(3), hold(3, 1, 30, 90), hold(3, 2, 50, 110))
		w.apply(hold(3, 1, 30, 90))
		w.equal("a late reservation", w.board(3).Holder.Session, wamble.SessionID(2))
		w.apply(&intent.RemoveReservation{Board: 3, At: at(40)})
		w.equal("a late removal", w.board(3).Holder.Session, wamble.SessionID(2))
	}},
	{"a handle belongs to one identity", func(w *world) {
		thief := link(2, 8, 30)
		thief.Handle = "h_0007"
		w.apply(newSession(1), newSession(2), link(1, 7, 20))
		w.refuses([]intent.Intent{thief}, 0)
	}},
	{"a token belongs to one session", func(w *world) {
		w.apply(newSession(1))
		w.refuses([]intent.Intent{&intent.CreateSession{Session: 2, Token: token(1).Hash(), At: at(2)}}, 0)
		w.refuses([]intent.Intent{newSession(3), &intent.CreateSession{Session: 2, Token: token(1).Hash(), At: at(2)},
			newSession(4)}, 1)
	}},
	{"a session may begin with an identity", func(w *world) {
		w.apply(newSession(1), link(1, 7, 20))
		w.apply(&intent.CreateSession{Session: 2, Token: token(2).Hash(), Player: 700, At: at(30)})
		w.equal("session", w.session(2),
			wamble.Session{ID: 2, Token: token(2).Hash(), Player: 700, Key: key(7), Handle: "h_0007",
				Created: at(30), LastSeen: at(30), Stats: wamble.Stats{Rating: 1200}})
		w.refuses([]intent.Intent{&intent.CreateSession{Session: 3, Token: token(3).Hash(), Player: 701, At: at(30)}},
			0)
	}},
	{"ratings add up", func(w *world) {
		delta := func(b wamble.BoardID, k byte, d float64) intent.Intent {
			return &intent.RecordRating{Board: b, Key: key(k), Delta: d, At: at(60)}
		}
		w.apply(newSession(1), link(1, 7, 20), newSession(2), link(2, 8, 20), newBoard(3), newBoard(4))
		w.apply(delta(3, 7, 10), delta(4, 7, -2.5), delta(3, 8, 1), delta(3, 77, 9))
		w.equal("player 7", w.player(key(7)).Stats.Rating, 1207.5)
		w.equal("session 1", w.session(1).Stats.Rating, 1207.5)
		w.equal("player 8", w.player(key(8)).Stats.Rating, 1201.0)
		_, err := w.Player(w.Context(), key(77))
		w.notFound("an unknown key", err)
	}},
	{"a prediction is resolved once", func(w *world) {
		resolve := func(s wamble.SessionID, st wamble.PredictionStatus, points float64) intent.Intent {
			return &intent.ResolvePrediction{ID: 11, Session: s, Status: st, Points: points, At: at(60)}
		}
		w.apply(newSession(1), newSession(2), newBoard(3), &prediction)
		w.apply(resolve(2, wamble.Correct, 4))
		w.equal("by somebody else", w.session(2).Stats.PredictionScore, 0.0)
		w.apply(resolve(1, wamble.Incorrect, -1.5), resolve(1, wamble.Correct, 8))
		w.apply(resolve(1, wamble.Correct, 8))
		w.equal("score", w.session(1).Stats.PredictionScore, -1.5)
	}},
	{"an older token does not come back", func(w *world) {
		renew := func(n byte, second int, host string) intent.Intent {
			return &intent.RenewToken{Session: 1, Token: token(n).Hash(), Host: host, At: at(second)}
		}
		w.apply(newSession(1))
		w.apply(renew(51, 30, "192.0.2.1/32"), renew(52, 40, ""))
		w.apply(renew(51, 30, "192.0.2.1/32"))
		w.equal("token", w.session(1).Token, token(52).Hash())
		w.equal("host", w.session(1).Host, "")
	}},
	{"changes of trust are found", func(w *world) {
		var mark int64
		changes := func(want ...wamble.TrustLevel) {
			w.Helper()
			got, next, err := w.TrustChanges(w.Context(), mark)
			w.must(err)
			for _, row := range got { // a change may be returned again
				w.equal("the level now", row.Level, w.session(row.Session).Trust)
			}
			for _, row := range want {
				if !slices.Contains(got, row) {
					w.Errorf("got %v, want %v in it", got, row)
				}
			}
			mark = next
		}
		w.apply(newSession(1), newSession(2), newSession(3), link(2, 7, 20))
		changes()
		w.apply(&intent.SetTrust{Session: 1, Level: 10, At: at(30)})
		w.apply(&intent.SetTrust{Key: key(7), Level: 3, At: at(40)})
		changes(wamble.TrustLevel{Session: 2, Level: 3}, wamble.TrustLevel{Session: 1, Level: 10})
		w.apply(&intent.UpdateSessionLastSeen{Session: 3, At: at(50)}, &intent.SetTrust{Session: 3, At: at(50)},
			&intent.SetTrust{Key: key(9), Level: 3, At: at(50)})
		changes()
		w.apply(&intent.SetTrust{Session: 1, At: at(60)})
		changes(wamble.TrustLevel{Session: 1})
		if _, _, err := w.TrustChanges(w.Context(), mark); err != nil {
			w.Errorf("nothing has changed: %v", err)
		}
	}},
	{"a key is one player's, whoever enrols them", func(w *world) {
		first := wamble.Player{Key: key(7), Handle: "h_one", Created: at(10), Stats: wamble.Stats{Rating: 1300}}
		var all sync.WaitGroup
		got := make([]wamble.Player, 8)
		for i := range got {
			all.Go(func() {
				mine := first
				mine.Handle = fmt.Sprintf("h_%d", i)
				var err error
				if got[i], err = w.Enrol(w.Context(), mine); err != nil {
					w.Error(err)
				}
			})
		}
		all.Wait()
		for _, p := range got {
			w.equal("everybody got the same", p, got[0])
		}
		w.equal("as they were made", wamble.Player{Key: got[0].Key, Created: got[0].Created.UTC(), Stats: got[0].Stats},
			wamble.Player{Key: first.Key, Created: first.Created.UTC(), Stats: first.Stats})
		w.apply(newSession(1), &intent.LinkSession{Session: 1, Key: key(7), Player: got[0].ID + 1000, Handle: "h_other",
			Rating: 1200, At: at(20)})
		w.equal("a login finds them", w.session(1).Player, got[0].ID)
		w.equal("with their name", w.session(1).Handle, got[0].Handle)
	}},
	{"a name is one player's", func(w *world) {
		w.apply(newSession(1), link(1, 7, 20), newSession(2), link(2, 8, 20))
		w.apply(&intent.SetName{Key: key(7), Name: "Ann", At: at(30)},
			&intent.SetName{Key: key(8), Name: "aNN", At: at(31)})
		w.equal("the first has it", w.player(key(7)).Handle, "Ann")
		w.equal("the second does not", w.player(key(8)).Handle, "h_0008")
		w.apply(&intent.SetName{Key: key(7), Name: "Bob", At: at(29)})
		w.equal("an older one", w.player(key(7)).Handle, "Ann")
		w.apply(&intent.SetName{Key: key(7), Name: "ANN", At: at(40)},
			&intent.SetName{Key: key(9), Name: "Nobody", At: at(40)})
		w.equal("in other case", w.player(key(7)).Handle, "ANN")
		w.apply(newSession(3), &intent.LinkSession{Session: 3, Key: key(7), Player: 700, Handle: "ANN", Rating: 1200,
			At: at(50)})
		w.equal("a login keeps it", w.session(3).Handle, "ANN")
	}},
	{"of those who claim a name one has it", func(w *world) {
		const many = 8
		for i := range byte(many) {
			w.apply(newSession(wamble.SessionID(i)+1), link(wamble.SessionID(i)+1, i+1, 20))
		}
		claim := func(i byte, name string, when, since int) wamble.Player {
			p, err := w.Claim(w.Context(), key(i), name, at(when), at(since))
			if err != nil {
				w.Error(err)
			}
			return p
		}
		var all sync.WaitGroup
		var got [many]wamble.Player
		for i := range byte(many) {
			all.Go(func() { got[i] = claim(i+1, []string{"Ann", "aNN"}[i%2], 100, 30) })
		}
		all.Wait()
		first, named := byte(0), 0
		for i, p := range got {
			w.equal("each is told of themselves", p, w.player(key(byte(i+1))))
			if strings.EqualFold(p.Handle, "ann") {
				first, named = byte(i+1), named+1
			}
		}
		w.equal("so many have it", named, 1)
		other := first%many + 1
		w.equal("they may claim it again", claim(first, got[first-1].Handle, 110, 30).Renamed, at(100))
		w.equal("they keep it", claim(first, "Bob", 120, 99).Handle, got[first-1].Handle)
		w.equal("the others have their own still", claim(other, "ANN", 130, 99).Renamed.IsZero(), true)
		w.equal("later they may choose another", claim(first, "Bob", 140, 100).Handle, "Bob")
		w.equal("then the first is free at once", claim(other, "Ann", 140, 99).Handle, "Ann")
		names, err := w.FormerNames(w.Context(), key(first))
		w.must(err)
		w.equal("former names", len(names), 2)
		_, err = w.Claim(w.Context(), key(99), "Nobody", at(1), at(1))
		w.notFound("nobody's key", err)
	}},
	{"who may be revoked", func(w *world) {
		w.apply(newSession(1), newSession(2), newSession(3), newSession(4), link(1, 7, 20), link(2, 7, 20),
			link(3, 8, 20), link(4, 7, 20),
			&intent.RenewToken{Session: 4, Token: token(54).Hash(), At: at(70)})
		w.apply(&intent.RevokeSessions{Session: 3, Key: key(7), At: at(60)})
		w.equal("a session of another key", w.session(3).Token, token(3).Hash())
		w.apply(&intent.RevokeSessions{Session: 1, Key: key(7), Others: true, At: at(60)})
		for id, want := range map[wamble.SessionID]wamble.TokenHash{1: token(1).Hash(), 2: {}, 3: token(3).Hash(),
			4: token(54).Hash()} {
			w.equal("one but all others, those with a newer token not", w.session(id).Token, want)
		}
		w.apply(&intent.RevokeSessions{Key: key(7), Others: true, At: at(80)})
		w.equal("all", w.session(1).Token.IsZero() && w.session(4).Token.IsZero(), true)
	}},
	{"erasing spares a newer identity", func(w *world) {
		w.apply(newSession(1), link(1, 7, 20))
		w.apply(&intent.ErasePlayer{Key: key(7), At: at(10)})
		w.equal("player", w.player(key(7)).ID, wamble.PlayerID(700))
		w.apply(&intent.ErasePlayer{Key: key(7), At: at(60), Player: 699})
		w.equal("player with another number", w.player(key(7)).ID, wamble.PlayerID(700))
		w.equal("their session", w.session(1).Key, key(7))
		w.apply(&intent.ErasePlayer{Key: key(7), At: at(10), Player: 700})
		_, err := w.Player(w.Context(), key(7))
		w.notFound("the player of the order, whenever they were created", err)
		w.equal("their session", w.session(1).Token.IsZero(), true)
	}},
	{"what comes behind an erasure brings nothing back", func(w *world) {
		w.apply(newSession(1), newSession(2), link(1, 7, 20), newBoard(3), newBoard(4), &prediction)
		w.apply(&intent.ErasePlayer{Key: key(7), At: at(60)})
		// Later intents for the erased player, of other profiles and of the game.
		w.apply(newSession(1), link(1, 7, 50), &intent.RenewToken{Session: 1, Token: token(51).Hash(), At: at(70)},
			&terms, move(3, 1, 1, true), pay(3, 1),
			&intent.RecordRating{Board: 3, Session: 1, Key: key(7), Delta: 5, At: at(70)},
			&intent.RecordPrediction{ID: 13, Board: 3, Session: 1, UCI: "e7e5", Ply: 2, At: at(70)},
			&intent.RecordPrediction{ID: 14, Board: 3, Session: 2, Parent: 13, UCI: "g1f3", Ply: 3, At: at(70)},
			&intent.RecordPrediction{ID: 15, Board: 3, Session: 2, Parent: 14, UCI: "b8c6", Ply: 4, At: at(70)},
			&intent.RecordPrediction{ID: 16, Board: 3, Session: 2, Parent: 11, UCI: "b1c3", Ply: 3, At: at(70)},
			&intent.ResolvePrediction{ID: 11, Session: 1, Status: wamble.Correct, Points: 3, At: at(70)},
			hold(4, 1, 70, 900),
			&intent.RecordLastMoveShown{Board: 3, Session: 1, UCI: "e2e4", At: at(70)},
			&intent.UpdateSessionLastSeen{Session: 1, At: at(70)})
		_, err := w.Player(w.Context(), key(7))
		w.notFound("the player", err)
		for _, n := range []byte{1, 51} {
			_, err = w.Session(w.Context(), token(n))
			w.notFound("a token", err)
		}
		w.equal("its acceptance", w.accepted(1), false)
		w.equal("the holder", w.board(4).Holder, (*wamble.Reservation)(nil))
		w.equal("the session", w.session(1).Stats, wamble.Stats{Score: 1, Games: 1})
		got, err := w.Predictions(w.Context(), 3)
		w.must(err)
		w.equal("predictions", got, []wamble.Prediction{
			{ID: 14, Board: 3, Session: 2, UCI: "g1f3", Ply: 3, At: at(70)},
			{ID: 16, Board: 3, Session: 2, UCI: "b1c3", Ply: 3, At: at(70)},
			{ID: 15, Board: 3, Session: 2, Parent: 14, UCI: "b8c6", Ply: 4, Depth: 1, At: at(70)},
		})
		// A player who returns with the key is a new one.
		w.apply(link(2, 7, 80))
		w.equal("the new player", w.session(2).Key, key(7))
	}},
	{"what must exist", func(w *world) {
		w.refuses([]intent.Intent{&intent.UpdateBoard{Board: 9, FEN: startFEN, Version: 1, At: at(1)}}, 0)
		w.refuses([]intent.Intent{&intent.UpdateBoardAssignmentTime{Board: 9, At: at(1)}}, 0)
		w.refuses([]intent.Intent{link(9, 7, 1)}, 0)
		w.refuses([]intent.Intent{hold(9, 9, 1, 2)}, 0)
		w.refuses([]intent.Intent{move(9, 9, 1, true)}, 0)
		w.refuses([]intent.Intent{newSession(2), newBoard(3), move(3, 2, 1, true), move(3, 9, 2, true),
			move(9, 2, 1, true)}, 3, 4)
		w.refuses([]intent.Intent{newSession(2), newBoard(3), pay(3, 2), pay(3, 9), pay(9, 2)}, 3, 4)
		w.refuses([]intent.Intent{newBoard(3),
			&intent.RecordPrediction{ID: 5, Board: 3, Session: 9, UCI: "e2e4", Ply: 1, At: at(1)}}, 1)
		w.refuses([]intent.Intent{&intent.RecordGameResult{Board: 9, At: at(1)}}, 0)
		w.refuses([]intent.Intent{pay(9, 9)}, 0)
		w.refuses([]intent.Intent{&terms}, 0)
	}},
	{"terms whose text comes later, or was said before", func(w *world) {
		short := func(s wamble.SessionID) *intent.RecordTermsAcceptance {
			return &intent.RecordTermsAcceptance{Session: s, Profile: Profile, Hash: terms.Hash, At: at(5)}
		}
		w.apply(newSession(1), newSession(2), newSession(3), newSession(4), short(3))
		w.apply(short(2), &terms, short(4))
		w.apply(short(2))
		for s := wamble.SessionID(1); s <= 4; s++ {
			got, err := w.TermsAccepted(w.Context(), s, Profile, terms.Hash)
			w.must(err)
			w.equal(fmt.Sprint("session ", s), got, true)
		}
	}},
	{"what may be gone", func(w *world) {
		w.apply(&intent.UpdateSessionLastSeen{Session: 9, At: at(1)}, &intent.UnlinkSession{Session: 9, At: at(1)},
			&intent.RemoveReservation{Board: 9, At: at(1)}, &intent.ErasePlayer{Key: key(9), At: at(1)},
			&intent.ResolvePrediction{ID: 9, Session: 9, Status: wamble.Expired, At: at(1)},
			&intent.PurgeSessions{Before: at(1), At: at(1)})
		_, err := w.SessionByID(w.Context(), 9)
		w.notFound("session 9", err)
	}},
}
