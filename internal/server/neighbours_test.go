package server

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/client"
	"wamble/internal/profile"
	"wamble/internal/store/postgres/pgtest"
)

// neighbours lets a test run in two profiles, red and blue, which share a store of
// each kind.
func neighbours(t *testing.T, test func(ctx context.Context, t *testing.T, h *here)) {
	t.Helper()
	neighboursWith(t, "", test)
}

// neighboursWith is neighbours with more options.
func neighboursWith(t *testing.T, more string, test func(ctx context.Context, t *testing.T, h *here)) {
	t.Helper()
	const two = `(def advertise 1) (defprofile red ((def advertise 1))) (defprofile blue ((def advertise 1)))`
	for kind, db := range map[string]func(t *testing.T) string{
		"sqlite":   func(*testing.T) string { return "" },
		"postgres": func(t *testing.T) string { return postgresConf(pgtest.Migrated(t)) },
	} {
		t.Run(kind, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
			defer cancel()
			test(ctx, t, serve(t, Options{}, conf(db(t)+more+two)).ready())
		})
	}
}

// untilKnown repeats ask while the server answers that its database is away, as it may on a
// slow machine.
func untilKnown(ctx context.Context, ask func() error) error {
	for {
		err := ask()
		if denied, ok := errors.AsType[*wamble.Denied](err); !ok || denied.Code != wamble.Internal || ctx.Err() != nil {
			return err
		}
		sleep(ctx, 10*time.Millisecond)
	}
}

// login logs a player in with a new key, and returns the key.
func (p *player) login(ctx context.Context) ed25519.PrivateKey {
	p.t.Helper()
	_, private, _ := ed25519.GenerateKey(nil)
	p.loginAs(ctx, private)
	return private
}

func (p *player) loginAs(ctx context.Context, private ed25519.PrivateKey) {
	p.t.Helper()
	err := untilKnown(ctx, func() error { _, err := p.c.Login(ctx, private); return err })
	if err != nil {
		p.t.Fatalf("login: %v", err)
	}
}

// stats are the player's own.
func (p *player) stats(ctx context.Context) client.Stats {
	p.t.Helper()
	var stats client.Stats
	err := untilKnown(ctx, func() (err error) { stats, err = p.c.Stats(ctx, client.StatsOf{}); return err })
	if err != nil {
		p.t.Fatalf("stats: %v", err)
	}
	return stats
}

// pending returns how many decided messages the stores do not have: in the journal, or on
// their way there.
func (h *here) pending() (n uint64) {
	for _, part := range h.partitions() {
		for _, in := range part.runner.Stats().Inboxes {
			n += in.Depth
		}
	}
	for _, sup := range h.shards() {
		sup.runtime.Do(h.t.Context(), func(p *profile.Profile) {
			settled, newest := p.Stored()
			n += newest - settled
		})
	}
	return n
}

// pause stops or restarts the drains from the journal to the stores.
func (h *here) pause(paused bool) {
	h.t.Helper()
	for _, part := range h.partitions() {
		set := part.runner.ResumeQueue
		if paused {
			set = part.runner.PauseQueue
		}
		for _, in := range part.runner.Stats().Inboxes {
			if err := set(h.t.Context(), strconv.FormatUint(in.Worker, 10)); err != nil {
				h.t.Fatal(err)
			}
		}
	}
}

// TestNeighbourKnowsToken: a token that one profile has just made belongs to the same player
// in another, at once and after a goodbye.
func TestNeighbourKnowsToken(t *testing.T) {
	t.Parallel()
	neighbours(t, func(ctx context.Context, t *testing.T, h *here) {
		for range 8 {
			token := join(t, h.at("red"), wamble.Token{}).c.Token()
			q := join(t, h.at("blue"), token)
			if got := q.c.Token(); got != token {
				t.Fatal("the player of red is somebody new in blue")
			}
			if !q.move(ctx) {
				t.Fatal("the move was not accepted")
			}
		}
		p := join(t, h.at("red"), wamble.Token{})
		token := p.c.Token()
		if err := p.c.Goodbye(ctx); err != nil {
			t.Fatal(err)
		}
		if join(t, h.at("blue"), token).c.Token() != token {
			t.Error("the player who has left red is somebody new in blue")
		}
		until(t, "the store has everything", func() bool { return h.pending() == 0 })
		if n := h.runner.Stats().DeadLetters; n > 0 {
			t.Errorf("%d messages were refused by the store", n)
		}
	})
}

