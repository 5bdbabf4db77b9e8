package server

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"
	"testing"

	"wamble"
	"wamble/client"
)

// at returns the address of a profile.
func (h *here) at(profile string) string {
	h.t.Helper()
	for _, p := range h.Profiles() {
		if p.Profile == profile {
			return "udp://" + p.UDP.String()
		}
	}
	h.t.Fatalf("no profile %s runs", profile)
	return ""
}

// TestIdentity takes a player with a key through a server of several profiles, over real
// sockets and stores: discovery, terms, login, stats, leaderboard, reservations in all
// profiles, logout.
func TestIdentity(t *testing.T) {
	t.Parallel()
	h := serve(t, Options{}, conf(`(def advertise 1) (def port 0)
(defprofile red ((def tos-text "be kind")))
(defprofile green ((def visibility 3)))
(defprofile blue ((def db-isolated 1)))`))
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	if err := h.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	p := join(t, h.at("red"), wamble.Token{})
	ask := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}

	names, err := p.c.Profiles(ctx)
	ask("profiles", err)
	if want := []string{"blue", "red"}; !slices.Equal(names, want) {
		t.Errorf("got profiles %v, want %v", names, want)
	}
	if _, err := p.c.Profile(ctx, "green"); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("a hidden profile: %v", err)
	}
	blue, err := p.c.Profile(ctx, "blue")
	ask("profile", err)
	if at := fmt.Sprintf("udp://127.0.0.1:%d", blue.Port); at != h.at("blue") || !blue.MayJoin || blue.HasTerms ||
		blue.WebSocketPort == 0 {
		t.Errorf("got %+v, want it at %s", blue, h.at("blue"))
	}

	_, err = p.c.Play(ctx, "e2e4")
	var denied *wamble.Denied
	if !errors.As(err, &denied) || denied.Reason != "terms acceptance required" {
		t.Errorf("a move before the terms: %v", err)
	}
	terms, err := p.c.Terms(ctx, "")
	ask("terms", err)
	red, err := p.c.AcceptTerms(ctx, "")
	ask("accept", err)
	if terms != "be kind" || !red.TermsAccepted || !red.HasTerms {
		t.Errorf("got %q, %+v", terms, red)
	}
	red, err = p.c.Profile(ctx, "red")
	ask("the profile again", err)
	if !red.TermsAccepted {
		t.Errorf("got %+v", red)
	}

	_, private, _ := ed25519.GenerateKey(nil)
	board, err := p.c.Login(ctx, private)
	ask("login", err)
	mine := p.c.Board()
	if board.ID != mine.ID || mine.ID == 0 {
		t.Errorf("got board %d, hold %d", board.ID, mine.ID)
	}
	if !p.move(ctx) {
		t.Fatal("the move was not accepted")
	}
	stats, err := p.c.Stats(ctx, client.StatsOf{})
	ask("stats", err)
	if !stats.HasIdentity || stats.Handle == "" {
		t.Errorf("got %+v", stats)
	}
	until(t, "the store has the player", func() bool {
		again, err := p.c.Stats(ctx, client.StatsOf{Handle: stats.Handle})
		return err == nil && again.Games == 1
	})
	if _, err := p.c.Stats(ctx, client.StatsOf{Handle: "h_nobody"}); !errors.As(err, &denied) ||
		denied.Reason != "unknown stats handle" {
		t.Errorf("an unknown handle: %v", err)
	}
	page, err := p.c.Leaderboard(ctx, client.LeaderboardPage{ByRating: true, Size: 5})
	ask("leaderboard", err)
	if page.Total != 1 || page.SelfRank != 1 || len(page.Rows) != 1 || page.Rows[0].Handle != stats.Handle ||
		page.Rows[0].Rating != 1200 {
		t.Errorf("got %+v", page)
	}

	// The same key in another profile, which has a database of its own.
	q := join(t, h.at("blue"), wamble.Token{})
	_, err = q.c.Login(ctx, private)
	ask("login at blue", err)
	until(t, "both boards are reserved", func() bool {
		held, err := p.c.Reservations(ctx)
		ask("reservations", err)
		var got []string
		for _, r := range held {
			got = append(got, fmt.Sprint(r.Profile, " ", r.Board, " ", r.Available))
		}
		slices.Sort(got)
		return slices.Equal(got, []string{fmt.Sprint("blue ", q.c.Board().ID, " true"),
			fmt.Sprint("red ", p.c.Board().ID, " true")})
	})

	token := p.c.Token()
	after, err := p.c.Logout(ctx)
	ask("logout", err)
	if after.Token == token || after.Token.IsZero() {
		t.Error("the token is the same after the logout")
	}
	held, err := p.c.Reservations(ctx)
	ask("reservations", err)
	if len(held) != 0 {
		t.Errorf("somebody without an identity holds %+v", held)
	}
}
