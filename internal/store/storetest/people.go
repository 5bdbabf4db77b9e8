package storetest

import (
	"fmt"
	"strings"

	"wamble"
	"wamble/internal/intent"
)

// people finds everyone by each criterion, the last seen first, and no more than the limit. A
// guest's session can be revoked without a key.
func people(w *world) {
	w.apply(newSession(1), newSession(2), newSession(3), newSession(4), link(1, 7, 20), link(2, 7, 21), link(3, 8, 22),
		newBoard(3), newBoard(4))
	w.apply(&intent.SetName{Key: key(7), Name: "Ann_1", At: at(30)},
		&intent.SetName{Key: key(8), Name: "Joanna", At: at(30)},
		move(3, 1, 1, true), move(3, 4, 2, true), hold(3, 3, 30, 90), hold(4, 4, 30, 90), pay(3, 2),
		&intent.UpdateSessionLastSeen{Session: 2, At: at(70)}, &intent.UpdateSessionLastSeen{Session: 4, At: at(80)})
	ann := wamble.Person{Player: 700, Session: 2, Key: key(7), Handle: "Ann_1", Score: 1, Rating: 1200, Games: 1,
		Created: at(20), Seen: at(70)}
	jo := wamble.Person{Player: 800, Session: 3, Key: key(8), Handle: "Joanna", Rating: 1200, Created: at(22),
		Seen: at(3)}
	guest := wamble.Person{Session: 4, Games: 1, Created: at(4), Seen: at(80)}
	hash := func(id byte) *[2]wamble.TokenHash { return &[2]wamble.TokenHash{token(id).Hash(), token(id).Hash()} }
	for _, c := range []struct {
		name string
		q    wamble.PeopleQuery
		want []wamble.Person
	}{
		{"part of a name", wamble.PeopleQuery{Name: "ANN", Limit: 9}, []wamble.Person{ann, jo}},
		{"the first", wamble.PeopleQuery{Name: "ann", Limit: 1}, []wamble.Person{ann}},
		{"a whole name", wamble.PeopleQuery{Name: "ann_1", Limit: 9}, []wamble.Person{ann}},
		{"no pattern", wamble.PeopleQuery{Name: "a__", Limit: 9}, nil},
		{"a key", wamble.PeopleQuery{Key: &[2]wamble.PublicKey{key(8), key(8)}, Limit: 9}, []wamble.Person{jo}},
		{"the beginning of keys", wamble.PeopleQuery{Key: &[2]wamble.PublicKey{{}, {0: 0x0f, 1: 0xff}}, Limit: 9}, []wamble.Person{ann, jo}},
		{"the token of a player", wamble.PeopleQuery{Token: hash(1), Limit: 9}, []wamble.Person{ann}},
		{"the token of a guest", wamble.PeopleQuery{Token: hash(4), Limit: 9}, []wamble.Person{guest}},
		{"sessions", wamble.PeopleQuery{Sessions: []wamble.SessionID{1, 2, 4, 99}, Limit: 9}, []wamble.Person{guest, ann}},
		{"no session", wamble.PeopleQuery{Limit: 9}, nil},
		{"a board", wamble.PeopleQuery{Board: 3, Limit: 9}, []wamble.Person{guest, ann, jo}},
		{"another board", wamble.PeopleQuery{Board: 4, Limit: 9}, []wamble.Person{guest}},
	} {
		got, err := w.People(w.Context(), c.q)
		w.must(err)
		w.equal(c.name, describe(got), describe(c.want))
	}
	for _, q := range []wamble.PeopleQuery{{Name: "a"}, {Name: "a", Limit: 1001}} {
		if _, err := w.People(w.Context(), q); err == nil {
			w.Errorf("%+v: no error", q)
		}
	}
	w.apply(&intent.RevokeSessions{Session: 3, At: at(99)}, &intent.RevokeSessions{Session: 9, At: at(99)},
		&intent.RevokeSessions{Key: key(99), Others: true, At: at(99)})
	w.equal("the token of a player's session, revoked as that of a guest", w.session(3).Token, token(3).Hash())
	w.equal("the token of a guest", w.session(4).Token, token(4).Hash())
	w.apply(&intent.RevokeSessions{Session: 4, At: at(99)})
	w.equal("the token of a guest that was revoked", w.session(4).Token, wamble.TokenHash{})
	w.apply(&prediction, &intent.RecordPrediction{ID: 12, Board: 3, Session: 2, UCI: "g1f3", Ply: 3, At: at(42)},
		&intent.RecordPrediction{ID: 13, Board: 3, Session: 3, UCI: "g1f3", Ply: 3, At: at(42)})
	got, err := w.PredictionsOf(w.Context(), key(7), 0, 1)
	w.must(err)
	more, err := w.PredictionsOf(w.Context(), key(7), 11, 9)
	w.must(err)
	if len(got) != 1 || got[0].ID != 11 || len(more) != 1 || more[0].ID != 12 {
		w.Errorf("predictions: got %+v, then %+v", got, more)
	}
}

