package storetest

import (
	"context"
	"errors"
	"fmt"

	"wamble/internal/intent"
	"wamble/internal/store"

	"wamble"
)

// readCases test the results of reads and their order.
var readCases = []testCase{
	{"people by each way to name them", people},
	{"live boards in the order of creation", func(w *world) {
		const n = 150 // more than two pages
		var all []intent.Intent
		want := []wamble.BoardID{}
		for i := range wamble.BoardID(n) {
			// Ten boards share each time; later numbers are older.
			all = append(all, &intent.CreateBoard{Board: i + 1, FEN: startFEN, Status: wamble.Active, Variant: -1,
				At: at(-int(i / 10))})
		}
		w.apply(all...)
		w.apply(newSession(1), &intent.UpdateBoard{Board: 5, FEN: startFEN, Status: wamble.Archived, Version: 1,
			At: at(9)},
			move(141, 1, 1, true), move(141, 1, 2, false), move(7, 1, 1, true), hold(7, 1, 3, 9))
		beta := *w
		beta.profile, beta.cursor = "beta", 0
		beta.apply(newBoard(1000))
		for decade := (n - 1) / 10; decade >= 0; decade-- {
			for i := decade*10 + 1; i <= decade*10+10; i++ {
				if i != 5 {
					want = append(want, wamble.BoardID(i))
				}
			}
		}
		got := w.live(Profile)
		w.equal("boards", ids(got), fmt.Sprint(want))
		w.equal("moves of the first", got[0].Moves, w.board(141).Moves)
		w.equal("how many", len(got[0].Moves), 2)
		for _, b := range got {
			if b.ID == 7 {
				w.equal("holder", b.Holder,
					&wamble.Reservation{Board: 7, Profile: Profile, Session: 1, White: true, At: at(3), Expires: at(9)})
			}
		}
		w.equal("beta", ids(w.live("beta")), "[1000]")
		w.equal("nobody", ids(w.live("gamma")), "[]")
	}},
	{"boards travel between shards", func(w *world) {
		other := *w
		other.profile, other.cursor = store.ShardName(Profile, 1), 0
		w.apply(newSession(1), newBoard(3), newBoard(4))
		other.apply(newBoard(5))
		w.equal("of both", ids(w.liveAt(0))+ids(w.liveAt(1)), "[3 4][5]")
		w.apply(move(3, 1, 1, true), &intent.MoveBoard{Board: 3, Version: 5, From: 0, To: 1, At: at(2)})
		w.equal("sent", ids(w.liveAt(0))+ids(w.liveAt(1))+ids(w.arrivals(1)), "[4][3 5][3]")
		w.equal("its moves", len(w.arrivals(1)[0].Moves), 1)
		other.apply(&intent.ArriveBoard{Board: 3, Shard: 1, Version: 5, At: at(3)}, move(3, 1, 2, false),
			&intent.MoveBoard{Board: 3, Version: 7, From: 1, To: 0, At: at(4)})
		w.equal("back", ids(w.liveAt(0))+ids(w.liveAt(1))+ids(w.arrivals(0))+ids(w.arrivals(1)), "[3 4][5][3][]")
		w.apply(&intent.MoveBoard{Board: 3, Version: 5, From: 0, To: 1, At: at(2)}) // again, after that of the other shard
		w.equal("again", ids(w.liveAt(0))+ids(w.liveAt(1))+ids(w.arrivals(0))+ids(w.arrivals(1)), "[3 4][5][3][]")
		w.apply(&intent.ArriveBoard{Board: 3, Shard: 0, Version: 6, At: at(5)}) // of an earlier arrival
		w.equal("an earlier arrival", ids(w.arrivals(0)), "[3]")
		w.apply(&intent.ArriveBoard{Board: 3, Shard: 0, Version: 7, At: at(5)})
		w.equal("arrived", ids(w.arrivals(0)), "[]")
	}},
	{"a change of the number of shards", func(w *world) {
		other := *w
		other.profile, other.cursor = store.ShardName(Profile, 3), 0
		beta := *w
		beta.profile, beta.cursor = "beta", 0
		w.apply(newSession(1), newBoard(3), newBoard(4), &intent.UpdateBoard{Board: 3, FEN: startFEN,
			Status: wamble.Reserved, Version: 1, At: at(1)}, hold(3, 1, 1, 9))
		other.apply(newBoard(5))
		beta.apply(newBoard(6), &intent.UpdateBoard{Board: 6, FEN: startFEN, Status: wamble.Reserved, Version: 1,
			At: at(1)}, hold(6, 1, 1, 9))
		w.apply(&intent.MoveBoard{Board: 4, Version: 5, From: 0, To: 3, At: at(2)})
		n, err := w.Shards(w.Context(), Profile)
		w.must(err)
		w.equal("at first", n, 1)
		for _, n := range []int{4, 2} {
			w.must(w.SetShards(w.Context(), Profile, n))
			got, err := w.Shards(w.Context(), Profile)
			w.must(err)
			w.equal("shards", got, n)
		}
		w.equal("boards", ids(w.liveAt(0))+ids(w.liveAt(1))+ids(w.liveAt(3)), "[3][4 5][]")
		w.equal("arrivals", ids(w.arrivals(1))+ids(w.arrivals(3)), "[][]")
		w.equal("holders", []bool{w.board(3).Holder == nil, w.board(6).Holder == nil}, []bool{true, false})
		w.equal("status", []wamble.BoardStatus{w.board(3).Status, w.board(6).Status},
			[]wamble.BoardStatus{wamble.Dormant, wamble.Reserved})
	}},
	{"games by filter", func(w *world) {
		var all []intent.Intent
		for i := range wamble.BoardID(130) {
			all = append(all, newBoard(i+1))
		}
		w.apply(all...)
		w.apply(newSession(1), link(1, 7, 20),
			&intent.UpdateBoard{Board: 100, FEN: startFEN, Status: wamble.Archived, Version: 1, At: at(9)},
			move(99, 1, 5, true), &intent.RecordGameResult{Board: 100, Result: wamble.Draw, At: at(200)})
		beta := *w
		beta.profile, beta.cursor = "beta", 0
		beta.apply(newBoard(131))
		got := w.games(wamble.GameFilter{})
		w.equal("all", len(got), 131)
		w.equal("the handle of a move", got[98].Moves,
			[]wamble.Move{{Ply: 5, UCI: "e2e4", Session: 1, Player: 700, Handle: "h_0007", Rating: 1200, At: at(105)}})
		w.equal("after", ids(w.games(wamble.GameFilter{After: 129})), "[130 131]")
		w.equal("profile", ids(w.games(wamble.GameFilter{Profile: "beta"})), "[131]")
		w.equal("finished", ids(w.games(wamble.GameFilter{Finished: true})), "[100]")
		w.equal("since a move", ids(w.games(wamble.GameFilter{Since: at(105)})), "[99 100]")
		w.equal("since a result", ids(w.games(wamble.GameFilter{Since: at(106)})), "[100]")
		w.equal("since then nothing", ids(w.games(wamble.GameFilter{Since: at(201)})), "[]")
		for b, err := range w.Games(w.Context(), wamble.GameFilter{}) {
			w.must(err)
			if b.ID == 3 {
				break // ends the iteration early
			}
		}
	}},
	{"the past", past},
	{"the newest session of a handle", func(w *world) {
		w.apply(newSession(1), newSession(2), newSession(3), link(1, 7, 20), link(2, 7, 20),
			&intent.UpdateSessionLastSeen{Session: 1, At: at(60)})
		s, err := w.SessionByHandle(w.Context(), "h_0007")
		w.must(err)
		w.equal("session", s.ID, wamble.SessionID(1))
		w.apply(&intent.UnlinkSession{Session: 1, At: at(70)}, &intent.UnlinkSession{Session: 2, At: at(70)})
		s, err = w.SessionByHandle(w.Context(), "h_0007")
		w.must(err)
		w.equal("an identity without a session", s, wamble.Session{Player: 700, Key: key(7), Handle: "h_0007"})
	}},
	{"the sessions of an identity", func(w *world) {
		w.apply(newSession(1), newSession(2), newSession(3), newSession(4), link(1, 7, 20), link(2, 7, 20),
			link(3, 8, 20), link(4, 7, 20),
			&intent.UpdateSessionLastSeen{Session: 1, At: at(60)})
		for most, want := range map[int]string{1: "[1]", 2: "[1 4]", 1000: "[1 4 2]"} {
			got, err := w.Sessions(w.Context(), key(7), most)
			w.must(err)
			var ids []wamble.SessionID
			for _, s := range got {
				ids = append(ids, s.ID)
				w.equal("session", s, w.session(s.ID))
			}
			w.equal("sessions", fmt.Sprint(ids), want)
		}
		none, err := w.Sessions(w.Context(), key(9), 5)
		w.must(err)
		w.equal("of nobody", len(none), 0)
		for _, most := range []int{0, 1001} {
			if _, err := w.Sessions(w.Context(), key(7), most); err == nil {
				w.Errorf("%d sessions are read", most)
			}
		}
	}},
	{"reservations by expiry", func(w *world) {
		w.apply(newSession(1), newSession(2), newSession(3), link(1, 7, 5), link(2, 7, 5), link(3, 8, 5), newBoard(3),
			newBoard(4), newBoard(5), newBoard(6), newBoard(7),
			hold(3, 1, 10, 90), hold(4, 2, 10, 80), hold(5, 1, 10, 80), hold(6, 1, 10, 70), hold(7, 3, 10, 80))
		got, err := w.Reservations(w.Context(), key(7), at(70))
		w.must(err)
		var boards []wamble.BoardID
		for _, r := range got {
			boards = append(boards, r.Board)
		}
		w.equal("boards", fmt.Sprint(boards), "[4 5 3]")
	}},
	{"predictions with their ancestors", func(w *world) {
		p := func(id, parent wamble.PredictionID, ply int) intent.Intent {
			return &intent.RecordPrediction{ID: id, Board: 3, Session: 1, Parent: parent, UCI: "e2e4", Ply: ply,
				At: at(int(id))}
		}
		done := func(id wamble.PredictionID) intent.Intent {
			return &intent.ResolvePrediction{ID: id, Session: 1, Status: wamble.Correct, At: at(50)}
		}
		w.apply(newSession(1), newBoard(3), newBoard(4), p(30, 0, 1), p(20, 30, 2), p(10, 20, 3), p(40, 0, 1),
			p(41, 40, 2), p(50, 0, 1),
			&intent.RecordPrediction{ID: 60, Board: 4, Session: 1, UCI: "e2e4", Ply: 1, At: at(1)}, done(30), done(20),
			done(40), done(41))
		got, err := w.Predictions(w.Context(), 3)
		w.must(err)
		var text []string
		for _, p := range got {
			text = append(text, fmt.Sprintf("%d<%d at %d", p.ID, p.Parent, p.Depth))
		}
		w.equal("tree", fmt.Sprint(text), "[30<0 at 0 50<0 at 0 20<30 at 1 10<20 at 2]")
		got, err = w.Predictions(w.Context(), 4, 9, 3)
		w.must(err)
		w.equal("predictions of two boards and one that is not there", len(got), 5)
		got, err = w.Predictions(w.Context())
		w.must(err)
		w.equal("predictions of no board", len(got), 0)
	}},
	{"what is not there", func(w *world) {
		_, err := w.Session(w.Context(), token(9))
		w.notFound("token", err)
		_, err = w.Session(w.Context(), wamble.Token{})
		w.notFound("no token", err)
		_, err = w.SessionByID(w.Context(), 9)
		w.notFound("session", err)
		_, err = w.SessionByHandle(w.Context(), "h_none")
		w.notFound("handle", err)
		_, err = w.Player(w.Context(), key(9))
		w.notFound("player", err)
		_, err = w.Board(w.Context(), 9)
		w.notFound("board", err)
	}},
	{"a canceled read says so", func(w *world) {
		ctx, cancel := context.WithCancel(w.Context())
		cancel()
		_, err := w.Session(ctx, token(1))
		if !errors.Is(err, context.Canceled) || !errors.Is(err, store.ErrTransient) {
			w.Errorf("session: got %v, want a transient error that is context.Canceled", err)
		}
		for _, err := range w.Games(ctx, wamble.GameFilter{}) {
			if !errors.Is(err, context.Canceled) {
				w.Errorf("games: got %v, want context.Canceled", err)
			}
		}
	}},
	{"leaderboard", leaderboard},
	{"the leaderboard of bots", leaderboardOfBots},
	{"scores", scores},
	{"trails", trails},
}

