package runner

import (
	"encoding/binary"
	"math"
	"slices"
	"sync"
)

// band is a part of an inbox with a table of its own. All bands of an inbox
// share its sequence numbers.
type band uint8

const (
	bandNormal band = iota
	bandHigh
	bandFired
	bandCount
)

var bandTables = [bandCount]table{inboxTable, highTable, firedTable}

// index is what the committer and the workers remember of the stored state, so
// that no request has to seek from the start of a range. Everything in it is
// derived from stored rows when the engine opens.
type index struct {
	mu      sync.Mutex
	inboxes map[uint64]*inbox
	names   map[string]*inbox  // those with a name
	owners  map[uint64]*Worker // the workers, by the owner of their leases
	last    *inbox             // that was looked up last
	counters
	timers timerHead
	// schedules are by name, and by the timer that is armed.
	schedules  map[string]*scheduled
	scheduleOf map[TimerID]*scheduled
	// expiryHead is the earliest expiry of a dedupe row that may exist.
	expiryHead  int64
	outboxMarks marks
	// outboxStored is outboxNext as of the last commit: nobody is told of rows from there on.
	outboxStored uint64
}

// inbox is the memory of one worker's inbox. Below seen[b] every row of band b
// that exists has an entry in leases; at or above it none was claimed by a
// scan, though parked rows there have an entry too. frontier is the same as of
// the last commit: a claim is in memory before its leases are stored, and a
// crash in between must find the rows again.
type inbox struct {
	worker uint64
	name   string // empty without one
	paused bool   // see PauseQueue
	// finished are the numbers of the messages that are done and not forgotten.
	finished span
	inboxState
	seen  [bandCount]uint64
	upper [bandCount]uint64 // above the last row of each band
	// visible is upper and next as of the last commit: beyond it rows have a
	// number but no scan can see them yet, so no scan may pass them by.
	visible struct {
		upper [bandCount]uint64
		next  uint64
	}
	claims []*claimSpan // in the order they were made
	leaseBook
	open   openBundle
	recent recent
	// workers are those of this inbox; they are woken when it has something new.
	workers []*Worker
	turn    uint
	marks   marks
	dirty   bool
	posted  bool
	freed   bool // rows that were claimed may be claimed again
}

// leaseBook is the memory of the leases of one inbox, by the first number of
// their row.
type leaseBook struct {
	leases map[uint64]holding
	expiry expiryHeap
	ready  []uint64 // rows whose lease ran out, candidates for a takeover
	held   int      // messages with an owner
	parked int      // messages whose lease has none
	// gone are rows that were removed at or above seen: a scan may still see
	// them, because the commit that removes them may be under way.
	gone map[uint64]band
}

// holding is a lease, where its row is, and how many messages that holds.
type holding struct {
	lease
	band band
	n    uint32
}

// claimSpan is how far one claim moved seen.
type claimSpan struct {
	seen   [bandCount]uint64
	stored bool
}

// reach moves seen up to where a scan has come.
func (in *inbox) reach(reached [bandCount]uint64) {
	for k := range in.seen {
		in.seen[k] = max(in.seen[k], reached[k])
	}
	in.recent.pass(in.seen[bandNormal])
	for seq, k := range in.gone {
		if seq < in.seen[k] {
			delete(in.gone, seq)
		}
	}
}

// publish makes rows of a finished commit known to scans.
func (in *inbox) publish() { in.visible.upper, in.visible.next = in.upper, in.next }

// advance moves frontier over the claims whose leases are in this commit or an
// earlier one, as far as no earlier claim is missing.
func (in *inbox) advance() {
	for len(in.claims) > 0 && in.claims[0].stored {
		in.frontier = in.claims[0].seen
		in.claims = in.claims[1:]
	}
}

// expirySpan stands for the leases of one claim, which end together.
type expirySpan struct {
	deadline int64
	lo, hi   uint64
}

