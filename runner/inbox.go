package runner

import (
	"encoding/binary"
	"math"
	"sync"
)

// band is a part of an inbox with a table of its own. All bands of an inbox share its sequence
// numbers.
type band uint8

const (
	bandNormal band = iota
	bandHigh
	bandFired
	bandCount
)

var bandTables = [bandCount]table{inboxTable, highTable, firedTable}

// index is the memory of the committer and the workers about the stored state, so that no
// request has to seek from the start of a range. All of it is derived from stored rows when the
// engine opens.
type index struct {
	mu      sync.Mutex
	inboxes map[uint64]*inbox
	names   map[string]*inbox  // the named ones
	owners  map[uint64]*Worker // by the owner of their leases
	last    *inbox             // result of the last lookup
	counters
	timers timerHead
	// schedules are indexed by name, scheduleOf by the armed timer.
	schedules  map[string]*scheduled
	scheduleOf map[TimerID]*scheduled
	// expiryHead is at most the earliest expiry of a dedupe row.
	expiryHead  int64
	outboxMarks marks
	// outboxStored is outboxNext as of the last commit: rows from there on are not shown.
	outboxStored uint64
}

// inbox is the memory of one worker's inbox. Below seen[b] every existing row of band b has an
// entry in leases; at or above it no row was claimed by a scan, but parked rows there have an
// entry too. frontier is seen as of the last commit: a claim is in memory before its leases are
// stored, and after a crash in between the next start must find the rows again.
type inbox struct {
	worker   uint64
	name     string // empty if it has none
	paused   bool   // see PauseQueue
	repeats  bool   // several messages may have an id that the engine has made up
	finished finishedList
	inboxState
	seen  [bandCount]uint64
	upper [bandCount]uint64 // one above the last row of each band
	// visible is upper and next as of the last commit: rows beyond it have a number but are not
	// visible to scans yet, so seen must not pass them.
	visible struct {
		upper [bandCount]uint64
		next  uint64
	}
	claims []*claimSpan // oldest first
	leaseBook
	open openBundle
	// workers are the workers of this inbox; they are woken when there is something new.
	workers []*Worker
	turn    uint
	marks   marks
	dirty   bool
	posted  bool
	split   bool // a part of a bundle may be claimed
	freed   bool // claimed rows may be claimed again, or the time of a parked row has changed
}

// leaseBook has the leases of one inbox, by the first number of their row.
type leaseBook struct {
	leases map[uint64]holding
	first  uint64 // no lease is of a row below it, see firstLease
	expiry heap[expirySpan]
	ready  heap[rowNumber] // rows whose lease has expired, to be taken over
	held   int             // messages whose lease has an owner
	parked int             // messages whose lease has no owner
	// gone has rows that were removed at or above seen: scans may still see them, because the
	// commit that removes them may be in progress. goneIn has their numbers by band.
	gone   map[uint64]bool
	goneIn [bandCount]heap[rowNumber]
}

// holding is a lease, the band of its row, and how many messages the row has.
type holding struct {
	lease
	band band
	n    uint32
}

// claimSpan is how far one claim has moved seen.
type claimSpan struct {
	seen   [bandCount]uint64
	stored bool
}

// reach moves seen to where a scan has ended.
func (in *inbox) reach(reached [bandCount]uint64) {
	for k := range in.seen {
		in.seen[k] = max(in.seen[k], reached[k])
	}
	for k := range in.goneIn {
		for h := &in.goneIn[k]; len(*h) > 0 && uint64((*h)[0]) < in.seen[k]; {
			delete(in.gone, uint64(h.pop()))
		}
	}
}

// publish makes the rows of a finished commit visible to scans.
func (in *inbox) publish() { in.visible.upper, in.visible.next = in.upper, in.next }

// advance moves frontier over the claims whose leases are in this or an earlier commit, up to
// the first that is not stored.
func (in *inbox) advance() {
	for len(in.claims) > 0 && in.claims[0].stored {
		in.frontier = in.claims[0].seen
		in.claims = in.claims[1:]
	}
}

// rowNumber is a sequence number in a heap.
type rowNumber uint64

//lint:ignore U1000 the heap calls it through its constraint
func (n rowNumber) before(m rowNumber) bool { return n < m }

// rowRun is rows with numbers from lo to hi, with few gaps.
type rowRun struct{ lo, hi uint64 }

// maxGap bounds the numbers that a run may lack in one place.
const maxGap = 16

// addRun adds a row of n messages to the last of runs, or as another one.
func addRun(runs []rowRun, seq uint64, n int) []rowRun {
	end := seq + uint64(n) - 1
	if k := len(runs) - 1; k >= 0 && seq > runs[k].hi && seq-runs[k].hi <= maxGap {
		runs[k].hi = end
		return runs
	}
	return append(runs, rowRun{seq, end})
}

// expirySpan is leases that expire together. Spans of settled leases stay in the heap until they
// reach its top.
type expirySpan struct {
	deadline int64
	rowRun
}

//lint:ignore U1000 the heap calls it through its constraint
func (s expirySpan) before(x expirySpan) bool { return s.deadline < x.deadline }