func leaderboard(w *world) {
	// Session: score, rating. 1: 5, –. 2: 9, 1200. 3: 5, 1300. 4: 5, 1200. 5: 5, 1200. 6: 0, –.
	w.apply(newSession(1), newSession(2), newSession(3), newSession(4), newSession(5), newSession(6),
		link(2, 2, 9), link(3, 3, 9), link(4, 4, 9), link(5, 5, 9), newBoard(1), newBoard(2))
	pay := func(b wamble.BoardID, s wamble.SessionID, p float64) intent.Intent {
		return &intent.RecordPayout{Board: b, Session: s, Points: p, Canonical: p, At: at(50)}
	}
	w.apply(pay(1, 1, 5), pay(1, 2, 4.5), pay(2, 2, 4.5), pay(1, 3, 5), pay(1, 4, 5), pay(1, 5, 5),
		&intent.RecordRating{Board: 1, Key: key(3), Delta: 100, At: at(50)})
	for _, q := range []struct {
		name string
		q    wamble.LeaderboardQuery
		want string // rank:session …
		self string
	}{
		{"by score", wamble.LeaderboardQuery{Limit: 16}, "[1:2 2:3 3:4 4:5 5:1 6:6]", "nobody"},
		{"by rating", wamble.LeaderboardQuery{Limit: 16, ByRating: true, Self: 4}, "[1:3 2:2 3:4 4:5 5:1 6:6]", "3:4"},
		{"a page", wamble.LeaderboardQuery{Limit: 2, Offset: 2, Self: 6}, "[3:4 4:5]", "6:6"},
		{"past the end", wamble.LeaderboardQuery{Limit: 5, Offset: 9, Self: 1}, "[]", "5:1"},
		{"an unknown asker", wamble.LeaderboardQuery{Limit: 1, Self: 99}, "[1:2]", "nobody"},
	} {
		got, err := w.Leaderboard(w.Context(), q.q)
		w.must(err)
		text, self := []string{}, "nobody"
		for _, r := range got.Rows {
			text = append(text, fmt.Sprintf("%d:%d", r.Rank, r.Session))
		}
		if got.Self != nil {
			self = fmt.Sprintf("%d:%d", got.Self.Rank, got.Self.Session)
		}
		w.equal(q.name, fmt.Sprint(text), q.want)
		w.equal(q.name+", self", self, q.self)
		w.equal(q.name+", total", got.Total, 6)
	}
	ranks := func(name string, q wamble.LeaderboardQuery, want string) {
		got, err := w.Leaderboard(w.Context(), q)
		w.must(err)
		text := fmt.Sprintf("%d:", got.Total)
		for _, r := range append(got.Rows, unknown(got.Self)) {
			text += fmt.Sprintf(" %d=%g", r.Session, r.Stats.Score)
		}
		w.equal(name, text, want)
	}
	month := at(50).Year()*100 + int(at(50).Month())
	ranks("a season", wamble.LeaderboardQuery{Season: month, Limit: 2, Self: 3}, "5: 2=9 1=5 3=5")
	ranks("a season without a game", wamble.LeaderboardQuery{Season: month + 100, Limit: 2, Self: 3}, "0: 0=0")
	page, err := w.Leaderboard(w.Context(), wamble.LeaderboardQuery{Season: month, Limit: 16})
	w.must(err)
	teams := [2]float64{}
	for _, row := range page.Rows {
		if wamble.PlaysForBlack(row.Who, month) {
			teams[1] += row.Stats.Score
		} else {
			teams[0] += row.Stats.Score
		}
	}
	w.equal("teams", page.Teams, teams)
	w.equal("teams of all", page.Teams[0] > 0 && page.Teams[1] > 0 && page.Teams[0]+page.Teams[1] == 29, true)
	page, err = w.Leaderboard(w.Context(), wamble.LeaderboardQuery{Limit: 1})
	w.must(err)
	w.equal("row", page.Rows[0], wamble.LeaderboardRow{Rank: 1, Who: 200, Session: 2, Key: key(2), Handle: "h_0002",
		Stats: wamble.Stats{Score: 9, Rating: 1200}})
	// A second session of a player is in the same row, with its score; when it is unlinked, it
	// is a row of its own.
	w.apply(newSession(7), newBoard(3), pay(3, 7, 2),
		&intent.RecordPayout{Board: 2, Session: 7, Points: 1, Canonical: 1, At: at(-40 * 86400)})
	w.apply(link(7, 2, 60))
	ranks("two sessions", wamble.LeaderboardQuery{Limit: 2, Self: 7}, "6: 7=12 3=5 7=12")
	ranks("two sessions in a season", wamble.LeaderboardQuery{Season: month, Limit: 1, Self: 2}, "5: 7=11 2=11")
	w.apply(&intent.UnlinkSession{Session: 7, At: at(70)})
	ranks("one session again", wamble.LeaderboardQuery{Limit: 1, Self: 7}, "7: 2=9 7=3")
	w.apply(&intent.ErasePlayer{Key: key(2), At: at(80)})
	ranks("nobody is left", wamble.LeaderboardQuery{Season: month, Limit: 1, Self: 2}, "4: 1=5 0=0")
	// Payouts of two months, to both sessions of a player and to a guest, in one batch.
	earlier := at(-40 * 86400)
	old := func(b wamble.BoardID, s wamble.SessionID, p float64) intent.Intent {
		return &intent.RecordPayout{Board: b, Session: s, Points: p, Canonical: p, At: earlier}
	}
	w.apply(newSession(8), newSession(9), newSession(10), link(8, 8, 90), link(9, 8, 90), newBoard(4), newBoard(5))
	w.apply(old(4, 8, 0.25), pay(5, 8, 6), old(4, 9, 0.5), pay(5, 9, 1), old(4, 10, 8), pay(5, 10, 2))
	ranks("a batch of two months", wamble.LeaderboardQuery{Season: month, Limit: 1, Self: 10}, "6: 9=7 10=2")
	ranks("the month before",
		wamble.LeaderboardQuery{Season: earlier.Year()*100 + int(earlier.Month()), Limit: 1, Self: 8}, "2: 10=8 8=0.75")
	w.apply(pay(5, 8, 6), pay(5, 9, 1), pay(3, 10, 6))
	ranks("a batch of which two rows were there before", wamble.LeaderboardQuery{Season: month, Limit: 1, Self: 8},
		"6: 10=8 8=7")
	for _, q := range []wamble.LeaderboardQuery{{Limit: 0}, {Limit: 17}, {Limit: 1, Offset: -1},
		{Limit: 1, Season: -1}} {
		if _, err := w.Leaderboard(w.Context(), q); err == nil || errors.Is(err, store.ErrTransient) {
			w.Errorf("%+v: got %v, want a permanent error", q, err)
		}
	}
}

