package loop

import (
	"encoding/hex"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"sync/atomic"

	"wamble"
	"wamble/internal/guard"
	"wamble/internal/profile"
	"wamble/wire"
)

// quarantine knows the packets in whose handling the profile has panicked. What
// has done so twice is refused from then on, whoever sends it: a profile that is
// made anew for each of them would serve nobody. It belongs to the loop, and
// outlives it; the next image of the process begins with an empty one.
type quarantine struct {
	seed     maphash.Seed
	suspects []suspect // the oldest first
	closed   int       // how many of them are refused
	refused  atomic.Uint64
}

// suspect is what a packet asks for, as a hash, and how often that panicked.
type suspect struct {
	print  uint64
	panics int
}

const (
	mostSuspects = 16
	// fatalPanics is how many panics put a packet into quarantine: the first may be
	// the fault of something else, which is gone when the profile was made anew.
	fatalPanics = 2
)

func newQuarantine() quarantine { return quarantine{seed: maphash.MakeSeed()} }

// print is a hash of what a packet asks for: control code, board and payload. Token
// and number are left out, because a sender chooses them as he likes.
func (q *quarantine) print(packet []byte) uint64 {
	var h maphash.Hash
	h.SetSeed(q.seed)
	if size, err := wire.Size(packet); err == nil {
		h.WriteByte(packet[0])
		h.Write(packet[20:28])
		h.Write(packet[wire.HeaderSize:size])
	} else {
		h.Write(packet)
	}
	return h.Sum64()
}

// blame takes note that the profile has panicked over a packet, and returns how
// often that was.
func (q *quarantine) blame(packet []byte) int {
	print := q.print(packet)
	i := slices.IndexFunc(q.suspects, func(s suspect) bool { return s.print == print })
	if i < 0 {
		if len(q.suspects) == mostSuspects {
			q.forget()
		}
		i = len(q.suspects)
		q.suspects = append(q.suspects, suspect{print: print})
	}
	if q.suspects[i].panics++; q.suspects[i].panics == fatalPanics {
		q.closed++
	}
	return q.suspects[i].panics
}

// forget drops the oldest suspect that is not refused, or the oldest of all.
func (q *quarantine) forget() {
	i := slices.IndexFunc(q.suspects, func(s suspect) bool { return s.panics < fatalPanics })
	if i < 0 {
		i = 0
		q.closed--
	}
	q.suspects = slices.Delete(q.suspects, i, i+1)
}

// refuses reports whether a packet is not to reach the profile.
func (q *quarantine) refuses(packet []byte) bool {
	if q.closed == 0 {
		return false
	}
	print := q.print(packet)
	if !slices.ContainsFunc(q.suspects, func(s suspect) bool { return s.print == print && s.panics >= fatalPanics }) {
		return false
	}
	q.refused.Add(1)
	return true
}

// lastPackets is how many packets a crash dump shows.
const lastPackets = 16

// recent keeps the packets that the profile was told last.
type recent struct {
	ring [lastPackets]struct {
		peer wamble.Peer
		size int
		data [wire.MaxPacket]byte
	}
	next int
}

// keep copies the last of some packets.
func (r *recent) keep(packets []profile.Packet) {
	for i := max(0, len(packets)-lastPackets); i < len(packets); i++ {
		p := &r.ring[r.next%lastPackets]
		p.peer, p.size = packets[i].Peer, copy(p.data[:], packets[i].Data)
		r.next++
	}
}

// inquest finds out what is known of a panic of the loop: the packet in hand, which
// is a suspect from now on, and those before it.
func (l *loop) inquest(p *guard.Panic) {
	var text strings.Builder
	if packet := l.life.profile.Hand(); packet != nil {
		n := l.rt.quarantine.blame(packet)
		fmt.Fprintf(&text, "the packet in hand, panic %d of %d before it is refused:\n%s\n\n", n, fatalPanics, masked(packet))
		if n == fatalPanics {
			h, _ := wire.Peek(packet)
			l.rt.o.Log.Error("a packet has made the profile panic twice; what asks for the same is refused from now on", "control", h.Ctrl)
		}
	}
	r := &l.recent
	fmt.Fprintf(&text, "the last packets, the newest first (masked tokens; 'wamble packet decode' reads them):\n")
	for n := range min(lastPackets, r.next) {
		p := &r.ring[(r.next-1-n)%lastPackets]
		fmt.Fprintf(&text, "%v %s\n", p.peer, masked(p.data[:p.size]))
	}
	p.Detail = text.String()
}

// masked is a packet in hexadecimal digits, with ee for the bytes of its token.
func masked(packet []byte) string {
	b := slices.Clone(packet)
	var none wamble.Token
	if at := b[min(4, len(b)):min(20, len(b))]; string(at) != string(none[:len(at)]) {
		for i := range at {
			at[i] = 0xee
		}
	}
	return hex.EncodeToString(b)
}
