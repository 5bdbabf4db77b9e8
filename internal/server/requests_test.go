package server

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"slices"
	"strings"
	"testing"

	"wamble"
	"wamble/client"
	"wamble/wire"
)

// pair is two players of one profile, in different places if there are several.
type pair struct {
	t         *testing.T
	ctx       context.Context
	d         *deployment
	me, other *player
	key       ed25519.PrivateKey
	predicted uint64
	on        wamble.BoardID // where it was predicted
}

func newPair(t *testing.T, tp *topology) *pair {
	d := tp.deploy(t, false, `(def prediction-mode "streak") (def tos-text "be kind")`)
	w := &pair{t: t, ctx: d.ctx, d: d, me: d.join(0), other: d.join(1)}
	for _, p := range []*player{w.me, w.other} {
		if _, err := p.c.AcceptTerms(w.ctx, ""); err != nil {
			t.Fatal(err)
		}
	}
	_, w.key, _ = ed25519.GenerateKey(nil)
	return w
}

// said returns an answer, or its error, as text.
func said(answer any, err error) string {
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%+v", answer)
}

// fresh connects a new player, whom no other player has met.
func (w *pair) fresh() *client.Client {
	w.t.Helper()
	p := join(w.t, w.d.address(0), wamble.Token{})
	if _, err := p.c.AcceptTerms(w.ctx, ""); err != nil {
		w.t.Fatal(err)
	}
	return p.c
}

