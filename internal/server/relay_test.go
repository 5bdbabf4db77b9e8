package server

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"net"
	"testing"
	"time"

	"wamble"
	"wamble/internal/admin"
	"wamble/internal/store"
	"wamble/wire"
)

// relay is a hostile server: it forwards all packets of one client to another server, and
// back, and so has every token. change may alter what the client sends. It returns the
// address that the client is led to.
func relay(t *testing.T, to net.Addr, change func([]byte) []byte) string {
	t.Helper()
	open := func() *net.UDPConn {
		c, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	front, back := open(), open()
	victims := make(chan net.Addr, 1)
	go func() {
		b := make([]byte, 65536)
		for n := 0; ; n++ {
			size, from, err := front.ReadFrom(b)
			if err != nil {
				return
			}
			if n == 0 {
				victims <- from
			}
			back.WriteTo(change(b[:size]), to)
		}
	}()
	go func() {
		b := make([]byte, 65536)
		var victim net.Addr
		for {
			size, _, err := back.ReadFrom(b)
			if err != nil {
				return
			}
			if victim == nil {
				victim = <-victims
			}
			front.WriteTo(b[:size], victim)
		}
	}()
	return "udp://" + front.LocalAddr().String()
}

// signedFor changes the server that a login names; "": it names none, as clients of
// the original.
func signedFor(t *testing.T, server string) func([]byte) []byte {
	return func(b []byte) []byte {
		var p wire.Packet
		if p.Decode(b) != nil {
			return b
		}
		m, ok := p.Message.(*wire.LoginRequest)
		if !ok || m.Signature == nil {
			return b
		}
		fields := []wire.Field{wire.Int(wire.KeyLoginToken, 1)}
		if server != "" {
			fields = append(fields, wire.String(wire.KeyLoginServer, server))
		}
		changed, err := wire.Append(nil, wire.Header{Token: p.Token, Seq: p.Seq}, *m, fields...)
		if err != nil {
			t.Error(err)
		}
		return changed
	}
}

// TestLoginIsNotRelayed: a real client that was led to a hostile server signs for that
// server. The hostile server cannot use the signature to log in anywhere else.
func TestLoginIsNotRelayed(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, conf string
		change     func(*testing.T) func([]byte) []byte
		want       bool
	}{
		{"as it is", `(def login-servers "chess.example.org")`, func(*testing.T) func([]byte) []byte { return func(b []byte) []byte { return b } }, false},
		{"with another name", `(def login-servers "chess.example.org")`, func(t *testing.T) func([]byte) []byte { return signedFor(t, "chess.example.org") }, false},
		{"without a name", `(def login-servers "chess.example.org")`, func(t *testing.T) func([]byte) []byte { return signedFor(t, "") }, false},
		{"from one of several machines", `(def cluster-host "chess.example.org")`, func(*testing.T) func([]byte) []byte { return func(b []byte) []byte { return b } }, false},
		{"to a server without names", ``, func(*testing.T) func([]byte) []byte { return func(b []byte) []byte { return b } }, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := serve(t, Options{}, conf(tc.conf)).ready()
			victim := join(t, relay(t, net.UDPAddrFromAddrPort(h.Addresses().UDP), tc.change(t)), wamble.Token{})
			planted := victim.c.Token() // which the hostile server has read
			_, private, _ := ed25519.GenerateKey(nil)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			_, err := victim.c.Login(ctx, private)
			var denied *wamble.Denied
			if tc.want != (err == nil) || err != nil && !errors.As(err, &denied) {
				t.Fatalf("got %v, want a login: %v", err, tc.want)
			}
			if tc.want {
				return // what login-servers is for
			}
			db := h.profiles()[0].store
			until(t, "the session is stored", func() bool { _, err := db.Session(ctx, planted); return err == nil })
			if s, err := db.Session(ctx, planted); err != nil || !s.Key.IsZero() {
				t.Errorf("the session of the hostile server has the identity: %+v, %v", s, err)
			}
			if _, err := db.Player(ctx, wamble.PublicKey(private.Public().(ed25519.PublicKey))); !errors.Is(err,
				store.ErrNotFound) {
				t.Errorf("the identity is known here: %v", err)
			}
		})
	}
}

// TestRevokedSessions: a player ends another session of their identity, and so does the host;
// its token is void from then on, over real sockets and in the store.
func TestRevokedSessions(t *testing.T) {
	t.Parallel()
	h := serve(t, Options{}, conf("")).ready()
	_, private, _ := ed25519.GenerateKey(nil)
	key := hex.EncodeToString(private.Public().(ed25519.PublicKey))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	enter := func() *player {
		p := join(t, h.address(), wamble.Token{})
		if _, err := p.c.Login(ctx, private); err != nil {
			t.Fatal(err)
		}
		return p
	}
	own, other := enter(), enter()
	voided := other.c.Token()
	rows, err := own.c.Sessions(ctx)
	if err != nil || len(rows) != 2 || !rows[0].Own || rows[1].Own || time.Since(rows[1].Created) > time.Hour {
		t.Fatalf("got %+v, %v; want two", rows, err)
	}
	db := h.profiles()[0].store
	until(t, "both are stored", func() bool {
		all, err := db.Sessions(ctx, wamble.PublicKey(private.Public().(ed25519.PublicKey)), 9)
		return err == nil && len(all) == 2
	})
	if left, err := own.c.Revoke(ctx, rows[1].ID); err != nil || len(left) != 1 || !left[0].Own {
		t.Fatalf("got %+v, %v; want one", left, err)
	}
	until(t, "the token is void",
		func() bool { _, err := db.Session(ctx, voided); return errors.Is(err, store.ErrNotFound) })
	if again := join(t, h.address(), voided); again.c.Token() == voided {
		t.Error("the token is good")
	}
	var listed []struct{ Session wamble.SessionID }
	if err := admin.Ask(ctx, h.dir, "sessions", admin.Arguments{Whom: key}, &listed); err != nil || len(listed) != 1 ||
		listed[0].Session != rows[0].ID {
		t.Fatalf("the host sees %+v, %v", listed, err)
	}
	name := h.profiles()[0].name
	if done := h.command("revoke", admin.Arguments{Whom: key, Session: rows[0].ID}); done[name] != 1 {
		t.Errorf("got %v; want one session", done)
	}
	until(t, "the player's own token is void",
		func() bool { _, err := db.Session(ctx, own.c.Token()); return errors.Is(err, store.ErrNotFound) })
	if done := h.command("revoke", admin.Arguments{Whom: key}); done[name] != 0 {
		t.Errorf("got %v; want none", done)
	}
}
