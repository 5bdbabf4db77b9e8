package link

import (
	"encoding/binary"
	"time"

	"wamble/wire"
)

// How many packets of the server a client keeps hashes of, and how long: longer than a server
// repeats a packet and the network delays it.
const (
	recentSize = 256
	recentTime = 30 * time.Second
)

// recent is the client's duplicate filter. A sequence number does not identify a packet:
// SERVER_HELLO and the packet after it may both have 1, and a restarted server counts from 1
// again. Repetitions are identical byte for byte, so the filter uses a hash of the bytes.
type recent struct {
	ring [recentSize]recentPacket
	next int
}

type recentPacket struct {
	hash uint64
	at   time.Duration
	used bool
}

// record stores the hash of a packet, and reports whether it was already stored.
func (r *recent) record(now time.Duration, hash uint64) bool {
	if r.known(now, hash) {
		return true
	}
	r.ring[r.next] = recentPacket{hash, now, true}
	r.next = (r.next + 1) % recentSize
	return false
}

func (r *recent) known(now time.Duration, hash uint64) bool {
	for i := range r.ring {
		if m := &r.ring[i]; m.used && m.hash == hash && now-m.at < recentTime {
			return true
		}
	}
	return false
}

// FNV-1a, 64 bits.
const (
	fnvOffset = 0xcbf29ce484222325
	fnvPrime  = 0x100000001b3
)

func hashOf(b []byte) uint64 {
	h := uint64(fnvOffset)
	for _, c := range b {
		h = (h ^ uint64(c)) * fnvPrime
	}
	return h
}

// hashOfTransfer returns a hash that is the same for all chunks of a transfer.
func hashOfTransfer(h wire.Header, f *wire.Fragment) uint64 {
	var b [1 + 16 + 4 + 32]byte
	b[0] = byte(h.Ctrl)
	copy(b[1:], h.Token[:])
	binary.BigEndian.PutUint32(b[17:], f.Transfer)
	copy(b[21:], f.Hash[:])
	return hashOf(b[:])
}
