package server

import (
	"bytes"
	"encoding/hex"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wamble"
	"wamble/internal/profile"
	"wamble/wire"
)

// TestPacketPanicsTwice: a packet that makes the profile panic, at once or after a load, does
// so twice at most; then it is refused from every sender, and play goes on. The dump shows
// the packet without the token.
func TestPacketPanicsTwice(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		message wire.Message
		at      int // the number of the call that panics
	}{
		{"at once", &wire.GetProfileInfo{Name: wire.Text("poison")}, 1},
		{"after a load", &wire.GetPlayerStats{}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			s := serve(t, Options{Dir: dir}, conf("")).ready()
			players := gather(t, s.address(), 4)
			players.play()
			players.more(t, 20)
			conn, err := net.Dial("udp", s.Addresses().UDP.String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			const board = 77123 // no player requests this board
			var tokens []wamble.Token
			poison := func() {
				t.Helper()
				token := wamble.Token{0xaa, 0xbb, 0xcc, byte(len(tokens)), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
				tokens = append(tokens, token)
				b, err := wire.Append(nil, wire.Header{Token: token, Board: board, Seq: uint32(len(tokens))}, c.message)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := conn.Write(b); err != nil {
					t.Fatal(err)
				}
			}
			armed := func() {
				t.Helper()
				until(t, "the trap is set", func() bool {
					return s.first().shards[0].runtime.Do(t.Context(), func(p *profile.Profile) {
						seen := 0
						p.BeforePacket = func(packet []byte) {
							if h, err := wire.Peek(packet); err == nil && h.Board == board {
								if seen++; seen == c.at {
									panic("a test panics in a packet")
								}
							}
						}
					})
				})
			}
			for i := range 2 {
				armed()
				poison()
				until(t, "the profile has failed",
					func() bool { n, _ := s.first().shards[0].failures(); return n == i+1 })
				players.more(t, 20)
			}
			armed()
			for range 5 {
				poison()
			}
			until(t, "the packets are refused", func() bool {
				return strings.Contains(s.metrics(), `wamble_packets_quarantined_total{profile="default"} 5`)
			})
			players.more(t, 20)
			players.finish()
			if n, _ := s.first().shards[0].failures(); n != 2 {
				t.Errorf("the profile has failed %d times, want 2", n)
			}
			s.end()
			if !strings.Contains(s.log.String(), "is refused from now on") {
				t.Error("the log does not tell of the quarantine")
			}
			dumps, _ := filepath.Glob(filepath.Join(dir, "crash-default-*.txt"))
			if len(dumps) != 2 {
				t.Fatalf("got %d dumps, want 2", len(dumps))
			}
			for _, file := range dumps {
				text, err := os.ReadFile(file)
				if err != nil || !bytes.Contains(text, []byte("the packet that was handled")) ||
					!bytes.Contains(text, []byte(strings.Repeat("ee", 16))) {
					t.Errorf("the dump does not show the packet: %v\n%s", err, text)
				}
				for _, p := range players.players {
					tokens = append(tokens, p.c.Token())
				}
				for _, token := range tokens {
					if bytes.Contains(text, []byte(hex.EncodeToString(token[:]))) {
						t.Errorf("the dump tells a token:\n%s", text)
					}
				}
			}
			verifySQLite(t, dir, players)
		})
	}
}
