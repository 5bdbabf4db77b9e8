package link

import (
	"errors"
	"time"

	"wamble"
	"wamble/internal/pack"
	"wamble/internal/tokenbucket"
)

// ErrHeld is returned by Snapshot while outputs wait for their durable index; release them first.
var ErrHeld = errors.New("outputs wait for their gate")

// ErrState is returned for bytes that are not a state of this version.
var ErrState = errors.New("not a state of link that can be restored")

// A state begins with its magic number and version; the version changes with
// the layout.
const (
	stateMagic   = "WLNK"
	stateVersion = 1
)

// writer appends the fields of a state. Times are relative to the time of the snapshot, because
// the next process has another epoch.
type writer struct {
	pack.Writer
	now time.Duration
}

func (w *writer) time(t time.Duration) { w.Int(int64(t - w.now)) }
func (w *writer) token(t wamble.Token) { w.Raw(t[:]...) }

func (w *writer) bucket(b tokenbucket.Bucket, l tokenbucket.Limit) {
	used, at := b.Used(w.now, l)
	w.Int(int64(used))
	w.time(at)
}

func (w *writer) print(p fingerprint) {
	w.Uint(uint64(p.seq))
	w.Uint(uint64(p.hash))
}

func (w *writer) bool(v bool) {
	if v {
		w.Uint(1)
	} else {
		w.Uint(0)
	}
}

// bits writes up to 64 facts in one number. A later version may add facts at the end: a process that knows
// fewer ignores them, and reads of an older one that they are false.
func (w *writer) bits(facts ...bool) {
	var n uint64
	for i, fact := range facts {
		if fact {
			n |= 1 << i
		}
	}
	w.Uint(n)
}

func (w *writer) peer(p wamble.Peer) {
	addr, err := p.Addr.MarshalBinary()
	if err != nil {
		panic("link: an address has a binary form: " + err.Error())
	}
	w.Bytes(addr)
	w.Uint(p.Place())
}

// reader reads the fields of a state.
type reader struct {
	pack.Reader
	now time.Duration
}

// span returns a duration that can be added to others without overflow.
func (r *reader) span() time.Duration {
	const limit = 10 * 365 * 24 * time.Hour
	d := time.Duration(r.Int())
	if d < -limit || d > limit {
		r.Fail()
		return 0
	}
	return d
}

func (r *reader) time() time.Duration { return r.span() + r.now }
func (r *reader) bool() bool          { return r.Uint() == 1 }

// bits reads what writer.bits wrote.
func (r *reader) bits(facts ...*bool) {
	n := r.Uint()
	for i, fact := range facts {
		*fact = n>>i&1 == 1
	}
}

func (r *reader) bucket(l tokenbucket.Limit) tokenbucket.Bucket {
	used := min(max(r.Int(), 0), int64(l.Burst))
	return tokenbucket.Full(r.time(), int(used), l)
}

// listOf reads a list whose entries are read by f.
func listOf[T any](r *reader, f func() T) []T {
	var all []T
	for n := r.Count(); n > 0 && !r.Bad(); n-- {
		all = append(all, f())
	}
	return all
}

// index reads a number below n.
func (r *reader) index(n int) int {
	i := r.Uint()
	if i >= uint64(n) {
		r.Fail()
		return 0
	}
	return int(i)
}

func (r *reader) print() fingerprint { return fingerprint{r.Uint32(), r.Uint32()} }

func (r *reader) token() (t wamble.Token) {
	copy(t[:], r.Take(len(t)))
	return t
}

func (r *reader) peer() (p wamble.Peer) {
	r.Must(p.Addr.UnmarshalBinary(r.Bytes()) == nil)
	p.SetPlace(r.Uint())
	return p
}