// everyRequest has requests for each control code, in order: no answer may depend on the shard
// of a player or board.
var everyRequest = []struct {
	ctrl wire.Control
	name string
	ask  func(w *pair) string
}{
	{wire.CtrlClientHello, "", func(w *pair) string {
		s, err := w.me.c.Hello(w.ctx)
		return said(s.Board.ID == w.me.c.Board().ID && s.Board.ID != 0, err)
	}},
	{wire.CtrlListProfiles, "", func(w *pair) string { return said(w.me.c.Profiles(w.ctx)) }},
	{wire.CtrlGetProfileInfo, "", func(w *pair) string {
		p, err := join(w.t, w.d.address(0), wamble.Token{}).c.Profile(w.ctx, "default")
		p.Port, p.WebSocketPort = 0, 0
		return said(p, err)
	}},
	{wire.CtrlGetProfileTOS, "", func(w *pair) string { return said(w.me.c.Terms(w.ctx, "default")) }},
	{wire.CtrlAcceptProfileTOS, "", func(w *pair) string {
		p, err := w.me.c.AcceptTerms(w.ctx, "default")
		return said(p.TermsAccepted, err)
	}},
	{wire.CtrlSpectateGame, "the board of another player", func(w *pair) string {
		on := w.other.c.Board().ID
		watch, err := w.fresh().Spectate(w.ctx, client.View{Board: on})
		if err != nil {
			return err.Error()
		}
		u, err := watch.Next(w.ctx)
		if err != nil || u.Board.ID != on {
			return said(u, err)
		}
		play(w.t, w.ctx, w.other.c)
		for moved := u; moved.Board.LastMove == nil; {
			if moved, err = watch.Next(w.ctx); err != nil {
				return err.Error()
			}
		}
		return u.State + ", and then a move"
	}},
	{wire.CtrlSpectateGame, "no board", func(w *pair) string {
		_, err := w.fresh().Spectate(w.ctx, client.View{Board: 1 << 40})
		return said("", err)
	}},
	{wire.CtrlSpectateStop, "", func(w *pair) string {
		watch, err := w.me.c.Spectate(w.ctx, client.View{})
		if err != nil {
			return err.Error()
		}
		return said("", watch.Stop(w.ctx))
	}},
	{wire.CtrlGetLegalMoves, "to predict", func(w *pair) string {
		return said(w.me.c.PredictableMoves(w.ctx, w.other.c.Board().ID, 12))
	}},
	{wire.CtrlGetLegalMoves, "somebody else's board", func(w *pair) string {
		return said(w.me.c.LegalMoves(w.ctx, w.other.c.Board().ID, 12))
	}},
	{wire.CtrlGetLegalMoves, "no board", func(w *pair) string { return said(w.me.c.PredictableMoves(w.ctx, 1<<40, 12)) }},
	{wire.CtrlSubmitPrediction, "", func(w *pair) string {
		got, err := w.me.c.Predict(w.ctx, w.other.c.Board().ID, "e2e4", 0)
		if err != nil || got.Prediction == nil {
			return said(got, err)
		}
		w.predicted, w.on = got.Prediction.ID, w.other.c.Board().ID
		return fmt.Sprint(got.Status, got.Prediction.UCI, got.Prediction.Author == w.me.c.Token(),
			got.Prediction.TargetPly)
	}},
	{wire.CtrlSubmitPrediction, "again", func(w *pair) string {
		got, err := w.me.c.Predict(w.ctx, w.other.c.Board().ID, "d2d4", 0)
		return said(got.Status, err) + fmt.Sprint(got.Prediction != nil && got.Prediction.ID == w.predicted)
	}},
	{wire.CtrlSubmitPrediction, "what follows", func(w *pair) string {
		got, err := w.me.c.Predict(w.ctx, w.other.c.Board().ID, "e7e5", w.predicted)
		return said(got.Status, err)
	}},
	{wire.CtrlSubmitPrediction, "no move", func(w *pair) string {
		got, err := w.me.c.Predict(w.ctx, w.other.c.Board().ID, "e2e5", 0)
		return said(got.Status, err)
	}},
	{wire.CtrlSubmitPrediction, "no board", func(w *pair) string {
		got, err := w.me.c.Predict(w.ctx, 1<<40, "e2e4", 0)
		return said(got.Status, err)
	}},
	{wire.CtrlGetPredictions, "before the move", (*pair).tree},
	{wire.CtrlPlayerMove, "", func(w *pair) string {
		before := w.other.c.Board().ID
		next, err := w.other.c.Play(w.ctx, "e2e4")
		return said(next.ID != before, err) + said(w.me.c.Play(w.ctx, "e2e5"))
	}},
	{wire.CtrlGetPredictions, "after the move", (*pair).tree},
	{wire.CtrlPlayerMove, "on somebody else's board", func(w *pair) string {
		var denied string
		until(w.t, "the store has the board", func() bool {
			denied = said(w.me.c.PlayOn(w.ctx, w.other.c.Board().ID, "e2e4"))
			return !strings.Contains(denied, "unknown board")
		})
		return denied
	}},
	{wire.CtrlLoginRequest, "", func(w *pair) string {
		a, err := w.me.c.Login(w.ctx, w.key)
		b, err2 := w.other.c.Login(w.ctx, w.key)
		return said(a.ID == w.me.c.Board().ID, err) + said(b.ID == w.other.c.Board().ID, err2)
	}},
	{wire.CtrlSetName, "", func(w *pair) string {
		s, err := w.me.c.SetName(w.ctx, "Anna")
		s.Session, s.Games = 0, 0 // the store counts
		return said(s, err)
	}},
	{wire.CtrlGetSessions, "", func(w *pair) string {
		list, err := w.me.c.Sessions(w.ctx)
		if err != nil || len(list) == 0 {
			return said(list, err)
		}
		return fmt.Sprint(len(list), list[0].Own)
	}},
	{wire.CtrlGetPlayerStats, "of an identity, by session", func(w *pair) string {
		list, err := w.me.c.Sessions(w.ctx)
		if err != nil || len(list) < 2 {
			return said(list, err)
		}
		var s client.Stats
		until(w.t, "the store knows the games and the name", func() bool {
			s, err = w.me.c.Stats(w.ctx, client.StatsOf{Session: int64(list[1].ID)})
			return err != nil || s.Games == 2 && s.Handle == "Anna"
		})
		s.Session -= int64(list[1].ID)
		return said(s, err)
	}},
	{wire.CtrlGetPlayerStats, "of a newcomer", func(w *pair) string {
		who := w.fresh()
		play(w.t, w.ctx, who)
		list, err := who.Sessions(w.ctx)
		if err != nil {
			return err.Error()
		}
		var s client.Stats
		until(w.t, "the store knows the game", func() bool {
			s, err = w.me.c.Stats(w.ctx, client.StatsOf{Session: int64(list[0].ID)})
			return err != nil || s.Games == 1
		})
		s.Session = 0
		return said(s, err)
	}},
	{wire.CtrlGetPlayerStats, "by name", func(w *pair) string {
		who := w.fresh()
		var s client.Stats
		until(w.t, "the store knows the name", func() (ok bool) {
			var err error
			s, err = who.Stats(w.ctx, client.StatsOf{Handle: "Anna"})
			return err == nil && s.Games == 2
		})
		s.Session = 0
		return said(s, nil)
	}},
	{wire.CtrlGetActiveReservations, "", func(w *pair) string {
		var boards []wamble.BoardID
		until(w.t, "the store knows who holds boards", func() bool {
			list, err := w.me.c.Reservations(w.ctx)
			if err != nil {
				w.t.Fatal(err)
			}
			boards = nil
			for _, r := range list {
				boards = append(boards, r.Board)
			}
			return len(boards) >= 2
		})
		slices.Sort(boards)
		want := []wamble.BoardID{w.me.c.Board().ID, w.other.c.Board().ID}
		slices.Sort(want)
		return fmt.Sprint(slices.Equal(boards, want))
	}},
	{wire.CtrlGetLeaderboard, "", func(w *pair) string {
		var found []client.Rank
		size := 4
		until(w.t, "the store knows who is ranked", func() bool {
			size = size%12 + 4 // a page is kept for a while
			page, err := w.me.c.Leaderboard(w.ctx, client.LeaderboardPage{Size: size})
			if err != nil {
				w.t.Fatal(err)
			}
			found = slices.DeleteFunc(page.Rows, func(r client.Rank) bool { return r.Handle != "Anna" || r.Games != 2 })
			return len(found) == 1
		})
		return fmt.Sprintf("%v %v %v", found[0].Score, found[0].Rating, found[0].HasIdentity)
	}},
	{wire.CtrlRevokeSessions, "", func(w *pair) string {
		list, err := w.me.c.Revoke(w.ctx, 0)
		if err != nil {
			return err.Error()
		}
		before := w.other.c.Token()
		w.other.c.Close()
		return fmt.Sprint(len(list), join(w.t, w.d.address(0), before).c.Token() != before)
	}},
	{wire.CtrlLogout, "", func(w *pair) string {
		before := w.me.c.Token()
		s, err := w.me.c.Logout(w.ctx)
		return said(s.Token != before, err)
	}},
	{wire.CtrlClientGoodbye, "", func(w *pair) string { return said("", w.fresh().Goodbye(w.ctx)) }},
}

// tree returns the predictions of the board on which me has predicted, as other reads them.
func (w *pair) tree() string {
	rows, err := w.me.c.Predictions(w.ctx, w.on, 0, 0)
	text := ""
	for _, r := range rows {
		text += fmt.Sprint(r.UCI, r.Status, r.Points, r.Depth, r.Author == w.me.c.Token(), "; ")
	}
	return said(text, err)
}

// TestShardsAnswer: every request is answered with four shards as with one, also about
// boards and players of other shards. Machines answer some when the database has what another
// machine did.
func TestShardsAnswer(t *testing.T) {
	t.Parallel()
	one, four := newPair(t, oneLoop), newPair(t, fourShards)
	asked := map[wire.Control]bool{}
	for _, r := range everyRequest {
		asked[r.ctrl] = true
		if got, want := r.ask(four), r.ask(one); got != want {
			t.Errorf("%v %s: with four shards\n%s\nwith one\n%s", r.ctrl, r.name, got, want)
		} else {
			t.Logf("%v %s: %s", r.ctrl, r.name, got)
		}
	}
	for _, c := range wire.Controls() {
		if c.Request() && !asked[c] {
			t.Errorf("%v is not asked", c)
		}
	}
}
