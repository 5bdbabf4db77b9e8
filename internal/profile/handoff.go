package profile

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"wamble/internal/journal"
	"wamble/internal/link"
	"wamble/internal/pack"
	"wamble/internal/spectate"
)

// A handoff is a crash that was announced: the next process gets the slices of Walk, all of one moment in which
// everything is durable, so that the journal has no tail. The slices before them have what a crash loses, so that
// no client notices.

// ErrState is returned for slices that this version cannot restore a profile from.
var ErrState = errors.New("not a state of a profile that can be restored")

// handoffSlices is the one table of the slices that only a handoff has, in the order in which they are written and
// loaded: the first at once, the others by ResumeEnd after the slices of Walk. A handoff has each of them once. Not included, and begun anew: randomness, loads under way (their requests are included), unknown tokens,
// cached answers, pending rewards, an announcement under way, and what the server sets again, as after a crash: bans,
// brownout, announcements that stay, whether the store is away.
var handoffSlices = [...]struct {
	kind byte
	name string
	save func(p *Profile, dst []byte) ([]byte, error)
	load func(p *Profile, state []byte) error
}{
	{'C', "counts", saveCounts, loadCounts},
	{'S', "sessions", saveSessions, loadSessions},
	{'L', "link", saveLink, loadLink},
	{'K', "keys of seals", saveSeals, loadSeals},
	{'D', "droppable", saveDroppable, loadDroppable},
	{'U', "unstored", saveUnstored, loadUnstored},
	{'V', "spectators", saveSpectators, loadSpectators},
	{'Q', "waitlist", saveWaitlist, loadWaitlist},
	{'W', "waiting", saveWaiting, loadWaiting},
}

// handoff is the bytes of handoffSlices that were read, by kind.
type handoff map[byte][]byte

func isHandoffSlice(kind byte) bool {
	for i := range handoffSlices {
		if handoffSlices[i].kind == kind {
			return true
		}
	}
	return false
}

// HandOver yields the memory of a profile to a process that goes on with it, as slices of about size bytes, which
// are valid until the next one; a larger one has one state. The profile goes on unchanged. Streams are left out: a
// connection ends with its process, and its player resumes by the token. Errors: link.ErrHeld while answers wait
// for the journal; others while the profile does not run.
func (p *Profile) HandOver(size int) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if p.stage != running {
			yield(nil, errors.New("the profile does not run"))
			return
		}
		for _, s := range handoffSlices {
			data, err := s.save(p, []byte{s.kind})
			if err != nil {
				err = fmt.Errorf("handoff of %s: %w", s.name, err)
			}
			if !yield(data, err) || err != nil {
				return
			}
		}
		buf := make([]byte, 0, size+size/8)
		for data := range p.slices(size, func() []byte { return buf[:0] }, p.sessions.All(), true, p.boards.WalkInOrder()) {
			buf = data
			if !yield(data, nil) {
				return
			}
		}
	}
}

// take keeps a slice of a handoff for ResumeEnd.
func (r *resumption) take(kind byte, state []byte) error {
	first := &handoffSlices[0]
	if r.handoff[kind] != nil || r.begun || (r.handoff == nil) != (kind == first.kind) {
		return fmt.Errorf("%w: slice %c comes twice or at the wrong place", ErrState, kind)
	}
	if r.handoff == nil {
		r.handoff, r.Resumption.HandedOver = handoff{kind: {}}, true
		return first.load(r.p, state)
	}
	r.handoff[kind] = append([]byte{}, state...)
	return nil
}

// load loads all slices but the first.
func (h handoff) load(p *Profile) error {
	for _, s := range handoffSlices[1:] {
		state, ok := h[s.kind]
		if !ok {
			return fmt.Errorf("%w: it has no %s", ErrState, s.name)
		}
		if err := s.load(p, state); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrState, s.name, err)
		}
	}
	return nil
}

// counts is the numbers of a handoff.
type counts struct {
	Now       int64         // nanoseconds since 1970
	Ahead     time.Duration // the wall clock, of Now
	LastRow   int64         // clock.newest, in nanoseconds since 1970
	Furthest  time.Duration // clock.furthest
	Load      uint64
	Newest    uint64 // this and the next two as in watermarks
	Applied   uint64
	Stored    uint64
	Last      uint64 // message of the journal up to which the store needs everything for Newest to be stored
	Pseudonym []byte // key of the pseudonyms of those who predict
	Stats     Stats
}

