package profile_test

import (
	"fmt"
	"net/netip"
	"time"

	"wamble"
	"wamble/internal/config"
	"wamble/internal/profile"
	"wamble/wire"
)

// A server feeds inputs to a profile, and carries out its outputs. Here the journal is
// durable at once, and the store grants every lease.
func Example() {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	p := profile.New(profile.Options{Config: config.Defaults().Default, Seed: [32]byte{1}, Now: now})
	var out profile.Output
	next := []profile.Input{&profile.Ready{}} // after RestoreBoard and RestoreSession
	step := func() {
		p.Step(now, next, &out)
		next = nil
		for i := range out.Packets.Len() {
			_, packet := out.Packets.At(i)
			h, _ := wire.Peek(packet)
			fmt.Println("send", h.Ctrl)
		}
		if out.Frames.Len() > 0 { // one group for the journal
			fmt.Println("keep", out.Frames.Len(), "frames")
		}
		if out.DurableIndex != 0 {
			next = append(next, &profile.Durable{Index: out.DurableIndex, Seq: out.DurableIndex})
		}
		for _, l := range out.Leases {
			fmt.Println("lease", l.Count, l.Sequence)
			blocks := []wamble.Block{{First: 1, Count: int64(l.Count)}}
			next = append(next, &profile.Leased{Sequence: l.Sequence, Blocks: blocks})
		}
	}
	step()
	step() // the leases make the first boards
	hello, _ := wire.Append(nil, wire.Header{Seq: 1}, wire.ClientHello{})
	peer := wamble.Peer{Addr: netip.MustParseAddrPort("192.0.2.1:4000"), Route: 1} // a connection
	next = append(next, &profile.Packet{Peer: peer, Data: hello})
	step()
	step()
	// Output:
	// lease 256 boards
	// lease 256 sessions
	// lease 16384 players
	// lease 16384 predictions
	// keep 1 frames
	// keep 1 frames
	// send ACK
	// send SERVER_HELLO
}