// TestNeighbourLogout: a logout in one profile holds in all of them, and the player's token
// becomes invalid in all.
func TestNeighbourLogout(t *testing.T) {
	t.Parallel()
	neighbours(t, func(ctx context.Context, t *testing.T, h *here) {
		p := join(t, h.at("red"), wamble.Token{})
		p.login(ctx)
		token := p.c.Token()
		q := join(t, h.at("blue"), token)
		if before := q.stats(ctx); !before.HasIdentity || before.Handle != p.stats(ctx).Handle {
			t.Fatalf("before the logout: got %+v", before)
		}
		if _, err := p.c.Logout(ctx); err != nil {
			t.Fatal(err)
		}
		if stats, err := q.c.Stats(ctx, client.StatsOf{}); err == nil && stats.HasIdentity {
			t.Errorf("after the logout blue says %+v", stats)
		}
		if join(t, h.at("blue"), token).c.Token() == token {
			t.Error("after the logout blue takes the token")
		}
	})
}

// TestNeighbourLogin: a login holds in both profiles, also where the player is present by
// their token, and the token that it replaces is invalid in both.
func TestNeighbourLogin(t *testing.T) {
	t.Parallel()
	neighbours(t, func(ctx context.Context, t *testing.T, h *here) {
		p := join(t, h.at("red"), wamble.Token{})
		old := p.c.Token()
		join(t, h.at("blue"), old)
		p.login(ctx)
		if p.c.Token() == old {
			t.Fatal("the login has kept the token")
		}
		if join(t, h.at("blue"), old).c.Token() == old {
			t.Error("blue takes the token that red has replaced")
		}
		q := join(t, h.at("blue"), p.c.Token())
		if got, want := q.stats(ctx),
			p.stats(ctx); q.c.Token() != p.c.Token() || got.Handle != want.Handle || !got.HasIdentity {
			t.Errorf("with the new token blue says %+v, red %+v", got, want)
		}
	})
}

// joinQueue lets a player join while no board is free for them, and returns while they wait.
func joinQueue(ctx context.Context, t *testing.T, address string) *player {
	t.Helper()
	d := dialer(wamble.Token{})
	d.Wish = client.MayWait
	c, err := d.Dial(ctx, address)
	if err != nil {
		t.Fatalf("hello: %v", err)
	}
	t.Cleanup(func() { c.Close() })
	return &player{t: t, c: c, history: history{}}
}

// foolsMate lets two players of a profile with one board play a game, which black wins.
func foolsMate(ctx context.Context, t *testing.T, white, black *player) {
	t.Helper()
	for i, uci := range []string{"f2f3", "e7e5", "g2g4", "d8h4"} {
		p := white
		if i%2 == 1 {
			p = black
		}
		until(t, "the player gets the board", func() bool { b := p.c.Board(); return b.ID != 0 && b.WaitPlace == 0 })
		if _, err := p.c.Play(ctx, uci); err != nil {
			t.Fatalf("%s: %v", uci, err)
		}
	}
}

// TestNeighbourRating: points won in one profile are shown in the other one, and the player's
// next rating there builds on them; the store has the sum.
func TestNeighbourRating(t *testing.T) {
	t.Parallel()
	neighboursWith(t, `(def min-boards 1) (def max-boards 1)`, func(ctx context.Context, t *testing.T, h *here) {
		public, private, _ := ed25519.GenerateKey(nil)
		key := wamble.PublicKey(public)
		players := map[string]*player{}
		opponents := map[string]*player{}
		for _, name := range []string{"red", "blue"} {
			opponents[name] = joinQueue(ctx, t, h.at(name)) // the player has the board
			players[name] = joinQueue(ctx, t, h.at(name))
			players[name].loginAs(ctx, private)
		}
		stored := func() (stats wamble.Stats) {
			until(t, "the store has everything", func() bool { return h.pending() == 0 })
			got, err := h.first().store.Player(ctx, key)
			if err != nil {
				t.Fatal(err)
			}
			return got.Stats
		}
		before := stored()
		if before.Rating != 1200 {
			t.Fatalf("before the first game: %+v", before)
		}
		for _, name := range []string{"red", "blue"} {
			foolsMate(ctx, t, opponents[name], players[name])
			now := stored()
			want := before.Rating + 32*(1-1/(1+math.Pow(10, (1200-before.Rating)/400))) // Elo
			if math.Abs(now.Rating-want) > 0.0001 || now.Score <= before.Score {
				t.Errorf("after a game in %s the store has %+v, want the rating %v and more than %v points", name, now,
					want, before.Score)
			}
			for at, p := range players {
				until(t, at+" shows the points", func() bool {
					return math.Abs(p.stats(ctx).Score-now.Score) < 0.001
				})
			}
			before = now
		}
	})
}

