package profile

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"wamble"
	"wamble/internal/access"
	"wamble/internal/board"
	"wamble/internal/journal"
	"wamble/internal/link"
	"wamble/internal/pack"
	"wamble/internal/predict"
	"wamble/internal/session"
	"wamble/internal/spectate"
)

// ErrState is returned for bytes that are not a snapshot which this version can adopt.
var ErrState = errors.New("not a state of a profile that can be adopted")

// A snapshot is the magic, then sections: length of the name, name, length in 4 bytes, bytes. The number in
// the magic changes when the meaning of a section changes but not the section's own version.
const stateMagic = "wamble profile 1\n"

// The bounds of a section: of its name and of its bytes.
const (
	maxSection     = 32
	maxSectionSize = 2 << 30
)

// section is one part of a snapshot: save writes it, load reads it into an adoption. A snapshot with a
// section that is unknown to this version was written by a newer one, and is refused.
type section struct {
	name     string
	optional bool // the section is left out if it is empty; otherwise a snapshot without it is damaged
	save     func(p *Profile, dst []byte) ([]byte, error)
	load     func(a *adoption, state []byte) error
}

// sections is the one table of the sections of a snapshot. Not included, and begun anew: randomness, loads
// under way (their requests are included), unknown tokens, cached answers, pending rewards, and what the server
// sets again (whether the store is away).
var sections = []section{
	{"counts", false, saveCounts, loadCounts},
	{"leases", false, saveLeases, loadLeases},
	{"law", false, savePolicy, loadPolicy},
	{"seen", false, saveSeen, loadSeen},
	{"waiting", false, saveWaiting, loadWaiting},
	{"link", false, saveLink, loadLink},
	{"seals", false, saveSeals, loadSeals},
	{"sessions", false, saveSessions, loadSessions},
	{"boards", false, saveBoards, loadBoards},
	{"predictions", false, savePredictions, loadPredictions},
	{"spectators", false, saveSpectators, loadSpectators},
	{"behind", true, saveUnstored, loadUnstored},
	{"waitlist", true, saveWaitlist, loadWaitlist},
	{"copies", true, saveNothing, skipSection}, // older versions write it
}

// adoption is what was read of a snapshot. A profile takes it over once it is complete.
type adoption struct {
	p           *Profile
	counts      counts
	leases      *journal.Leases
	policy      access.Policy
	brownout    Brownout
	standing    []Standing
	merged      mergedKeys
	droppable   droppable
	unstored    unstored
	waiting     []Packet
	waitlist    []wamble.SessionID
	link        *link.Endpoint
	session     *session.Table
	boards      *board.Pool
	predictions *predict.Table
	spectators  *spectate.Hub
}

// Snapshot appends the whole state to dst, for the input Adopt of a profile in another process. Clients
// notice nothing, and the profile goes on unchanged. Errors: link.ErrHeld while answers wait for the
// journal; others while the profile does not run. Streams are left out: a connection ends with
// its process, and its player resumes by the token.
func (p *Profile) Snapshot(dst []byte) ([]byte, error) {
	if p.stage != running {
		return dst, errors.New("the profile does not run")
	}
	dst = append(dst, stateMagic...)
	for _, s := range sections {
		dst = append(binary.AppendUvarint(dst, uint64(len(s.name))), s.name...)
		at := len(dst)
		var err error
		if dst, err = s.save(p, append(dst, 0, 0, 0, 0)); err != nil {
			return dst, fmt.Errorf("snapshot of %s: %w", s.name, err)
		}
		n := len(dst) - at - 4
		if n == 0 && s.optional {
			dst = dst[:at-1-len(s.name)]
			continue
		}
		if n > maxSectionSize {
			return dst, fmt.Errorf("snapshot of %s: %d bytes are too many", s.name, n)
		}
		binary.LittleEndian.PutUint32(dst[at:], uint32(n))
	}
	return dst, nil
}

// Adopt replaces the whole start: Data is a Snapshot of another process. The profile takes over all of it,
// or nothing and adds the error to Output.Troubles. Requests that waited for the store are handled again.
type Adopt struct{ Data []byte }

func (in *Adopt) pack(w *pack.Writer) { w.Bytes(in.Data) }

func (in *Adopt) unpack(r *pack.Reader) { in.Data = r.Bytes() }

func (in *Adopt) apply(p *Profile, out *Output) {
	a, err := p.readSnapshot(in.Data)
	if err != nil {
		out.Troubles = append(out.Troubles, err)
		return
	}
	p.link, p.sessions, p.boards, p.leases, p.droppable = a.link, a.session, a.boards, a.leases, a.droppable
	p.watermarks, p.stats, p.loads.last = a.counts.watermarks(), a.counts.Stats, a.counts.Load
	p.stage, p.policy, p.brownout, p.unstored = running, a.policy, a.brownout, a.unstored
	p.announcements.standing, p.merged = a.standing, a.merged
	p.transfers.after, p.transfers.moves = p.watermarks.newest, p.stats.Moves
	p.sessions.SetOldestForgotten(p.clock.now)
	p.audience.adopt(a)
	for s := range p.sessions.All() {
		if from, ok := p.link.Home(s.Token()); ok {
			p.setHost(s, from)
		} else {
			p.boards.Closed(p.clock.now, s.ID()) // connections are not in the snapshot
		}
	}
	for _, id := range a.waitlist {
		if s := p.sessions.ByID(id); s != nil {
			p.awaitBoard(s)
			if _, ok := p.link.Home(s.Token()); !ok {
				p.loseTurn(s)
			}
		}
	}
	for i := range a.waiting {
		a.waiting[i].apply(p, out)
	}
}

