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

// quarantine holds the packets whose handling made the profile panic. A packet that did so fatalPanics
// times is refused from then on, from any sender: a profile that is restored for each of them would serve
// nobody. Only the loop's goroutine uses it, but it outlives the loop; after a handoff the next process begins
// with an empty one.
type quarantine struct {
	seed     maphash.Seed
	suspects []suspect // the oldest first
	closed   int       // how many of them are refused
	refused  atomic.Uint64
}

// suspect is the hash of what a packet asks for, and how many panics it caused.
type suspect struct {
	fingerprint uint64
	panics      int
}

const (
	maxSuspects = 16
	// fatalPanics is how many panics put a packet into quarantine: the first may have another cause, which
	// is gone once the profile was restored.
	fatalPanics = 2
)

func newQuarantine() quarantine { return quarantine{seed: maphash.MakeSeed()} }

// fingerprint returns a hash of what a packet asks for: control code, board and payload. Token and sequence
// number are left out, because the sender chooses them.
func (q *quarantine) fingerprint(packet []byte) uint64 {
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

// blame counts a panic over a packet, and returns how many it has caused.
func (q *quarantine) blame(packet []byte) int {
	print := q.fingerprint(packet)
	i := slices.IndexFunc(q.suspects, func(s suspect) bool { return s.fingerprint == print })
	if i < 0 {
		if len(q.suspects) == maxSuspects {
			q.forget()
		}
		i = len(q.suspects)
		q.suspects = append(q.suspects, suspect{fingerprint: print})
	}
	if q.suspects[i].panics++; q.suspects[i].panics == fatalPanics {
		q.closed++
	}
	return q.suspects[i].panics
}

// forget drops the oldest suspect that is not refused, or else the oldest of all.
func (q *quarantine) forget() {
	i := slices.IndexFunc(q.suspects, func(s suspect) bool { return s.panics < fatalPanics })
	if i < 0 {
		i = 0
		q.closed--
	}
	q.suspects = slices.Delete(q.suspects, i, i+1)
}

// refuses reports whether a packet must not reach the profile.
func (q *quarantine) refuses(packet []byte) bool {
	if q.closed == 0 {
		return false
	}
	print := q.fingerprint(packet)
	fatal := func(s suspect) bool { return s.fingerprint == print && s.panics >= fatalPanics }
	if !slices.ContainsFunc(q.suspects, fatal) {
		return false
	}
	q.refused.Add(1)
	return true
}

// lastPackets is how many packets a crash dump shows.
const lastPackets = 16

// recentPackets is a ring of the packets that the profile was given last.
type recentPackets struct {
	ring [lastPackets]struct {
		peer wamble.Peer
		size int
		data [wire.MaxPacket]byte
	}
	next int
}

// add copies the last lastPackets of packets.
func (r *recentPackets) add(packets []profile.Packet) {
	for i := max(0, len(packets)-lastPackets); i < len(packets); i++ {
		p := &r.ring[r.next%lastPackets]
		p.peer, p.size = packets[i].Peer, copy(p.data[:], packets[i].Data)
		r.next++
	}
}

// describePanic adds to a panic of the loop what is known of its cause: the packet that was handled, which
// becomes a suspect, and the packets before it.
func (l *loop) describePanic(p *guard.Panic) {
	var text strings.Builder
	if packet := l.instance.profile.CurrentPacket(); packet != nil {
		n := l.rt.quarantine.blame(packet)
		fmt.Fprintf(&text, "the packet that was handled, panic %d of %d before it is refused:\n%s\n\n", n, fatalPanics,
			masked(packet))
		if n == fatalPanics {
			h, _ := wire.Peek(packet)
			l.rt.o.Log.Error("a packet has made the profile panic twice; what asks for the same is refused from now on",
				"control", h.Ctrl)
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

// masked returns a packet in hexadecimal digits, with ee for the bytes of its token.
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
