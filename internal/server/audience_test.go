package server

import (
	"context"
	"net/netip"
	"testing"

	"wamble"
	"wamble/chess"
	"wamble/client"
	"wamble/internal/loader"
)

// play makes the first legal move on the player's board, and returns the position after it.
func play(t *testing.T, ctx context.Context, c *client.Client) string {
	t.Helper()
	p, err := chess.ParseFEN(c.Board().FEN)
	if err != nil {
		t.Fatal(err)
	}
	m := p.LegalMoves(nil)[0]
	if _, err := c.Play(ctx, m.String()); err != nil {
		t.Fatal(err)
	}
	fen, spaces := p.Play(m).FEN(), 0
	for i := range fen {
		if fen[i] == ' ' {
			if spaces++; spaces == 2 {
				return fen[:i]
			}
		}
	}
	return fen
}

// TestClientPredicts: the Go client predicts and reads predictions, which survive a restart
// of the server.
func TestClientPredicts(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	dir, text := t.TempDir(), conf(`(def prediction-mode "streak")`)
	s := serve(t, Options{Dir: dir}, text).ready()
	player, seer := join(t, s.address(), wamble.Token{}).c, join(t, s.address(), wamble.Token{}).c
	board := player.Board().ID
	made, err := seer.Predict(ctx, board, "e2e4", 0)
	if err != nil || made.Status != client.SubmitCreated || made.Prediction == nil ||
		made.Prediction.Author != seer.Token() {
		t.Fatalf("got %+v, %v", made, err)
	}
	if next, err := seer.Predict(ctx, board, "e7e5", made.Prediction.ID); err != nil ||
		next.Status != client.SubmitCreated || next.Prediction.Depth != 1 {
		t.Fatalf("got %+v, %v", next, err)
	}
	if again, err := seer.Predict(ctx, board, "d2d4", 0); err != nil || again.Status != client.SubmitDuplicate ||
		again.Prediction.ID != made.Prediction.ID {
		t.Errorf("got %+v, %v", again, err)
	}
	if wrong, err := seer.Predict(ctx, board, "e2e5", 0); err != nil || wrong.Status == client.SubmitCreated ||
		seer.Session().MaxPending == 0 {
		t.Errorf("got %+v, %v; %d may be pending", wrong, err, seer.Session().MaxPending)
	}
	if moves, err := seer.PredictableMoves(ctx, board, 12); err != nil || len(moves) != 2 {
		t.Errorf("got %v, %v, want the two moves of a pawn", moves, err)
	}
	if _, err := player.Play(ctx, "e2e4"); err != nil {
		t.Fatal(err)
	}
	check := func(reader *client.Client) {
		t.Helper()
		rows, err := reader.Predictions(ctx, board, 0, 0)
		if err != nil || len(rows) != 2 || rows[0].Status != client.PredictionCorrect || rows[0].Points != 1 ||
			rows[1].Status != client.PredictionPending || rows[1].Parent != rows[0].ID || rows[1].UCI != "e7e5" {
			t.Fatalf("got %+v, %v", rows, err)
		}
		if mine := rows[0].Author == reader.Token(); mine != (reader.Token() == seer.Token()) {
			t.Errorf("the author of a prediction is not its own, or a token is shown")
		}
	}
	check(seer)
	check(player)
	token := seer.Token()
	s.end()
	s = serve(t, Options{Dir: dir}, text).ready()
	check(join(t, s.address(), token).c)
}

// TestMixedLoad: players, watchers, predictors and readers are served at the same time.
func TestMixedLoad(t *testing.T) {
	t.Parallel()
	for _, mode := range []loader.Mode{loader.Spectate, loader.Mixed} {
		t.Run(mode.String(), func(t *testing.T) {
			s := serve(t, Options{}, conf(`(def prediction-mode "streak")`)).ready()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			var seen loader.Second
			r, err := loader.Run(ctx, loader.Options{
				Server: netip.MustParseAddrPort(s.Addresses().UDP.String()), Mode: mode, Clients: 20, Players: 5,
				Duration: patience, Seed: 1,
				EverySecond: func(now loader.Second) {
					seen = now
					if now.Roles[loader.Player] > 0 && now.Roles[loader.Watcher] > 0 &&
						(mode == loader.Spectate || now.Roles[loader.Predictor] > 0 && now.Roles[loader.Reader] > 0) {
						cancel() // enough
					}
				},
			})
			if err != nil || r.Roles[loader.Watcher].Answered == 0 || r.Roles[loader.Player].Answered == 0 {
				t.Errorf("got %v, %v; roles %+v", err, seen.Roles, r.Counts)
			}
			if r.Counts.Malformed > 0 || mode == loader.Mixed &&
				(r.Roles[loader.Predictor].Answered == 0 || r.Roles[loader.Reader].Answered == 0) {
				t.Errorf("%+v, %d predictions and %d pages answered", r.Counts, r.Roles[loader.Predictor].Answered,
					r.Roles[loader.Reader].Answered)
			}
		})
	}
}
