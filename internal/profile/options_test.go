package profile

import (
	"testing"
	"time"

	"wamble/internal/board"
	"wamble/internal/link"
	"wamble/internal/session"
)

// TestOptions: every option of the rooms comes from the configuration.
func TestOptions(t *testing.T) {
	c := configOf(t, `(def timeout-ms 700) (def max-retries 5) (def rto-cap-ms 9000) (def terminal-cache-ttl-ms 0) (def session-timeout 77)
		(def max-client-sessions 33) (def rate-limit-requests-per-sec 44) (def rate-limit-ip-requests-per-sec 55)
		(def max-players 11) (def token-expiration 66) (def unconfirmed-timeout 22) (def new-players-per-ip-per-min 9) (def default-rating 1500)
		(def login-attempts-per-min 8) (def max-token-attempts 7)
		(def max-boards 90) (def min-boards 12) (def inactivity-timeout 13) (def reservation-timeout 14) (def max-moves-per-board 15)
		(def chess960-interval 16) (def new-player-early-phase-mult 1.5) (def new-player-mid-phase-mult 2.5) (def new-player-end-phase-mult 3.5)
		(def away-timeout 11) (def disconnect-timeout 6) (def identity-away-timeout 7) (def boards-per-player 1.5) (def max-pot 17.5) (def k-factor 18) (def max-contributors 19)
		(def experienced-player-early-phase-mult 4.5) (def experienced-player-mid-phase-mult 5.5) (def experienced-player-end-phase-mult 6.5)`)
	gotLink, wantLink := New(Options{Config: c, Now: epoch}).linkConfig(), link.Config{
		Sends: 5, FirstWait: 700 * time.Millisecond, MinWait: 700 * time.Millisecond, MaxWait: 9 * time.Second,
		ReplayTTL: -1, SessionTimeout: 77 * time.Second,
		MaxPaths: 33, TokenRate: 44, HostRate: 55,
	}
	if gotLink.Bypass != nil {
		t.Error("a bypass without a policy")
	}
	gotLink.Bypass, wantLink.Bypass = nil, nil
	if gotLink.Sends != wantLink.Sends || gotLink.FirstWait != wantLink.FirstWait ||
		gotLink.MinWait != wantLink.MinWait || gotLink.MaxWait != wantLink.MaxWait ||
		gotLink.ReplayTTL != wantLink.ReplayTTL || gotLink.SessionTimeout != wantLink.SessionTimeout ||
		gotLink.MaxPaths != wantLink.MaxPaths || gotLink.TokenRate != wantLink.TokenRate ||
		gotLink.HostRate != wantLink.HostRate {
		t.Errorf("link: got %+v, want %+v", gotLink, wantLink)
	}
	if got, want := (&Profile{rules: rules{cfg: c}}).sessionOptions(), (session.Options{
		MaxPlayers: 11, Unconfirmed: 22 * time.Second, Away: 66 * time.Second, Expiration: 66 * time.Second,
		Lifetime: 720 * time.Hour, NewPerHost: 9, Logins: 8, TokenAttempts: 7, DefaultRating: 1500,
	}); got != want {
		t.Errorf("session: got %+v, want %+v", got, want)
	}
	if got, want := (&Profile{rules: rules{cfg: c}}).boardOptions(), (board.Options{
		MinBoards: 12, MaxBoards: 90, PerPlayer: 1.5, Chess960Interval: 16, MaxMoves: 15, Inactivity: 13 * time.Second,
		Reservation: 14 * time.Second,
		Away:        11 * time.Second, Disconnect: 6 * time.Second, IdentityAway: 7 * time.Second,
		New:         board.Multipliers{Early: 1.5, Mid: 2.5, End: 3.5},
		Experienced: board.Multipliers{Early: 4.5, Mid: 5.5, End: 6.5},
	}); got != want {
		t.Errorf("board: got %+v, want %+v", got, want)
	}
	if s := c.Scoring; s.MaxPot != 17.5 || s.KFactor != 18 || s.MaxContributors != 19 {
		t.Errorf("reward: got %v, %v, %d", s.MaxPot, s.KFactor, s.MaxContributors)
	}
	if got := New(Options{Config: configOf(t, ""), Now: epoch}).linkConfig().FirstWait; got != firstWait {
		t.Errorf("got a first wait of %v, want %v", got, firstWait)
	}
}