// twoPorts is a configuration of red and blue on one store, at ports that stay, and
// their addresses.
func twoPorts(t *testing.T, more string) (text string, at map[string]string) {
	t.Helper()
	text = more
	ports := freePorts(t, 2)
	at = map[string]string{}
	for i, name := range []string{"red", "blue"} {
		text += fmt.Sprintf("(defprofile %s ((def advertise 1) (def port %d)))", name, ports[i])
		at[name] = fmt.Sprintf("udp://127.0.0.1:%d", ports[i])
	}
	return conf(text), at
}

// TestNeighbourCrash: the process is killed while the journal has messages of each profile
// that the store lacks. After it, what red has answered holds in blue.
func TestNeighbourCrash(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	dir := t.TempDir()
	text, at := twoPorts(t, "")
	c := spawn(t, dir, text)
	out := join(t, at["red"], wamble.Token{})
	out.login(ctx)
	gone := out.c.Token()
	join(t, at["blue"], gone)
	guest, known := join(t, at["red"], wamble.Token{}), join(t, at["red"], wamble.Token{})
	known.login(ctx)
	handle := known.stats(ctx).Handle
	if _, err := out.c.Logout(ctx); err != nil {
		t.Fatal(err)
	}
	c.kill()

	c = spawn(t, dir, text)
	defer c.end()
	if p := join(t, at["blue"], guest.c.Token()); p.c.Token() != guest.c.Token() {
		t.Error("the player of red is somebody new in blue")
	}
	if p := join(t, at["blue"], known.c.Token()); p.stats(ctx).Handle != handle {
		t.Errorf("the player %s of red is %+v in blue", handle, p.stats(ctx))
	}
	if p := join(t, at["blue"], gone); p.stats(ctx).HasIdentity {
		t.Error("who has logged out is logged in after the crash")
	}
}

// TestNeighbourHandoff: another process takes over, and red and blue still share their
// players.
func TestNeighbourHandoff(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	text, at := twoPorts(t, "")
	i := spawnImage(t, text)
	defer i.end()
	p := join(t, at["red"], wamble.Token{})
	p.login(ctx)
	q := join(t, at["blue"], p.c.Token())
	if _, err := i.handOff(""); err != nil {
		t.Fatal(err)
	}
	if got, want := q.stats(ctx), p.stats(ctx); got.Handle != want.Handle || !got.HasIdentity {
		t.Errorf("after the handoff blue says %+v, red %+v", got, want)
	}
	token := p.c.Token()
	if _, err := p.c.Logout(ctx); err != nil {
		t.Fatal(err)
	}
	if join(t, at["blue"], token).c.Token() == token {
		t.Error("after a handoff and the logout blue takes the token")
	}
	guest := join(t, at["blue"], wamble.Token{}).c.Token()
	if join(t, at["red"], guest).c.Token() != guest {
		t.Error("the player of blue is somebody new in red")
	}
}

// TestNeighboursUnderTwoNames: two profiles that name one database differently are reported,
// and two that name it alike are not.
func TestNeighboursUnderTwoNames(t *testing.T) {
	t.Parallel()
	for again, want := range map[string]bool{"": false, "/.": true} { // the host is the directory of a socket
		db := pgtest.Migrated(t)
		h := serve(t, Options{}, conf(postgresConf(db)+fmt.Sprintf("(defprofile red ((def advertise 1))) (defprofile blue ((def advertise 1) (def db-host %q)))", db.Host+again))).ready()
		until(t, "both profiles are up", func() bool { return h.Status(t.Context()).Ready() })
		if got := strings.Contains(h.log.String(), "has the same database under another name"); got != want {
			t.Errorf("as %s and %s it is said: %v, want %v\n%s", db.Host, db.Host+again, got, want, h.log)
		}
	}
}