// expiryHeap is a binary heap of spans, earliest deadline first. Entries of
// leases that were settled stay until they come up.
type expiryHeap []expirySpan

func (h *expiryHeap) push(s expirySpan) {
	*h = append(*h, s)
	q := *h
	for i := len(q) - 1; i > 0; {
		up := (i - 1) / 2
		if q[up].deadline <= q[i].deadline {
			break
		}
		q[up], q[i] = q[i], q[up]
		i = up
	}
}

func (h *expiryHeap) pop() expirySpan {
	q := *h
	top := q[0]
	last := len(q) - 1
	q[0] = q[last]
	q = q[:last]
	*h = q
	for i := 0; ; {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(q); c++ {
			if q[c].deadline < q[least].deadline {
				least = c
			}
		}
		if least == i {
			return top
		}
		q[i], q[least] = q[least], q[i]
		i = least
	}
}

func newInbox(worker uint64) *inbox {
	in := &inbox{worker: worker, inboxState: inboxState{next: 1}}
	in.leases, in.gone = map[uint64]holding{}, map[uint64]band{}
	in.recent.from = math.MaxUint64
	return in
}

func (ix *index) inbox(worker uint64) *inbox {
	if ix.last != nil && ix.last.worker == worker {
		return ix.last
	}
	in := ix.inboxes[worker]
	if in == nil {
		in = newInbox(worker)
		ix.inboxes[worker] = in
	}
	ix.last = in
	return in
}

// hold records a lease and replaces the row's former one, if any. It does not
// plan its expiry.
func (in *inbox) hold(seq uint64, h holding) {
	if old, ok := in.leases[seq]; ok {
		*in.tally(old) -= int(old.n)
	}
	*in.tally(h) += int(h.n)
	in.leases[seq] = h
}

func (in *inbox) tally(h holding) *int {
	if h.Owner == 0 {
		return &in.parked
	}
	return &in.held
}

// park records a lease and plans its expiry.
func (in *inbox) park(seq uint64, h holding) {
	in.hold(seq, h)
	in.expiry.push(expirySpan{h.Deadline, seq, seq})
}

// release forgets a lease. When no lease is left, rows that may have one begin
// at the lowest frontier, from which the next start then reads.
func (in *inbox) release(seq uint64) {
	if old, ok := in.leases[seq]; ok {
		*in.tally(old) -= int(old.n)
		if seq >= in.seen[old.band] {
			in.gone[seq] = old.band
		}
	}
	delete(in.leases, seq)
	if len(in.leases) == 0 {
		in.leaseHead = in.lowest()
	}
}

func (in *inbox) lowest() uint64 { return min(in.frontier[0], in.frontier[1], in.frontier[2]) }

// between visits the leases of rows lo to hi.
func (in *inbox) between(lo, hi uint64, visit func(seq uint64, h holding)) {
	if hi-lo > uint64(4*len(in.leases)) {
		for seq, h := range in.leases {
			if seq >= lo && seq <= hi {
				visit(seq, h)
			}
		}
		return
	}
	for seq := lo; ; seq++ {
		if h, ok := in.leases[seq]; ok {
			visit(seq, h)
		}
		if seq == hi {
			break
		}
	}
}

// lookAgain is after how many ms a row is looked at again whose lease ran out
// although its worker runs: it could not be renewed in time.
const lookAgain = 250

// expire moves rows whose lease ran out before now to ready, except those that a
// worker of this process has in its hands: it will settle them, however late.
func (ix *index) expire(in *inbox, now int64) {
	for len(in.expiry) > 0 && in.expiry[0].deadline < now {
		s := in.expiry.pop()
		again := false
		in.between(s.lo, s.hi, func(seq uint64, h holding) {
			switch {
			case h.Deadline >= now:
			case ix.inHands(h):
				again = true
			default:
				in.ready = append(in.ready, seq)
			}
		})
		if again {
			in.expiry.push(expirySpan{later(now, lookAgain), s.lo, s.hi})
		}
	}
}

