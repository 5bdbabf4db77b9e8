package link

import (
	"encoding/binary"
	"errors"
	"time"

	"wamble"
)

// ErrHeld is returned when a snapshot is asked for while outputs wait for their
// gate: release them first.
var ErrHeld = errors.New("outputs wait for their gate")

// ErrState is returned when bytes are not a state that this version can restore.
var ErrState = errors.New("not a state of link that can be restored")

// A state begins with its magic number and version; the version changes with
// the layout.
const (
	stateMagic   = "WLNK"
	stateVersion = 1
)

// writer appends the parts of a state. Numbers are varints; times are relative
// to the time of the snapshot, because the next process has another epoch.
type writer struct {
	b   []byte
	now time.Duration
}

func (w *writer) num(v uint64)         { w.b = binary.AppendUvarint(w.b, v) }
func (w *writer) int(v int64)          { w.b = binary.AppendVarint(w.b, v) }
func (w *writer) time(t time.Duration) { w.int(int64(t - w.now)) }
func (w *writer) token(t wamble.Token) { w.b = append(w.b, t[:]...) }

func (w *writer) bytes(b []byte) {
	w.num(uint64(len(b)))
	w.b = append(w.b, b...)
}

func (w *writer) print(p fingerprint) {
	w.num(uint64(p.seq))
	w.num(uint64(p.hash))
}

func (w *writer) bool(v bool) {
	if v {
		w.num(1)
	} else {
		w.num(0)
	}
}

func (w *writer) peer(p wamble.Peer) {
	addr, err := p.Addr.MarshalBinary()
	if err != nil {
		panic("link: an address has a binary form: " + err.Error())
	}
	w.bytes(addr)
	w.num(uint64(p.Route))
}

// reader takes the parts of a state apart. After the first fault everything it
// returns is zero.
type reader struct {
	b   []byte
	now time.Duration
	bad bool
}

func (r *reader) fail() { r.bad, r.b = true, nil }

func (r *reader) num() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) int() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

// span returns a duration that can be added to others without overflow.
func (r *reader) span() time.Duration {
	const limit = 10 * 365 * 24 * time.Hour
	d := time.Duration(r.int())
	if d < -limit || d > limit {
		r.fail()
		return 0
	}
	return d
}

func (r *reader) time() time.Duration { return r.span() + r.now }
func (r *reader) bool() bool          { return r.num() == 1 }

// count returns the length of a list, of which each entry takes at least one
// byte: a longer one is a fault.
func (r *reader) count() int {
	n := r.num()
	if n > uint64(len(r.b)) {
		r.fail()
		return 0
	}
	return int(n)
}

// listOf reads a list whose entries f reads.
func listOf[T any](r *reader, f func() T) []T {
	var all []T
	for n := r.count(); n > 0 && !r.bad; n-- {
		all = append(all, f())
	}
	return all
}

// index returns a number below n.
func (r *reader) index(n int) int {
	i := r.num()
	if i >= uint64(n) {
		r.fail()
		return 0
	}
	return int(i)
}

func (r *reader) take(n int) []byte {
	if n > len(r.b) {
		r.fail()
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) print() fingerprint { return fingerprint{uint32(r.num()), uint32(r.num())} }

func (r *reader) token() (t wamble.Token) {
	copy(t[:], r.take(len(t)))
	return t
}

func (r *reader) peer() (p wamble.Peer) {
	if p.Addr.UnmarshalBinary(r.take(r.count())) != nil {
		r.fail()
	}
	p.Route = uint32(r.num())
	return p
}
