package profile

import (
	"wamble"
	"wamble/internal/board"
	"wamble/internal/journal"
	"wamble/internal/link"
	"wamble/internal/pack"
	"wamble/internal/session"
)

// The sections of a snapshot that other packages write, and the requests that wait.

func saveLink(p *Profile, dst []byte) ([]byte, error) { return p.link.Snapshot(p.clock.since, dst) }

func loadLink(a *adoption, state []byte) (err error) {
	if a.link, err = link.Restore(a.p.linkConfig(), a.p.clock.since, state); err == nil {
		a.link.SetShard(a.p.shard)
		a.link.SetKey(a.p.randomness.key)
	}
	return err
}

func saveSessions(p *Profile, dst []byte) ([]byte, error) { return p.sessions.Snapshot(dst), nil }

func loadSessions(a *adoption, state []byte) (err error) {
	a.session, err = session.Load(a.p.sessionOptions(), a.p.sessionIDs(), a.p.randomness.source, state)
	return err
}

func saveBoards(p *Profile, dst []byte) ([]byte, error) { return p.boards.Snapshot(dst), nil }

func loadBoards(a *adoption, state []byte) (err error) {
	a.boards, err = board.Load(a.p.boardOptions(), numbers[wamble.BoardID](a.p, wamble.BoardIDs), a.p.randomness.rng,
		state)
	return err
}

// The section seen is a frame that is not in the journal yet.
func saveSeen(p *Profile, dst []byte) ([]byte, error) {
	if p.droppable.n == 0 {
		return dst, nil
	}
	return append(dst, p.droppable.frame...), nil
}

func loadSeen(a *adoption, state []byte) error {
	if len(state) == 0 {
		return nil
	}
	intents, err := journal.Decode(state)
	if err != nil {
		return err
	}
	a.droppable = droppable{
		clock: &a.p.clock, frame: append([]byte(nil), state...), n: len(intents), since: a.p.clock.since,
	}
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

func loadWaiting(a *adoption, state []byte) error {
	r := pack.NewReader(state)
	for r.Remaining() > 0 {
		a.waiting = append(a.waiting, Packet{Peer: unpackPeer(&r), Data: r.Bytes()})
	}
	return sectionError(&r)
}

func saveNothing(_ *Profile, dst []byte) ([]byte, error) { return dst, nil }
func skipSection(*adoption, []byte) error                { return nil }
