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
	maxSectionSize = 256 << 20
)

// section is one part of a snapshot: save writes it, load reads it into an adoption. A snapshot with a
// section that is unknown to this version was written by a newer one, and is refused.
type section struct {
	name string
	when presence
	save func(p *Profile, dst []byte) ([]byte, error)
	load func(v *adoption, state []byte) error
}

// presence says when a snapshot has a section.
type presence uint8

const (
	ever presence = iota // always: a snapshot without it is damaged
	late                 // always since some version
	used                 // unless it is empty: older versions can adopt a snapshot without it
)

// sections is the one table of the sections of a snapshot. Not included, and begun anew: chance, loads
// under way (their requests are included), strangers, recent answers, the crowd, and what the server sets
// again (whether the store is away).
var sections = []section{
	{"counts", ever, saveCounts, loadCounts},
	{"leases", ever, saveLeases, loadLeases},
	{"law", late, saveLaw, loadLaw},
	{"seen", late, saveSeen, loadSeen},
	{"waiting", late, saveWaiting, loadWaiting},
	{"link", ever, saveLink, loadLink},
	{"seals", late, saveSeals, loadSeals},
	{"sessions", ever, saveSessions, loadSessions},
	{"woken", used, saveWoken, loadWoken},
	{"boards", ever, saveBoards, loadBoards},
	{"predictions", ever, savePredictions, loadPredictions},
	{"spectators", ever, saveSpectators, loadSpectators},
	{"behind", used, saveBehind, loadBehind},
	{"waitlist", used, saveWaitlist, loadWaitlist},
	{"copies", used, saveCopies, loadCopies},
}

// adoption is what was read of a snapshot. A profile takes it over once it is complete.
type adoption struct {
	p        *Profile
	counts   counts
	leases   *journal.Leases
	law      access.Law
	brownout Brownout
	standing []Standing
	merged   mergedKeys
	seen     seen
	behind   behind
	copies   copies
	waiting  []Packet
	waitlist []wamble.SessionID
	link     *link.Server
	session  *session.Table
	boards   *board.Pool
	woken    []wamble.BoardID
	book     *predict.Book
	hall     *spectate.Hall
}

