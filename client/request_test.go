package client_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/client"
	"wamble/client/clienttest"
	"wamble/wire"
)

func TestLegalMoves(t *testing.T) {
	moves := []wire.LegalMove{{From: 12, To: 20}, {From: 12, To: 28}}
	overBoth(t, func() []*clienttest.Step {
		return []*clienttest.Step{
			clienttest.Expect(wire.CtrlGetLegalMoves).Answer(1, wire.LegalMoves{Square: 12, Moves: moves}),
			clienttest.Expect(wire.CtrlGetLegalMoves).Where(func(p *wire.Packet) error {
				if p.Flags&wire.FlagPredictionContext == 0 {
					return errors.New("no prediction context")
				}
				return nil
			}).Answer(7, wire.LegalMoves{Square: 1}),
			clienttest.Expect(wire.CtrlGetLegalMoves).Deny(wamble.LegalMovesInvalid, "invalid square index"),
		}
	}, func(t *testing.T, ctx context.Context, s *clienttest.Server, c *client.Client) {
		if got, err := c.LegalMoves(ctx, 1, 12); err != nil || !reflect.DeepEqual(got, moves) {
			t.Errorf("%v, %v", got, err)
		}
		if got, err := c.PredictableMoves(ctx, 7, 1); err != nil || len(got) != 0 {
			t.Errorf("%v, %v", got, err)
		}
		if _, err := c.LegalMoves(ctx, 1, 64); client.DeniedCode(err) != wamble.LegalMovesInvalid {
			t.Error(err)
		}
	})
}

// A sign of life is sent without waiting for an answer, and the next request is answered as
// usual.
func TestThinking(t *testing.T) {
	overBoth(t, func() []*clienttest.Step {
		return []*clienttest.Step{clienttest.Expect(wire.CtrlGetLegalMoves).Answer(1, wire.LegalMoves{Square: 12})}
	}, func(t *testing.T, ctx context.Context, s *clienttest.Server, c *client.Client) {
		for range 3 {
			if err := c.Thinking(ctx); err != nil {
				t.Error(err)
			}
		}
		if _, err := c.LegalMoves(ctx, 1, 12); err != nil {
			t.Error(err)
		}
	})
}