func newInbox(worker uint64) *inbox {
	in := &inbox{worker: worker, inboxState: inboxState{next: 1}}
	in.leases, in.gone = map[uint64]holding{}, map[uint64]bool{}
	in.first = math.MaxUint64
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

// hold records a lease and replaces the row's previous one. It does not schedule its expiry.
func (in *inbox) hold(seq uint64, h holding) {
	if old, ok := in.leases[seq]; ok {
		*in.tally(old) -= int(old.n)
	}
	in.first = min(in.first, seq)
	*in.tally(h) += int(h.n)
	in.leases[seq] = h
}

func (in *inbox) tally(h holding) *int {
	if h.Owner == 0 {
		return &in.parked
	}
	return &in.held
}

// park records a lease and schedules its expiry.
func (in *inbox) park(seq uint64, h holding) {
	in.hold(seq, h)
	in.expiry.push(expirySpan{h.Deadline, rowRun{seq, seq}})
}

// release removes a lease.
func (in *inbox) release(seq uint64) {
	if old, ok := in.leases[seq]; ok {
		*in.tally(old) -= int(old.n)
		if seq >= in.seen[old.band] {
			in.gone[seq] = true
			in.goneIn[old.band].push(rowNumber(seq))
		}
	}
	delete(in.leases, seq)
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

// lookAgain is the interval in ms at which a row is checked whose lease has expired although
// its worker is running: it could not be renewed in time.
const lookAgain = 250

// maxExpire bounds the rows that wait in ready while more expire. It is more than a claim
// takes, and little enough that others who need the index hardly wait.
const maxExpire = 1024

// expire moves rows whose lease has expired to ready, except those that a running worker of
// this process holds: it will settle them, however late. Of many rows it moves some.
func (ix *index) expire(in *inbox, now int64) {
	for len(in.ready) < maxExpire && in.more(now) {
		s := in.expiry.pop()
		again := false
		in.between(s.lo, s.hi, func(seq uint64, h holding) {
			switch {
			case h.Deadline >= now:
			case ix.inHands(h):
				again = true
			default:
				in.ready.push(rowNumber(seq))
			}
		})
		if again {
			in.expiry.push(expirySpan{later(now, lookAgain), s.rowRun})
		}
	}
}

// more reports whether there are rows that expire has yet to move.
func (in *inbox) more(now int64) bool { return len(in.expiry) > 0 && in.expiry[0].deadline < now }

// inHands reports whether a row is held by a worker that is running.
func (ix *index) inHands(h holding) bool {
	w := ix.owners[h.Owner]
	return w != nil && w.active.Load() > 0
}

// takeReady moves up to n rows that may be taken over from ready to dst, lowest first. A claim
// gives back those that it does not lease.
func (ix *index) takeReady(in *inbox, now int64, n int, dst []uint64) []uint64 {
	for len(dst) < n && len(in.ready) > 0 {
		seq := uint64(in.ready.pop())
		h, ok := in.leases[seq]
		switch {
		case !ok, len(dst) > 0 && dst[len(dst)-1] == seq:
		case h.Deadline >= now:
			// Another worker holds the row, or this worker read the clock earlier than the one
			// that put the row here.
			in.expiry.push(expirySpan{h.Deadline, rowRun{seq, seq}})
		case ix.inHands(h):
			in.expiry.push(expirySpan{later(now, lookAgain), rowRun{seq, seq}})
		default:
			dst = append(dst, seq)
		}
	}
	return dst
}

// giveBack puts rows that takeReady has returned, and that were not leased since, back into
// ready.
func (in *inbox) giveBack(rows []uint64, now int64) {
	for _, seq := range rows {
		if h, ok := in.leases[seq]; ok && h.Deadline < now {
			in.ready.push(rowNumber(seq))
		}
	}
}

// firstLease returns the lowest row below end that has a lease, or end.
func (in *inbox) firstLease(end uint64) (first uint64, h holding) {
	for walk := 4 * len(in.leases); in.first < end; walk-- {
		if h, ok := in.leases[in.first]; ok {
			return in.first, h
		}
		if walk > 0 {
			in.first++
			continue
		}
		in.first = math.MaxUint64
		for seq := range in.leases {
			in.first = min(in.first, seq)
		}
	}
	return end, holding{}
}

// nextClaim returns the earliest deadline after which a worker may find a row to claim. An
// ordered worker waits for the first row that has a lease.
func (ix *index) nextClaim(in *inbox, now int64, ordered bool) int64 {
	if ordered {
		switch _, h := in.firstLease(math.MaxUint64); {
		case h.n == 0:
		case h.Deadline >= now:
			return h.Deadline
		case ix.inHands(h):
			return later(now, lookAgain)
		default:
			return math.MinInt64
		}
	}
	if len(in.ready) > 0 {
		return math.MinInt64
	}
	if len(in.expiry) == 0 {
		return math.MaxInt64
	}
	return in.expiry[0].deadline
}

// wakeOne wakes a worker of the inbox that has nothing to do, if there is one. When that one has
// claimed rows and there are more, it wakes the next: so no more of them are woken than find work,
// and little work is always done by the same ones, whose memory is in the processor's cache.
func (in *inbox) wakeOne() {
	for _, w := range in.workers {
		if w.idle.Load() && !w.held() && w.poke() {
			return
		}
	}
}

// free reports whether a claim may find a row.
func (in *inbox) free(now int64) bool {
	for k := range in.seen {
		if in.seen[k] < in.visible.upper[k] {
			return true
		}
	}
	return len(in.ready) > 0 || in.more(now)
}

func (in *inbox) wakeAll() {
	for _, w := range in.workers {
		w.poke()
	}
}

// note records the time at which the rows of this commit arrived.
func (in *inbox) note(seq uint64, now int64) {
	in.marks.note(seq, in.oldest(), now)
}

// oldest returns the lowest sequence number that may be unfinished.
func (in *inbox) oldest() uint64 {
	first, _ := in.firstLease(in.lowest())
	return first
}

// inboxState is the stored part of an inbox.
type inboxState struct {
	next     uint64 // next sequence number
	count    uint64 // messages, including leased ones
	frontier [bandCount]uint64
	// leaseHead is oldest as of the last commit: a start reads the leases from there on.
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
	return inboxState{next: at(0), count: at(1), frontier: [bandCount]uint64{at(2), at(3), at(4)}, leaseHead: at(5)},
		nil
}