func saveCounts(p *Profile, dst []byte) ([]byte, error) {
	w := &p.watermarks
	if w.durable != w.newest {
		return dst, link.ErrHeld
	}
	key := p.audience.predictions.Key()
	c := counts{
		Now: p.clock.now.UnixNano(), Ahead: p.clock.ahead, Furthest: p.clock.furthest, Load: p.loads.last,
		Newest: w.newest, Applied: w.applied, Stored: w.stored, Pseudonym: key[:], Stats: p.stats,
	}
	if !p.clock.newest.IsZero() {
		c.LastRow = p.clock.newest.UnixNano()
	}
	if w.first < len(w.pending) {
		c.Last = w.pending[len(w.pending)-1].seq
	}
	text, err := json.Marshal(c)
	return append(dst, text...), err
}

func loadCounts(p *Profile, state []byte) error {
	var c counts
	if err := json.Unmarshal(state, &c); err != nil {
		return err
	}
	if c.Stored > c.Newest || len(c.Pseudonym) != 32 {
		return ErrState
	}
	p.clock.adopt(time.Unix(0, c.Now), c.Ahead)
	if c.LastRow != 0 {
		p.clock.noteRow(time.Unix(0, c.LastRow).UTC())
	}
	p.clock.furthest = c.Furthest
	p.watermarks = watermarks{newest: c.Newest, durable: c.Newest, applied: c.Applied, stored: c.Stored, resumed: c.Newest}
	if c.Stored < c.Newest {
		p.watermarks.pending = []pendingIndex{{c.Newest, c.Last}}
	}
	p.stats, p.loads.last = c.Stats, c.Load
	p.transfers.after, p.transfers.moves = c.Newest, c.Stats.Moves
	p.audience.predictions.SetKey([32]byte(c.Pseudonym))
	return nil
}

func saveSessions(p *Profile, dst []byte) ([]byte, error) { return p.sessions.AppendHandoff(dst), nil }

func loadSessions(p *Profile, state []byte) error {
	p.sessions.SetOldestForgotten(p.clock.now)
	return p.sessions.ReadHandoff(state)
}

func saveLink(p *Profile, dst []byte) ([]byte, error) { return p.link.Snapshot(p.clock.since, dst) }

// loadLink goes on with the connections of the players. They have the tokens, of which the sessions have hashes.
func loadLink(p *Profile, state []byte) error {
	l, err := link.Restore(p.linkConfig(), p.clock.since, state)
	if err != nil {
		return err
	}
	p.link = l
	p.link.SetShard(p.shard)
	p.link.SetKey(p.randomness.key)
	for token := range p.link.Tokens() {
		p.sessions.Find(token)
	}
	for s := range p.sessions.All() {
		if from, ok := p.link.Home(s.Token()); ok {
			p.setHost(s, from)
		} else {
			p.boards.Closed(p.clock.now, s.ID()) // connections are not handed over
		}
	}
	return nil
}

// saveDroppable writes a frame that is not in the journal yet.
func saveDroppable(p *Profile, dst []byte) ([]byte, error) {
	if p.droppable.n == 0 {
		return dst, nil
	}
	return append(dst, p.droppable.frame...), nil
}

func loadDroppable(p *Profile, state []byte) error {
	if len(state) == 0 {
		return nil
	}
	intents, err := journal.Decode(state)
	p.droppable = droppable{clock: &p.clock, frame: state, n: len(intents), since: p.clock.since}
	return err
}

func saveSpectators(p *Profile, dst []byte) ([]byte, error) {
	return p.audience.spectators.Snapshot(dst), nil
}

// loadSpectators restores the hub. It is closed; the next step opens it.
func loadSpectators(p *Profile, state []byte) error {
	hub, err := spectate.Load(spectateOptions(p.cfg), state)
	if err != nil {
		return err
	}
	p.audience.spectators = hub
	return nil
}

// saveWaiting writes the packets of requests that wait for the store. Link has dropped these requests, so they are
// new to the next process.
func saveWaiting(p *Profile, dst []byte) ([]byte, error) {
	to := pack.Writer(dst)
	for _, l := range p.loads.inOrder() {
		for _, w := range l.waiting {
			if peer, ok := p.link.Peer(w.id); ok && !peer.Stream() {
				PackPeer(&to, peer)
				to.Bytes(w.data)
			}
		}
	}
	return to, nil
}

// loadWaiting leaves the packets to Ready.
func loadWaiting(p *Profile, state []byte) error {
	r := pack.NewReader(state)
	for r.Remaining() > 0 {
		p.waiting = append(p.waiting, Packet{Peer: unpackPeer(&r), Data: r.Bytes()})
	}
	return sliceError(&r)
}
