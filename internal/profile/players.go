package profile

import (
	"time"

	"wamble"
	"wamble/internal/link"
	"wamble/internal/persist"
	"wamble/wire"
)

var (
	errNoRoom  = &wamble.Denied{Code: wamble.Internal, Reason: "could not create player session"}
	errCrowd   = &wamble.Denied{Code: wamble.AccessDenied, Reason: "too many new players from your address"}
	errNoBoard = &wamble.Denied{Code: wamble.UnknownBoard, Reason: "no board available for assignment", Blocking: true}
	errNoID    = &wamble.Denied{Code: wamble.Internal, Reason: "no number is left for a new board"}
)

// newPlayer makes a session that nobody had before, for a request.
func (p *Profile) newPlayer(id link.Request) (*player, *wamble.Denied) {
	if !p.hasRoom() {
		return nil, errNoRoom
	}
	from, _ := p.link.Peer(id)
	if !p.players.arrivals.admits(p.clock.since, from.IP(), p.cfg.Sessions.NewPlayersPerIP) {
		return nil, errCrowd
	}
	token, ok := p.newToken()
	if !ok {
		return nil, errNoRoom
	}
	number, ok := p.leases.Next(wamble.SessionIDs)
	if !ok {
		return nil, errNoRoom
	}
	pl := &player{id: wamble.SessionID(number), token: token, heard: p.clock.since, noted: p.clock.since}
	pl.stats.Rating = float64(p.cfg.Scoring.DefaultRating)
	p.players.add(pl, &p.players.fresh)
	p.scratch.session = wamble.CreateSession{Session: pl.id, Token: token, At: p.clock.now}
	p.draft.Add(&p.scratch.session)
	return pl, nil
}

// hasRoom reports whether one more player may be present. Those who are not,
// but cannot be forgotten yet, are bounded too: while the store is away they
// pile up.
func (p *Profile) hasRoom() bool {
	most := p.cfg.Sessions.MaxPlayers
	return p.players.present() < most && p.players.len() < 2*most+p.cfg.Boards.MaxBoards
}

func (p *Profile) newToken() (wamble.Token, bool) {
	for range p.cfg.Sessions.MaxTokenAttempts {
		var t wamble.Token
		p.chance.source.Read(t[:])
		if !t.IsZero() && p.players.byToken[t] == nil {
			return t, true
		}
	}
	return wamble.Token{}, false
}

// admit brings a stored session into memory.
func (p *Profile) admit(s *wamble.Session) (*player, *wamble.Denied) {
	if pl := p.players.byToken[s.Token]; pl != nil {
		return pl, nil
	}
	if !p.hasRoom() {
		return nil, errNoRoom
	}
	pl := playerOf(s)
	pl.heard, pl.noted = p.clock.since, p.clock.since-noteEvery
	p.players.add(pl, &p.players.live)
	return pl, nil
}

// noteEvery is how often it is written down that a player is there.
const noteEvery = time.Minute

// hear takes a sign of life.
func (p *Profile) hear(pl *player) {
	now := p.clock.since
	pl.heard = now
	p.players.move(pl, &p.players.live)
	p.boards.Heard(p.clock.now, pl.id)
	if now-pl.noted >= noteEvery {
		pl.noted = now
		p.seen.add(now, wamble.UpdateSessionLastSeen{Session: pl.id, At: p.clock.now})
	}
}

// depart lets a player go who holds no board any more: when the store has
// everything of him he is forgotten.
func (p *Profile) depart(pl *player) {
	pl.gate = p.gates.last // at least; the list must be in this order
	p.players.move(pl, &p.players.departing)
}

// age lets time pass for the players: who is silent goes, who is gone for long
// enough is forgotten.
func (p *Profile) age(out *Output) {
	s, ps := &p.cfg.Sessions, &p.players
	for pl := ps.fresh.last; pl != nil && p.clock.since-pl.heard >= s.UnconfirmedTimeout; pl = ps.fresh.last {
		p.dismiss(pl, out)
	}
	for pl := ps.live.last; pl != nil && p.clock.since-pl.heard >= p.patience(); pl = ps.live.last {
		switch {
		case p.clock.since-pl.heard >= s.TokenExpiration:
			p.expire(pl, out)
		case p.boards.Held(pl.id) != nil:
			p.players.move(pl, &ps.idle)
		default:
			p.depart(pl)
		}
	}
	for pl := ps.idle.last; pl != nil && p.clock.since-pl.heard >= s.TokenExpiration; pl = ps.idle.last {
		p.expire(pl, out)
	}
	for pl := ps.departing.last; pl != nil && pl.gate <= p.gates.settled; pl = ps.departing.last {
		ps.forget(pl)
		p.stats.Evicted++
	}
}

// patience is how long a silent player counts as there.
func (p *Profile) patience() time.Duration {
	return min(p.cfg.Link.SessionTimeout, p.cfg.Sessions.TokenExpiration)
}

// dismiss takes a player's board, unless he may keep it, and lets him go.
func (p *Profile) dismiss(pl *player, out *Output) {
	p.boards.Leave(p.clock.now, pl.id, &p.draft)
	p.sealFor(pl, out)
	if p.boards.Held(pl.id) != nil {
		p.players.move(pl, &p.players.idle)
		return
	}
	p.depart(pl)
}

// expire ends the stay of a player who was away for token-expiration. Whoever
// still listens for him is told.
func (p *Profile) expire(pl *player, out *Output) {
	p.notify(pl.token, 0, wire.ServerNotification{Type: wire.NoticeSessionExpired}, out)
	p.dismiss(pl, out)
	if pl.at == &p.players.idle {
		pl.heard = p.clock.since // with an identity he keeps his board; look again later
	}
}

// seen collects when players were last seen. It is droppable: it goes into the
// journal with the next frame, or alone when it has waited for long enough.
type seen struct {
	frame []byte
	n     int
	since time.Duration
	last  wamble.UpdateSessionLastSeen
}

const (
	seenAtMost = 256
	seenWaits  = time.Second
)

func (s *seen) add(now time.Duration, in wamble.UpdateSessionLastSeen) {
	if s.n == maxFrame {
		return
	}
	if s.n == 0 {
		s.frame, s.since = persist.Begin(s.frame[:0]), now
	}
	s.last = in
	s.frame = persist.Append(s.frame, &s.last)
	s.n++
}

// flush moves what was collected into the output, if it is time.
func (s *seen) flush(now time.Duration, out *Output) {
	if s.n == 0 || out.Frames.Len() == 0 && s.n < seenAtMost && now-s.since < seenWaits {
		return
	}
	out.Frames.bytes = append(out.Frames.bytes, s.frame...)
	out.Frames.ends = append(out.Frames.ends, len(out.Frames.bytes))
	s.n = 0
}