// describe returns a line for each person.
func describe(all []wamble.Person) string {
	var lines []string
	for _, p := range all {
		lines = append(lines, fmt.Sprintf("%+v", p))
	}
	return strings.Join(lines, "\n")
}

// mergeCase merges two players: one remains, with the sessions, points, games and ratings of
// both; the key of the other one leads to them.
var mergeCase = intentCase{
	before: []intent.Intent{newSession(1), newSession(2), newSession(4), newSession(5), link(1, 7, 20), link(2, 8, 20),
		link(4, 7, 20), link(5, 9, 20), newBoard(3), newBoard(4),
		move(3, 1, 1, true), move(3, 2, 2, true), move(4, 4, 1, true), move(4, 5, 2, true), pay(3, 1), pay(3, 2),
		pay(4, 4), pay(4, 5),
		&intent.RecordRating{Board: 3, Key: key(7), Delta: 10, At: at(50)}, &intent.RecordRating{Board: 3, Key: key(8),
			Delta: -20, At: at(50)}, &intent.RecordRating{Board: 4, Key: key(7), Delta: 20, At: at(50)},
		&intent.SetName{Key: key(7), Name: "Ann", At: at(55)},
		&intent.RecordPrediction{ID: 12, Board: 3, Session: 1, UCI: "g1f3", Ply: 3, At: at(42)}},
	intent: &intent.MergePlayers{From: key(7), Into: key(8), At: at(60)},
	check: func(w *world) {
		want := wamble.Player{ID: 800, Key: key(8), Handle: "h_0008", Created: at(20),
			Stats: wamble.Stats{Score: 3, Games: 3, Rating: 1213.3333}}
		w.equal("who stays", w.player(key(8)), want)
		w.equal("the other key", w.player(key(7)), want)
		keys, err := w.MergedKeys(w.Context(), key(8))
		w.must(err)
		w.equal("their keys", keys, []wamble.PublicKey{key(7)})
		names, err := w.FormerNames(w.Context(), key(8))
		w.must(err)
		w.equal("their names", names,
			[]wamble.FormerName{{Name: "Ann", Until: at(60)}, {Name: "h_0007", Until: at(55)}})
		for _, id := range []wamble.SessionID{1, 2, 4} {
			s := w.session(id)
			w.equal("a session", fmt.Sprintf("%v %v %v %v", s.Key == key(8), s.Handle, s.Stats.Rating,
				s.Token.IsZero()), "true h_0008 1213.3333 false")
		}
		w.equal("somebody else", w.session(5).Key, key(9))
		_, err = w.SessionByHandle(w.Context(), "Ann")
		w.notFound("the other name", err)
		scores, err := w.Scores(w.Context(), wamble.ScoreQuery{Player: 800, Limit: 9})
		w.must(err)
		w.equal("scores", scores, []wamble.Score{{Board: 4, Points: 1, Rating: 20, At: at(100)},
			{Board: 3, Points: 2, Rating: -10, At: at(100)}})
		ranks, err := w.Leaderboard(w.Context(), wamble.LeaderboardQuery{Limit: 9, Self: 1})
		w.must(err)
		w.equal("ranks", fmt.Sprint(ranks.Total, ranks.Self.Rank, ranks.Self.Stats.Score), "2 1 3")
		season, err := w.Leaderboard(w.Context(), wamble.LeaderboardQuery{Limit: 9, Season: 202603})
		w.must(err)
		w.equal("the season", fmt.Sprint(season.Total, season.Rows[0].Stats.Score), "2 3")
		predicted, err := w.PredictionsOf(w.Context(), key(8), 0, 9)
		w.must(err)
		w.equal("predictions", len(predicted), 1)
	},
}
