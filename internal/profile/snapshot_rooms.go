package profile

import (
	"time"

	"wamble"
	"wamble/internal/board"
	"wamble/internal/journal"
	"wamble/internal/link"
	"wamble/internal/pack"
	"wamble/internal/session"
)

// The sections of a snapshot that other packages write, and the requests that wait.

func saveLink(p *Profile, dst []byte) ([]byte, error) { return p.link.Snapshot(p.clock.since, dst) }

func loadLink(v *adoption, state []byte) (err error) {
	if v.link, err = link.Restore(v.p.linkConfig(), v.p.clock.since, state); err == nil {
		v.link.SetShard(v.p.shard)
		v.link.SetKey(v.p.chance.key)
	}
	return err
}

func saveSessions(p *Profile, dst []byte) ([]byte, error) { return p.sessions.Snapshot(dst), nil }

func loadSessions(v *adoption, state []byte) (err error) {
	v.session, err = session.Load(v.p.sessionOptions(), v.p.sessionIDs(), v.p.chance.source, state)
	return err
}

func saveBoards(p *Profile, dst []byte) ([]byte, error) { return p.boards.Snapshot(dst), nil }

func loadBoards(v *adoption, state []byte) (err error) {
	v.boards, err = board.Load(v.p.boardOptions(), numbers[wamble.BoardID](v.p, wamble.BoardIDs), v.p.chance.rng, state)
	if err == nil && v.boards.Rest() != (v.p.shelved != nil) {
		return ErrState // what was written ahead belongs to another snapshot
	}
	if err == nil && v.p.shelved != nil {
		err = v.boards.Shelve(v.p.shelved, v.woken)
	}
	return err
}

// The section seen is a frame that is not in the journal yet.
func saveSeen(p *Profile, dst []byte) ([]byte, error) {
	if p.seen.n == 0 {
		return dst, nil
	}
	return append(dst, p.seen.frame...), nil
}

func loadSeen(v *adoption, state []byte) error {
	if len(state) == 0 {
		return nil
	}
	intents, err := journal.Decode(state)
	if err != nil {
		return err
	}
	v.seen = seen{clock: &v.p.clock, frame: append([]byte(nil), state...), n: len(intents), since: v.p.clock.since}
	return nil
}

// The section waiting has the packets of requests that wait for the store. Link has dropped these requests,
// so they are new to the next process.
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

func loadWaiting(v *adoption, state []byte) error {
	r := pack.NewReader(state)
	for r.Left() > 0 {
		v.waiting = append(v.waiting, Packet{Peer: unpackPeer(&r), Data: r.Bytes()})
	}
	return end(&r)
}

// The section copies has which sessions and identities were read from the store, their age, and the
// cursors.
func saveCopies(p *Profile, dst []byte) ([]byte, error) {
	w := pack.Writer(dst)
	for _, c := range p.copies.queue {
		age := p.clock.since - c.at
		if age > LetterAge {
			continue
		}
		w.Uint(uint64(c.session))
		w.Raw(c.key[:]...)
		w.Uint(uint64(age))
		w.Raw(octet(c.here))
		w.Uint(uint64(len(c.store)))
		for _, at := range c.store {
			w.Uint(at.Journal)
			w.Uint(at.Message)
		}
	}
	return w, nil
}

func loadCopies(v *adoption, state []byte) error {
	r := pack.NewReader(state)
	for r.Left() > 0 {
		c := copied{session: wamble.SessionID(r.Uint())}
		copy(c.key[:], r.Take(len(c.key)))
		age := time.Duration(r.Uint())
		r.Must(age >= 0 && age <= LetterAge)
		c.here = r.Octet() != 0
		for range r.Count() {
			c.store = append(c.store, Stamp{Journal: r.Uint(), Message: r.Uint()})
		}
		v.copies.add(v.p.clock.since-age, c)
	}
	return end(&r)
}

// SnapshotSize estimates the size of a snapshot, rather too high, so that memory can be allocated while
// players are still served.
func (p *Profile) SnapshotSize() int {
	const perSession, rest = 512, 1 << 20
	perCopy := 48 + 20*p.shard.Of
	return p.boards.SnapshotSize() + p.link.SnapshotSize() + p.sessions.Len()*perSession + len(p.copies.queue)*perCopy + rest
}
