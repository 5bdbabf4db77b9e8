package server

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"wamble"
	"wamble/internal/admin"
	"wamble/internal/store/postgres/pgtest"
)

// hiddenHouse configures a profile that only trusted players may see.
const hiddenHouse = `(def advertise 1) (defprofile red ()) (defprofile blue ()) (defprofile hidden ((def visibility 10)))`

// hiding is a server with these profiles.
type hiding struct {
	*here
	text string // its configuration
}

// eachHouse runs a test on such a server with each kind of store.
func eachHouse(t *testing.T, test func(ctx context.Context, t *testing.T, h *hiding)) {
	t.Helper()
	for _, kind := range []string{"sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			text := conf(hiddenHouse)
			if kind == "postgres" {
				text = conf(postgresConf(pgtest.Migrated(t)) + hiddenHouse)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
			defer cancel()
			test(ctx, t, &hiding{serve(t, Options{}, text).ready(), text})
		})
	}
}

// restart stops the server and starts it again.
func (h *hiding) restart() {
	h.t.Helper()
	h.end()
	h.here = serve(h.t, Options{Dir: h.dir}, h.text).ready()
}

// sees reports whether the server lists the hidden profile for a player.
func (p *player) sees(ctx context.Context) bool {
	p.t.Helper()
	names, err := p.c.Profiles(ctx)
	if err != nil {
		p.t.Fatal(err)
	}
	return slices.Contains(names, "hidden")
}

// TestTrustPromotedBySQL promotes a session as the database document says, while its player
// plays: the server shows them what is for trusted players, until they are demoted. How soon
// it asks is for TestTrustIsAskedEverySecond.
func TestTrustPromotedBySQL(t *testing.T) {
	t.Parallel()
	o := pgtest.Migrated(t)
	h := serve(t, Options{}, conf(postgresConf(o)+hiddenHouse)).ready()
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	p, other := join(t, h.at("red"), wamble.Token{}), join(t, h.at("red"), wamble.Token{})
	q := join(t, h.at("blue"), p.c.Token()) // when the player is in blue, the store has them
	token := p.c.Token()
	promote := func(level int) { // as docs/operations.md says
		pgtest.Execute(t, o, fmt.Sprintf("UPDATE sessions SET trust_level = %d WHERE token = substring(sha256(decode('%s', 'hex')) FROM 1 FOR 16)",
			level, hex.EncodeToString(token[:])))
	}
	if p.sees(ctx) || q.sees(ctx) {
		t.Fatal("the player is trusted before")
	}
	promote(10)
	until(t, "the player is trusted in both profiles", func() bool { return p.sees(ctx) && q.sees(ctx) })
	if other.sees(ctx) {
		t.Error("somebody else is trusted too")
	}
	promote(9)
	until(t, "the player is trusted no more", func() bool { return !p.sees(ctx) && !q.sees(ctx) })
}

// TestTrustCommand: the host sets the trust in a player by token, handle, key or number. It
// holds at once, also in profiles without an event, and after a restart.
func TestTrustCommand(t *testing.T) {
	t.Parallel()
	eachHouse(t, func(ctx context.Context, t *testing.T, h *hiding) {
		p := join(t, h.at("red"), wamble.Token{})
		public := p.login(ctx).Public().(ed25519.PublicKey)
		stats, token := p.stats(ctx), p.c.Token()
		q := join(t, h.at("blue"), token)
		trust := func(whom string, level int, profile string) admin.Counts {
			t.Helper()
			var counts admin.Counts
			if err := admin.Ask(ctx, h.dir, "trust", admin.Arguments{Whom: whom, Level: level, Profile: profile},
				&counts); err != nil {
				t.Fatal(err)
			}
			return counts
		}
		for i, whom := range []string{hex.EncodeToString(token[:]), stats.Handle, fmt.Sprint(stats.Session),
			hex.EncodeToString(public)} {
			if trust(whom, 10, "red"); !p.sees(ctx) {
				t.Errorf("by name %d: the player is not trusted", i)
			}
			until(t, "the player is trusted in the other profile", func() bool { return q.sees(ctx) })
			if trust(whom, 0, ""); p.sees(ctx) || q.sees(ctx) {
				t.Errorf("by name %d: the player is still trusted", i)
			}
		}
		if counts := trust("h_nobody", 10, ""); counts["red"]+counts["blue"] != 0 {
			t.Errorf("nobody: got %v", counts)
		}
		if err := admin.Ask(ctx, h.dir, "trust", admin.Arguments{Whom: "?", Level: 1}, nil); err == nil ||
			errors.Is(err, admin.ErrNoServer) || strings.Contains(err.Error(), "?") {
			t.Errorf("a name that is none: %v", err)
		}
		trust(stats.Handle, 10, "")
		h.restart()
		if again := join(t, h.at("red"), token); !again.sees(ctx) {
			t.Error("after a restart the player is not trusted")
		}
	})
}