func (p *Profile) readSnapshot(state []byte) (*adoption, error) {
	if p.stage != starting || p.boards.Len() > 0 || p.sessions.Len() > 0 {
		return nil, fmt.Errorf("%w: the profile has begun", ErrState)
	}
	if len(state) < len(stateMagic) || string(state[:len(stateMagic)]) != stateMagic {
		return nil, ErrState
	}
	a := &adoption{p: p, policy: p.policy, droppable: droppable{clock: &p.clock}}
	r := pack.NewReader(state[len(stateMagic):])
	met := map[string]bool{}
	for r.Remaining() > 0 {
		name := r.Bytes()
		size := r.Take(4)
		if r.Bad() || len(name) > maxSection {
			return nil, ErrState
		}
		bytes := r.Take(int(binary.LittleEndian.Uint32(size)))
		s := sectionOf(string(name))
		if r.Bad() || s == nil || met[s.name] {
			return nil, fmt.Errorf("%w: section %q", ErrState, name)
		}
		met[s.name] = true
		if err := s.load(a, bytes); err != nil {
			return nil, fmt.Errorf("%w: section %s: %w", ErrState, s.name, err)
		}
	}
	for _, s := range sections {
		if !s.optional && !met[s.name] {
			return nil, fmt.Errorf("%w: it has no section %s", ErrState, s.name)
		}
	}
	return a, nil
}

func sectionOf(name string) *section {
	for i := range sections {
		if sections[i].name == name {
			return &sections[i]
		}
	}
	return nil
}

// counts is the numbers of a snapshot.
type counts struct {
	Now     int64         // nanoseconds since 1970
	Ahead   time.Duration // the wall clock, of Now
	LastRow int64         `json:"Newest,omitempty"` // clock.newest, in nanoseconds since 1970
	Load    uint64
	Newest  uint64 `json:"Gate"` // this and the next two as in watermarks
	Applied uint64
	Stored  uint64   `json:"Settled"`
	Pending []uint64 // durable index, seq, durable index, seq …
	Stats   Stats
}

func saveCounts(p *Profile, dst []byte) ([]byte, error) {
	if p.watermarks.durable != p.watermarks.newest {
		return dst, link.ErrHeld
	}
	c := counts{
		Now: p.clock.now.UnixNano(), Ahead: p.clock.ahead, Load: p.loads.last,
		Newest: p.watermarks.newest, Applied: p.watermarks.applied, Stored: p.watermarks.stored, Stats: p.stats,
	}
	if !p.clock.newest.IsZero() {
		c.LastRow = p.clock.newest.UnixNano()
	}
	for _, s := range p.watermarks.pending[p.watermarks.first:] {
		c.Pending = append(c.Pending, s.index, s.seq)
	}
	text, err := json.Marshal(c)
	return append(dst, text...), err
}

func loadCounts(a *adoption, state []byte) error {
	c := &a.counts
	if err := json.Unmarshal(state, c); err != nil {
		return err
	}
	if len(c.Pending)%2 != 0 || len(c.Pending) > 2*maxPending || c.Stored > c.Newest {
		return ErrState
	}
	for i := 0; i < len(c.Pending); i += 2 {
		if c.Pending[i] <= c.Stored || c.Pending[i] > c.Newest || i > 0 && c.Pending[i] <= c.Pending[i-2] {
			return ErrState
		}
	}
	a.p.clock.adopt(time.Unix(0, c.Now), c.Ahead)
	if c.LastRow != 0 {
		a.p.clock.noteRow(time.Unix(0, c.LastRow).UTC())
	}
	return nil
}

func (c *counts) watermarks() watermarks {
	w := watermarks{newest: c.Newest, durable: c.Newest, applied: c.Applied, stored: c.Stored}
	for i := 0; i < len(c.Pending); i += 2 {
		w.pending = append(w.pending, pendingIndex{c.Pending[i], c.Pending[i+1]})
	}
	return w
}

func saveLeases(p *Profile, dst []byte) ([]byte, error) {
	w := pack.Writer(dst)
	for _, s := range wamble.Sequences() {
		blocks := p.leases.Blocks(s)
		w.Uint(uint64(len(blocks)))
		for _, b := range blocks {
			w.Int(b.First)
			w.Int(b.Count)
		}
	}
	return w, nil
}

func loadLeases(a *adoption, state []byte) error {
	r := pack.NewReader(state)
	a.leases = journal.NewLeases(a.p.leases.Size())
	for _, s := range wamble.Sequences() {
		a.leases.Add(s, readBlocks(&r))
	}
	beginSmall(a.leases, a.p.cfg)
	return sectionError(&r)
}

func readBlocks(r *pack.Reader) (blocks []wamble.Block) {
	for n := r.Uint(); n > 0 && !r.Bad(); n-- {
		b := wamble.Block{First: r.Int(), Count: r.Int()}
		r.Must(b.First > 0 && b.Count > 0)
		blocks = append(blocks, b)
	}
	return blocks
}

// sectionError returns an error unless a section was read to its last byte.
func sectionError(r *pack.Reader) error {
	if !r.Ended() {
		return ErrState
	}
	return nil
}