// inHands reports whether a row is held by a worker that is at work now.
func (ix *index) inHands(h holding) bool {
	w := ix.owners[h.Owner]
	return w != nil && w.active.Load() > 0
}

// takeReady returns up to n rows that may be taken over, lowest first, and
// removes from ready what no longer may.
func (ix *index) takeReady(in *inbox, now int64, n int, dst []uint64) []uint64 {
	if len(in.ready) == 0 {
		return dst
	}
	slices.Sort(in.ready)
	in.ready = slices.Compact(in.ready)
	keep := in.ready[:0]
	for _, seq := range in.ready {
		h, ok := in.leases[seq]
		switch {
		case !ok:
		case h.Deadline >= now:
			// Somebody has it, or this worker read the clock before the one that put
			// the row here.
			in.expiry.push(expirySpan{h.Deadline, seq, seq})
		case ix.inHands(h):
			in.expiry.push(expirySpan{later(now, lookAgain), seq, seq})
		case len(dst) < n:
			dst = append(dst, seq)
			keep = append(keep, seq)
		default:
			keep = append(keep, seq)
		}
	}
	in.ready = keep
	return dst
}

// firstLease returns the lowest row that has a lease, if there is one.
func (in *inbox) firstLease() (first uint64, h holding) {
	first = math.MaxUint64
	for seq := range in.leases {
		first = min(first, seq)
	}
	return first, in.leases[first]
}

// nextClaim is the earliest deadline after which a worker may find a row to claim. One
// that is ordered waits for the first row that has a lease, whatever is behind it.
func (ix *index) nextClaim(in *inbox, now int64, ordered bool) int64 {
	if _, h := in.firstLease(); ordered && h.n > 0 {
		switch {
		case h.Deadline >= now:
			return h.Deadline
		case ix.inHands(h):
			return later(now, lookAgain)
		}
		return math.MinInt64
	}
	if len(in.ready) > 0 {
		return math.MinInt64
	}
	if len(in.expiry) == 0 {
		return math.MaxInt64
	}
	return in.expiry[0].deadline
}

func (in *inbox) wakeAll() {
	for _, w := range in.workers {
		w.poke()
	}
}

// note remembers when the rows of this commit came, coarsely.
func (in *inbox) note(seq uint64, now int64) {
	in.marks.note(seq, in.oldest(), now)
}

// oldest is the lowest sequence number that may still be unfinished.
func (in *inbox) oldest() uint64 {
	if len(in.leases) > 0 {
		return min(in.leaseHead, in.lowest())
	}
	return in.lowest()
}

// inboxState is the durable part of an inbox.
type inboxState struct {
	next     uint64 // the next sequence number to give
	count    uint64 // rows, leased ones included
	frontier [bandCount]uint64
	// leaseHead is below or equal to the lowest row that has a lease, and to
	// every frontier: what is claimed later must not fall below it.
	leaseHead uint64
}

const (
	inboxMagic    = "INB0"
	inboxStateLen = 4 + (3+int(bandCount))*8
)

func (s inboxState) append(dst []byte) []byte {
	dst = append(dst, inboxMagic...)
	for _, v := range [6]uint64{s.next, s.count, s.frontier[0], s.frontier[1], s.frontier[2], s.leaseHead} {
		dst = binary.LittleEndian.AppendUint64(dst, v)
	}
	return dst
}

func decodeInboxState(b []byte) (inboxState, error) {
	if len(b) != inboxStateLen || string(b[:4]) != inboxMagic {
		return inboxState{}, badLength("inbox state", b)
	}
	at := func(i int) uint64 { return binary.LittleEndian.Uint64(b[4+8*i:]) }
	return inboxState{next: at(0), count: at(1), frontier: [bandCount]uint64{at(2), at(3), at(4)}, leaseHead: at(5)}, nil
}