// Snapshot appends the whole state to dst, for the input Adopt of a profile in another process. Clients
// notice nothing, and the profile goes on unchanged. Errors: link.ErrHeld while answers wait for the
// journal; others while the profile does not run, or adopts. Streams are left out: a connection ends with
// its process, and its player resumes by the token.
func (p *Profile) Snapshot(dst []byte) ([]byte, error) {
	if p.stage != running {
		return dst, errors.New("the profile does not run")
	}
	if p.Adopting() {
		return dst, errors.New("the profile has not taken in all that it was handed")
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
		if n == 0 && s.when == used {
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

func (in *Adopt) take(p *Profile, out *Output) {
	v, err := p.readSnapshot(in.Data)
	if err != nil {
		out.Troubles = append(out.Troubles, err)
		return
	}
	p.link, p.sessions, p.boards, p.leases, p.seen = v.link, v.session, v.boards, v.leases, v.seen
	p.gates, p.stats, p.loads.last = v.counts.gates(), v.counts.Stats, v.counts.Load
	p.stage, p.law, p.brownout, p.behind, p.copies = running, v.law, v.brownout, v.behind, v.copies
	p.standing, p.merged = v.standing, v.merged
	p.travel.after, p.travel.moves = p.gates.last, p.stats.Moves
	p.sessions.SetForgot(p.clock.now)
	p.audience.adopt(v)
	for s := range p.sessions.All() {
		if from, ok := p.link.Home(s.Token()); ok {
			p.place(s, from)
		} else {
			p.boards.Closed(p.clock.now, s.ID()) // connections are not in the snapshot
		}
	}
	for _, id := range v.waitlist {
		if s := p.sessions.ByID(id); s != nil {
			p.awaitBoard(s)
			if _, ok := p.link.Home(s.Token()); !ok {
				p.loseTurn(s)
			}
		}
	}
	for i := range v.waiting {
		v.waiting[i].take(p, out)
	}
}

func (p *Profile) readSnapshot(state []byte) (*adoption, error) {
	if p.stage != starting || p.boards.Len() > 0 || p.sessions.Len() > 0 {
		return nil, fmt.Errorf("%w: the profile has begun", ErrState)
	}
	if len(state) < len(stateMagic) || string(state[:len(stateMagic)]) != stateMagic {
		return nil, ErrState
	}
	v := &adoption{p: p, law: p.law, seen: seen{clock: &p.clock}, copies: newCopies()}
	r := pack.NewReader(state[len(stateMagic):])
	met := map[string]bool{}
	for r.Left() > 0 {
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
		if err := s.load(v, bytes); err != nil {
			return nil, fmt.Errorf("%w: section %s: %w", ErrState, s.name, err)
		}
	}
	for _, s := range sections {
		if s.when == ever && !met[s.name] {
			return nil, fmt.Errorf("%w: it has no section %s", ErrState, s.name)
		}
	}
	return v, nil
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
	Newest  int64         `json:",omitempty"` // see clock; nanoseconds since 1970
	Load    uint64
	Gate    uint64
	Applied uint64
	Settled uint64
	Pending []uint64 // gate, seq, gate, seq …
	Stats   Stats
}

func saveCounts(p *Profile, dst []byte) ([]byte, error) {
	if p.gates.durable != p.gates.last {
		return dst, link.ErrHeld
	}
	c := counts{
		Now: p.clock.now.UnixNano(), Ahead: p.clock.ahead, Load: p.loads.last,
		Gate: p.gates.last, Applied: p.gates.applied, Settled: p.gates.settled, Stats: p.stats,
	}
	if !p.clock.newest.IsZero() {
		c.Newest = p.clock.newest.UnixNano()
	}
	for _, s := range p.gates.pending[p.gates.first:] {
		c.Pending = append(c.Pending, s.gate, s.seq)
	}
	text, err := json.Marshal(c)
	return append(dst, text...), err
}

func loadCounts(v *adoption, state []byte) error {
	c := &v.counts
	if err := json.Unmarshal(state, c); err != nil {
		return err
	}
	if len(c.Pending)%2 != 0 || len(c.Pending) > 2*maxPending || c.Settled > c.Gate {
		return ErrState
	}
	for i := 0; i < len(c.Pending); i += 2 {
		if c.Pending[i] <= c.Settled || c.Pending[i] > c.Gate || i > 0 && c.Pending[i] <= c.Pending[i-2] {
			return ErrState
		}
	}
	v.p.clock.adopt(time.Unix(0, c.Now), c.Ahead)
	if c.Newest != 0 {
		v.p.clock.reach(time.Unix(0, c.Newest).UTC())
	}
	return nil
}

func (c *counts) gates() gates {
	g := gates{last: c.Gate, durable: c.Gate, applied: c.Applied, settled: c.Settled}
	for i := 0; i < len(c.Pending); i += 2 {
		g.pending = append(g.pending, settling{c.Pending[i], c.Pending[i+1]})
	}
	return g
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

func loadLeases(v *adoption, state []byte) error {
	r := pack.NewReader(state)
	v.leases = journal.NewLeases(v.p.leases.Size())
	for _, s := range wamble.Sequences() {
		v.leases.Add(s, readBlocks(&r))
	}
	beginSmall(v.leases, v.p.cfg)
	return end(&r)
}

func readBlocks(r *pack.Reader) (blocks []wamble.Block) {
	for n := r.Uint(); n > 0 && !r.Bad(); n-- {
		b := wamble.Block{First: r.Int(), Count: r.Int()}
		r.Must(b.First > 0 && b.Count > 0)
		blocks = append(blocks, b)
	}
	return blocks
}

// end returns an error unless a section was read to its last byte.
func end(r *pack.Reader) error {
	if !r.Ended() {
		return ErrState
	}
	return nil
}