// leaderboardOfBots ranks bots separately, whether they are guests or have an identity, and
// whichever came first; people are ranked without bots.
func leaderboardOfBots(w *world) {
	for id := wamble.SessionID(1); id <= 8; id++ {
		w.apply(newSession(id), newBoard(wamble.BoardID(id)))
		w.apply(&intent.RecordPayout{Board: wamble.BoardID(id), Session: id, Points: float64(id),
			Canonical: float64(id), At: at(50)})
	}
	mark := func(id wamble.SessionID) intent.Intent { return &intent.MarkBot{Session: id, At: at(60)} }
	// 1, 2 are guests; 3 and 4 people with an identity. 5 and 6 are guests that are bots; 7 and
	// 8 bots with an identity: one was linked after it was marked, the other before.
	w.apply(link(3, 3, 52), link(4, 4, 52), link(8, 8, 52))
	w.apply(mark(5), mark(6), mark(7), mark(8))
	w.apply(link(7, 7, 62))
	month := wamble.SeasonOf(at(50))
	for _, q := range []struct {
		name string
		q    wamble.LeaderboardQuery
		want string // total; rank:session …; self
	}{
		{"people", wamble.LeaderboardQuery{Limit: 16, Self: 2}, "4 [1:4 2:3 3:2 4:1] 3:2"},
		{"people by rating", wamble.LeaderboardQuery{Limit: 16, ByRating: true, Self: 3}, "4 [1:4 2:3 3:2 4:1] 2:3"},
		{"people of a season", wamble.LeaderboardQuery{Limit: 16, Season: month, Self: 1}, "4 [1:4 2:3 3:2 4:1] 4:1"},
		{"a page of people", wamble.LeaderboardQuery{Limit: 2, Offset: 1, Self: 8}, "4 [2:3 3:2] 0:8"},
		{"bots", wamble.LeaderboardQuery{Limit: 16, Bots: true, Self: 6}, "4 [1:8 2:7 3:6 4:5] 3:6"},
		{"bots by rating", wamble.LeaderboardQuery{Limit: 16, Bots: true, ByRating: true, Self: 7}, "4 [1:8 2:7 3:6 4:5] 2:7"},
		{"bots of a season", wamble.LeaderboardQuery{Limit: 16, Bots: true, Season: month, Self: 5}, "4 [1:8 2:7 3:6 4:5] 4:5"},
		{"a person asks for bots", wamble.LeaderboardQuery{Limit: 1, Bots: true, Self: 3}, "4 [1:8] 0:3"},
		{"a person asks for bots of a season", wamble.LeaderboardQuery{Limit: 1, Bots: true, Season: month, Self: 3}, "4 [1:8] 0:3"},
		{"a bot asks for people of a season", wamble.LeaderboardQuery{Limit: 1, Season: month, Self: 7}, "4 [1:4] 0:7"},
	} {
		got, err := w.Leaderboard(w.Context(), q.q)
		w.must(err)
		rows := []string{}
		for _, r := range got.Rows {
			rows = append(rows, fmt.Sprintf("%d:%d", r.Rank, r.Session))
		}
		w.equal(q.name, fmt.Sprintf("%d %v %d:%d", got.Total, rows, unknown(got.Self).Rank, unknown(got.Self).Session),
			q.want)
		if points := got.Teams[0] + got.Teams[1]; q.q.Season != 0 && !q.q.Bots && points != 10 {
			w.Errorf("%s: the teams have %v points, want 10", q.name, points)
		}
	}
	marked := []bool{}
	for i, id := range []wamble.SessionID{1, 3, 5, 7} {
		w.apply(move(1, id, i+1, true))
	}
	for _, m := range w.board(1).Moves {
		marked = append(marked, m.Bot)
	}
	w.equal("which moves are a bot's", marked, []bool{false, false, true, true})
	// An identity stays a bot when its session is unlinked, and so does the session.
	w.apply(&intent.UnlinkSession{Session: 7, At: at(70)})
	w.equal("a bot's session without its identity", w.session(7).Bot, true)
	got, err := w.Leaderboard(w.Context(), wamble.LeaderboardQuery{Limit: 16, Bots: true})
	w.must(err)
	w.equal("bots with an empty identity", got.Total, 5)
}

// unknown returns the row, or an empty one if it is nil.
func unknown(row *wamble.LeaderboardRow) wamble.LeaderboardRow {
	if row == nil {
		return wamble.LeaderboardRow{}
	}
	return *row
}
