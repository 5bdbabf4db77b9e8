package profile

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"wamble"
	"wamble/chess"
	"wamble/internal/prooftest"
)

// A player who is connected, holds a board and has been silent for a while costs at most 2.15
// KiB in all: their session (at most 1 KiB alone, once they are disconnected) and the link to
// their address.
func TestMemoryOfAPlayer(t *testing.T) {
	const players, most = 20_000, 2200
	c := emptyCrowd(t, fmt.Sprintf(`(def max-boards %d) (def min-boards 0) (def max-players %d) (def max-client-sessions 100000)
		(def rate-limit-requests-per-sec 0) (def rate-limit-ip-requests-per-sec 0) (def new-players-per-ip-per-min 0)`, 2*players, 2*players))
	b := wamble.Board{FEN: chess.StartFEN, Status: wamble.Dormant, Variant: -1, Created: epoch.Add(-time.Hour)}
	for i := range players + 1 {
		b.ID = wamble.BoardID(i + 1)
		c.step(&RestoreBoard{Board: b})
	}
	c.players = make([]mover, 0, players)
	before := prooftest.Heap()
	s := wamble.Session{LastSeen: epoch}
	for i := range players {
		token := wamble.Token{1, byte(i), byte(i >> 8), byte(i >> 16)}
		s.ID, s.Token = wamble.SessionID(i+1), token.Hash()
		c.step(&RestoreSession{Session: s})
		c.players = append(c.players, mover{peer: peerAt(i), token: token, id: s.ID})
	}
	c.step(&Ready{})
	for i := range c.players {
		m := &c.players[i]
		c.now = c.now.Add(time.Millisecond) // so that not all answers are kept at once
		c.step(&Packet{Peer: m.peer, Data: helloPacket(m.token, 0)})
		c.step(&Durable{Index: c.index, Seq: c.seq}, &Applied{Seq: c.seq})
		c.step(&Packet{Peer: m.peer, Data: ackPacket(m.token, 1)})
	}
	for range 20 { // answers are kept for a while
		c.now = c.now.Add(time.Second)
		c.step(&Tick{})
	}
	if got := c.p.link.Size(); got.Paths != players || c.p.boards.Held(players) == nil {
		t.Fatalf("%+v, and the last player holds %v", got, c.p.boards.Held(players))
	}
	got := int(prooftest.Heap()-before) / players
	t.Logf("%d bytes a player", got)
	if got > most {
		t.Errorf("%d bytes a player, want at most %d", got, most)
	}
	runtime.KeepAlive(c)
}
