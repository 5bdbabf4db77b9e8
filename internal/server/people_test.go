package server

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"wamble"
	"wamble/internal/admin"
	"wamble/wire"
)

// asked has the fields of a command's answer that the test checks.
type asked struct {
	People []seen
	More   bool
}

type seen struct {
	Name     string
	Key      string `json:"public_key"`
	Session  wamble.SessionID
	Rank     int
	Here     []struct{ Profile, Address string }
	Sessions []struct {
		Session wamble.SessionID
		Trust   int
		Address string
	}
	Holds  []wamble.BoardID
	Boards []struct{ Board wamble.BoardID }
	Bans   []struct{ Whom, By string }
	Names  []wamble.FormerName `json:"former_names"`
}

// TestPeople: the host finds players and guests by each way to name them, sees the server's
// data about one, and ends sessions for good in all profiles of the store.
func TestPeople(t *testing.T) {
	t.Parallel()
	eachHouse(t, func(ctx context.Context, t *testing.T, h *hiding) {
		p, guest := join(t, h.at("red"), wamble.Token{}), join(t, h.at("red"), wamble.Token{})
		public := hex.EncodeToString(p.login(ctx).Public().(ed25519.PublicKey))
		if !p.move(ctx) || !guest.move(ctx) {
			t.Fatal("nobody could move")
		}
		stats, token, alien := p.stats(ctx), p.c.Token(), guest.c.Token()
		q := join(t, h.at("blue"), token) // when the player is in blue, the store has them
		number := wamble.SessionID(guest.stats(ctx).Session)
		search := func(query string) (got asked) {
			t.Helper()
			if err := admin.Ask(ctx, h.dir, "players", admin.Arguments{Query: query}, &got); err != nil {
				t.Errorf("%.9s: %v", query, err)
			}
			return got
		}
		board := p.played[0].board
		for _, c := range []struct {
			query   string
			players bool // the player is found, else the guest
			both    bool
		}{
			{stats.Handle, true, false}, {strings.ToUpper(stats.Handle[2:8]), true, false}, {"name:" + stats.Handle[2:], true, false},
			{public, true, false}, {public[:9], true, false}, {"key:" + public[:4], true, false},
			{hex.EncodeToString(token[:]), true, false}, {token.String(), true, false}, {"token:" + token.String(), true, false}, {fmt.Sprintf("hash:%x", token.Hash()), true, false}, {hex.EncodeToString(alien[:]), false, false},
			{fmt.Sprintf("session:%d", stats.Session), true, false}, {fmt.Sprintf("session:%d", number), false, false},
			{"127.0.0.1", true, true}, {"127.0.0.0/8", true, true},
		} {
			got := search(c.query)
			var players, guests int
			for _, one := range got.People {
				switch {
				case one.Key == public && one.Name == stats.Handle && len(one.Here) == 2:
					players++
				case one.Key == "" && one.Session == number && len(one.Here) == 1 &&
					strings.HasPrefix(one.Here[0].Address, "127.0.0.1:"):
					guests++
				default:
					t.Errorf("%s: a stranger: %+v", c.query[:4], one)
				}
			}
			if (players == 1) != c.players || (guests == 1) != (c.both || !c.players) || got.More {
				t.Errorf("%s: %d players and %d guests, %+v", c.query[:4], players, guests, got)
			}
		}
		until(t, "the store knows who has moved on the board", func() bool {
			for _, one := range search(fmt.Sprintf("board:%d", board)).People {
				if one.Key == public {
					return true
				}
			}
			return false
		})
		if got := search("192.0.2.1"); len(got.People) != 0 {
			t.Errorf("where nobody is: %+v", got)
		}
		var none json.RawMessage
		for _, query := range []string{"?!", "token:" + token.String()[:8],
			"token:" + hex.EncodeToString(token[:])[:31]} {
			if err := admin.Ask(ctx, h.dir, "players", admin.Arguments{Query: query}, &none); err == nil ||
				strings.Contains(err.Error(), query) {
				t.Errorf("a search for nothing, or a part of a token: %v", err)
			}
		}

		look := func(whom string) seen {
			t.Helper()
			var got []seen
			if err := admin.Ask(ctx, h.dir, "player", admin.Arguments{Whom: whom}, &got); err != nil || len(got) != 1 {
				t.Fatalf("%d dossiers, %v", len(got), err)
			}
			return got[0]
		}
		h.command("rename", admin.Arguments{Whom: stats.Handle, Name: "Ann-of-old"})
		// Two profiles bring their changes to one store: of two names at once it may see only the later.
		until(t, "the store has the first name", func() bool { return len(look(public).Names) == 1 })
		h.command("rename", admin.Arguments{Whom: "Ann-of-old", Name: stats.Handle})
		until(t, "the store has the player's former names",
			func() bool { got := look(public); return got.Name == stats.Handle && len(got.Names) == 2 })
		h.command("trust", admin.Arguments{Whom: stats.Handle, Level: 7})
		h.command("ban", admin.Arguments{Whom: "192.0.2.0/24"})
		for _, whom := range []string{stats.Handle, public, token.String(), fmt.Sprint(stats.Session)} {
			got := look(whom)
			if got.Key != public || got.Rank == 0 || len(got.Names) != 2 || got.Names[0].Name != "Ann-of-old" ||
				len(got.Sessions) != 1 || got.Sessions[0].Trust != 7 || got.Sessions[0].Address == "" ||
				len(got.Here) != 2 || len(got.Bans) != 0 ||
				len(got.Boards) != 1 || got.Boards[0].Board != board || len(got.Holds) == 0 {
				t.Errorf("the player: %+v", got)
			}
		}
		if got := look(fmt.Sprint(number)); got.Name != "" || got.Session != number || len(got.Sessions) != 1 ||
			len(got.Boards) != 1 {
			t.Errorf("the guest: %+v", got)
		}
		if err := admin.Ask(ctx, h.dir, "player", admin.Arguments{Whom: "h_nobody"}, &none); err == nil {
			t.Error("nobody has a dossier")
		}

		if got := h.command("revoke", admin.Arguments{Whom: alien.String()}); got["red"] != 1 {
			t.Errorf("revoke of a guest: %v", got)
		}
		notice(t, guest, wire.NoticeSessionExpired)
		h.command("revoke", admin.Arguments{Whom: stats.Handle, Profile: "blue"})
		for _, one := range []*player{p, q} {
			notice(t, one, wire.NoticeSessionExpired)
		}
		h.restart()
		for _, old := range []wamble.Token{token, alien} {
			if again := join(t, h.at("red"), old); again.c.Token() == old {
				t.Error("a token that was revoked is good after a restart")
			}
		}
		if got := search(stats.Handle); len(got.People) != 1 || len(got.People[0].Here) != 0 {
			t.Errorf("after the restart: %+v", got)
		}
	})
}