func TestLoginAndLogout(t *testing.T) {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, 32))
	challenge := wire.Key(bytes.Repeat([]byte{3}, 32))
	prove := func(p *wire.Packet) error {
		m := p.Message.(*wire.LoginRequest)
		server, _ := p.Ext.Text(wire.KeyLoginServer)
		message := append([]byte("wamble.login.v2\x02"), p.Token[:]...)
		message = append(append(append(message, m.PublicKey[:]...), challenge[:]...), server...)
		if m.Signature == nil || !strings.HasPrefix(server, "127.0.0.1:") ||
			!ed25519.Verify(m.PublicKey[:], message, m.Signature[:]) {
			return errors.New("the proof is wrong")
		}
		return nil
	}
	ask := func(p *wire.Packet) error {
		if p.Message.(*wire.LoginRequest).Signature != nil {
			return errors.New("a proof without a challenge")
		}
		return nil
	}
	overBoth(t, func() []*clienttest.Step {
		return []*clienttest.Step{
			clienttest.Expect(wire.CtrlLoginRequest).Where(ask).Answer(0, wire.LoginChallenge{Challenge: challenge}),
			clienttest.Expect(wire.CtrlLoginRequest).Where(prove).Answer(5,
				wire.LoginSuccess{FEN: wire.Text("8/8/8/8/8/8/8/8 w")}),
			clienttest.Expect(wire.CtrlLoginRequest).Answer(0, wire.LoginFailed{Code: wamble.AccessDenied}),
			clienttest.Expect(wire.CtrlLogout),
		}
	}, func(t *testing.T, ctx context.Context, s *clienttest.Server, c *client.Client) {
		b, err := c.Login(ctx, key)
		if err != nil || b.ID != 5 || c.Board().ID != 5 {
			t.Errorf("%+v, %v", b, err)
		}
		if _, err := c.Login(ctx, key); client.DeniedCode(err) != wamble.AccessDenied {
			t.Errorf("refused: %v", err)
		}
		if _, err := c.Login(ctx, nil); err == nil {
			t.Error("no key, no error")
		}
		got, err := c.Logout(ctx)
		if err != nil || got.Token.IsZero() || got.Board.ID == 0 {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestStats(t *testing.T) {
	wants := func(key string, want any) func(*wire.Packet) error {
		return func(p *wire.Packet) error {
			f, ok := p.Ext.Lookup(key)
			if want == nil && !ok {
				return nil
			}
			if n, isInt := want.(int); ok && ((isInt && f.Int() == int64(n)) || (!isInt && f.TextIs(want.(string)))) {
				return nil
			}
			return fmt.Errorf("%s is %v, want %v", key, f, want)
		}
	}
	data := wire.PlayerStatsData{Score: 42.5, Games: 18, Games960: 7}
	overBoth(t, func() []*clienttest.Step {
		return []*clienttest.Step{
			clienttest.Expect(wire.CtrlGetPlayerStats).Where(wants(wire.KeyStatsTargetHandle, nil)).Answer(0, data,
				wire.Int(wire.KeyStatsRequestID, 1),
				wire.Int(wire.KeyStatsTargetSession, 9), wire.Int(wire.KeyStatsTargetHasIdentity, 1),
				wire.String(wire.KeyStatsTargetHandle, "h_1")),
			clienttest.Expect(wire.CtrlGetPlayerStats).Where(wants(wire.KeyStatsTargetHandle, "h_2")).
				Answer(0, data, wire.Int(wire.KeyStatsRequestID, 1)). // a late answer of the first
				Answer(0, wire.PlayerStatsData{Score: 1}, wire.Int(wire.KeyStatsRequestID, 2)),
			clienttest.Expect(wire.CtrlGetPlayerStats).Where(wants(wire.KeyStatsTargetSession, 77)).
				Deny(wamble.StatsFailed, "stats lookup failed"),
		}
	}, func(t *testing.T, ctx context.Context, s *clienttest.Server, c *client.Client) {
		want := client.Stats{Score: 42.5, Games: 18, Games960: 7, Session: 9, HasIdentity: true, Handle: "h_1"}
		if got, err := c.Stats(ctx, client.StatsOf{}); err != nil || got != want {
			t.Errorf("%+v, %v", got, err)
		}
		if got, err := c.Stats(ctx, client.StatsOf{Handle: "h_2"}); err != nil || got.Score != 1 {
			t.Errorf("%+v, %v", got, err)
		}
		if _, err := c.Stats(ctx, client.StatsOf{Session: 77}); client.DeniedCode(err) != wamble.StatsFailed {
			t.Error(err)
		}
	})
}

func TestLeaderboard(t *testing.T) {
	row := wire.LeaderboardRow{Rank: 17, Session: 4, Score: 2.5, Rating: 1210, Games: 3, HasIdentity: true,
		PublicKey: wire.Key{1}, Handle: wire.Text("h_abc")}
	rows := make([]wire.LeaderboardRow, 16) // in fragments
	for i := range rows {
		rows[i] = row
	}
	overBoth(t, func() []*clienttest.Step {
		return []*clienttest.Step{
			clienttest.Expect(wire.CtrlGetLeaderboard).Where(func(p *wire.Packet) error {
				m := p.Message.(*wire.GetLeaderboard)
				if page, _ := p.Ext.Int(wire.KeyLeaderboardPageIndex); m.Order != wire.ByRating || m.Limit != 16 ||
					page != 1 {
					return fmt.Errorf("%+v, page %d", m, page)
				}
				return nil
			}).Answer(0, wire.LeaderboardData{Order: wire.ByRating, SelfRank: 40, Rows: rows},
				wire.Int(wire.KeyLeaderboardTotalCount, 99), wire.Int(wire.KeyLeaderboardPageIndex, 1),
				wire.Int(wire.KeyLeaderboardSelfRank, 40), wire.Int(wire.KeyLeaderboardSelfSession, 6),
				wire.Double(wire.KeyLeaderboardSelfScore, 0.5), wire.Double(wire.KeyLeaderboardSelfRating, 1190),
				wire.Int(wire.KeyLeaderboardSelfGames, 2), wire.Int(wire.KeyLeaderboardSelfIdentity, 1),
				wire.String(wire.KeyLeaderboardSelfKey, strings.Repeat("0a", 32))),
			clienttest.Expect(wire.CtrlGetLeaderboard).Answer(0, wire.LeaderboardData{Order: wire.ByScore}),
		}
	}, func(t *testing.T, ctx context.Context, s *clienttest.Server, c *client.Client) {
		got, err := c.Leaderboard(ctx, client.LeaderboardPage{ByRating: true, Index: 1, Size: 100})
		if err != nil {
			t.Fatal(err)
		}
		want := client.Rank{Rank: 17, Session: 4, Score: 2.5, Rating: 1210, Games: 3, HasIdentity: true,
			PublicKey: [32]byte{1}, Handle: "h_abc"}
		if len(got.Rows) != 16 || got.Rows[15] != want || got.Total != 99 || got.SelfRank != 40 {
			t.Errorf("%+v", got)
		}
		self := client.Rank{Rank: 40, Session: 6, Score: 0.5, Rating: 1190, Games: 2, HasIdentity: true,
			PublicKey: [32]byte(bytes.Repeat([]byte{10}, 32))}
		if got.Self == nil || *got.Self != self {
			t.Errorf("self %+v", got.Self)
		}
		if got, err := c.Leaderboard(ctx, client.LeaderboardPage{}); err != nil || len(got.Rows) != 0 ||
			got.Self != nil {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestPredictions(t *testing.T) {
	uci, _ := wire.MakeUCI("e2e4")
	row := wire.Prediction{ID: 5, Parent: 2, Author: wire.Author{1}, Points: 1.5, TargetPly: 3, Depth: 1, Status: 1,
		UCI: uci}
	overBoth(t, func() []*clienttest.Step {
		return []*clienttest.Step{
			clienttest.Expect(wire.CtrlSubmitPrediction).Answer(9, wire.PredictionData{Rows: []wire.Prediction{row}},
				wire.String(wire.KeyPredictionRequestKind, wire.KindSubmit),
				wire.Int(wire.KeyPredictionSubmitStatus, 1)),
			clienttest.Expect(wire.CtrlSubmitPrediction).Answer(9, wire.PredictionData{},
				wire.String(wire.KeyPredictionRequestKind, wire.KindSubmit),
				wire.Int(wire.KeyPredictionSubmitStatus, 5)),
			clienttest.Expect(wire.CtrlGetPredictions).Answer(9, wire.PredictionData{Rows: []wire.Prediction{row, row}},
				wire.String(wire.KeyPredictionRequestKind, wire.KindTree)),
			clienttest.Expect(wire.CtrlGetPredictions).Deny(wamble.PredictionReadFailed, "prediction read failed"),
		}
	}, func(t *testing.T, ctx context.Context, s *clienttest.Server, c *client.Client) {
		want := client.Prediction{ID: 5, Parent: 2, Author: [16]byte{1}, Points: 1.5, TargetPly: 3, Depth: 1,
			Status: client.PredictionCorrect, UCI: "e2e4"}
		got, err := c.Predict(ctx, 9, "e2e4", 2)
		if err != nil || got.Status != client.SubmitCreated || got.Prediction == nil || *got.Prediction != want {
			t.Errorf("%+v, %v", got, err)
		}
		got, err = c.Predict(ctx, 9, "e2e4", 0)
		if err != nil || got.Status != client.SubmitLimit || got.Prediction != nil {
			t.Errorf("%+v, %v", got, err)
		}
		rows, err := c.Predictions(ctx, 9, 2, 0)
		if err != nil || len(rows) != 2 || rows[1] != want {
			t.Errorf("%+v, %v", rows, err)
		}
		if _, err := c.Predictions(ctx, 9, 2, 0); client.DeniedCode(err) != wamble.PredictionReadFailed {
			t.Error(err)
		}
		if _, err := c.Predict(ctx, 9, "e2e4e5e6", 0); !errors.Is(err, wire.ErrTooLong) {
			t.Error(err)
		}
	})
}

func TestProfiles(t *testing.T) {
	var names []string
	for i := range 60 {
		names = append(names, fmt.Sprintf("profile-%02d", i))
	}
	overBoth(t, func() []*clienttest.Step {
		return []*clienttest.Step{
			clienttest.Expect(wire.CtrlListProfiles).Answer(0,
				wire.ProfilesList{Names: wire.Text(strings.Join(names, ","))}),
			clienttest.Expect(wire.CtrlListProfiles).Answer(0, wire.ProfilesList{}),
			clienttest.Expect(wire.CtrlGetProfileInfo).Answer(0, wire.ProfileInfo{Info: wire.Text("open;8888;1;3")},
				wire.Int(wire.KeyProfileCaps, 3), wire.Int(wire.KeyProfileTOSAvailable, 1),
				wire.Int(wire.KeyProfileTOSAccepted, 0),
				wire.Int(wire.KeyProfileWebSocketPort, 8889), wire.String(wire.KeyProfileWebSocketPath, "/ws"),
				wire.Int(wire.KeyProfileReserveTimeout, 300)),
			clienttest.Expect(wire.CtrlGetProfileInfo).Answer(0, wire.ProfileInfo{Info: wire.Text("NOTFOUND;secret")}),
			clienttest.Expect(wire.CtrlGetProfileInfo).Answer(0, wire.ProfileInfo{Info: wire.Text("odd;port")}),
		}
	}, func(t *testing.T, ctx context.Context, s *clienttest.Server, c *client.Client) {
		if got, err := c.Profiles(ctx); err != nil || !reflect.DeepEqual(got, names) {
			t.Errorf("%v, %v", got, err)
		}
		if got, err := c.Profiles(ctx); err != nil || len(got) != 0 {
			t.Errorf("%v, %v", got, err)
		}
		want := client.Profile{Name: "open", Port: 8888, Advertised: true, Visibility: 3, MayJoin: true, HasTerms: true,
			WebSocketPort: 8889, WebSocketPath: "/ws", ReservationTimeout: 300 * time.Second}
		if got, err := c.Profile(ctx, "open"); err != nil || got != want {
			t.Errorf("%+v, %v", got, err)
		}
		if _, err := c.Profile(ctx, "secret"); !errors.Is(err, client.ErrNotFound) {
			t.Error(err)
		}
		if _, err := c.Profile(ctx, "odd"); !errors.Is(err, client.ErrBadAnswer) {
			t.Error(err)
		}
	})
}

func TestTerms(t *testing.T) {
	terms := strings.Repeat("Be nice. ", 700) // several fragments
	overBoth(t, func() []*clienttest.Step {
		return []*clienttest.Step{
			clienttest.Expect(wire.CtrlGetProfileTOS).Answer(0, wire.ProfileTOSData{Terms: wire.Text(terms)}),
			clienttest.Expect(wire.CtrlGetProfileTOS).Answer(0, wire.ProfileTOSData{Terms: wire.Text("NOTFOUND;x")}),
			clienttest.Expect(wire.CtrlAcceptProfileTOS).Answer(1, wire.ProfileInfo{Info: wire.Text("open;8888;1;0")},
				wire.Int(wire.KeyProfileTOSAccepted, 1), wire.Int(wire.KeySessionCaps, 0x1f)),
			clienttest.Expect(wire.CtrlAcceptProfileTOS).Deny(wamble.AccessDenied, "access denied"),
		}
	}, func(t *testing.T, ctx context.Context, s *clienttest.Server, c *client.Client) {
		if got, err := c.Terms(ctx, ""); err != nil || got != terms {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		if _, err := c.Terms(ctx, "x"); !errors.Is(err, client.ErrNotFound) {
			t.Error(err)
		}
		if got, err := c.AcceptTerms(ctx, ""); err != nil || !got.TermsAccepted || c.Session().Caps != 0x1f {
			t.Errorf("%+v, %v, caps %x", got, err, c.Session().Caps)
		}
		if _, err := c.AcceptTerms(ctx, ""); client.DeniedCode(err) != wamble.AccessDenied {
			t.Error(err)
		}
	})
}

func TestSessions(t *testing.T) {
	overBoth(t, func() []*clienttest.Step {
		return []*clienttest.Step{
			clienttest.Expect(wire.CtrlGetSessions).Answer(0,
				wire.SessionsData{Rows: []wire.Session{{ID: 3, Created: 100, LastSeen: 400, Own: true}, {ID: 2}}}),
			clienttest.Expect(wire.CtrlRevokeSessions).Answer(0,
				wire.SessionsData{Rows: []wire.Session{{ID: 3, Own: true}}}),
		}
	}, func(t *testing.T, ctx context.Context, s *clienttest.Server, c *client.Client) {
		got, err := c.Sessions(ctx)
		want := client.OwnSession{ID: 3, Created: time.Unix(100, 0), LastSeen: time.Unix(400, 0), Own: true}
		if err != nil || len(got) != 2 || got[0] != want {
			t.Errorf("%+v, %v", got, err)
		}
		if got, err := c.Revoke(ctx, 2); err != nil || len(got) != 1 || !got[0].Own {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestReservations(t *testing.T) {
	overBoth(t, func() []*clienttest.Step {
		return []*clienttest.Step{
			clienttest.Expect(wire.CtrlGetActiveReservations).Answer(0,
				wire.ActiveReservationsData{Rows: []wire.Reservation{
					{Board: 3, ReservedAt: 100, ExpiresAt: 400, Available: true, Profile: wire.Text("open")}}}),
			clienttest.Expect(wire.CtrlGetActiveReservations).Answer(0, wire.ActiveReservationsData{}),
		}
	}, func(t *testing.T, ctx context.Context, s *clienttest.Server, c *client.Client) {
		got, err := c.Reservations(ctx)
		want := client.Reservation{Board: 3, Profile: "open", ReservedAt: time.Unix(100, 0), Expires: time.Unix(400, 0),
			Available: true}
		if err != nil || len(got) != 1 || got[0] != want {
			t.Errorf("%+v, %v", got, err)
		}
		if got, err := c.Reservations(ctx); err != nil || len(got) != 0 {
			t.Errorf("%+v, %v", got, err)
		}
	})
}
