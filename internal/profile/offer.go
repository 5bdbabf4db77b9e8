package profile

import (
	"errors"
	"time"

	"wamble"
	"wamble/internal/board"
	"wamble/internal/link"
	"wamble/internal/session"
	"wamble/internal/share"
	"wamble/wire"
)

// An offer is the answer to a hello from an unproven address: a token, and a board. The server keeps no
// state of it, and may assign the board to another player. When the token comes back from the address that
// it was sent to, it becomes a session.

// offer answers a hello with an offer. A copy of the hello gets the same one while link remembers it.
func (p *Profile) offer(r *request) verdict {
	from, _ := p.link.Peer(r.id)
	token, b := r.granted, (*board.Board)(nil)
	wishes := wishesOf(r)
	if o, ok := p.link.Offered(from, token); ok {
		b = p.boards.Board(o.Board)
	}
	switch {
	case b != nil:
	case wantsNoBoard(r):
		token = p.link.Offer(r.id, 0, wishes)
	default:
		var err error
		b, err = p.boards.Offer(p.clock.now, board.Player{Host: share.HostOf(from.IP())})
		if s := p.sessions.Unconfirmed(nil, p.scratch.holds); err != nil && s != nil {
			b, err = p.boards.Held(s.ID()), nil // see claim
		}
		if err != nil && !contentWithoutBoard(r, err) {
			return p.deny(r, deniedOf(err))
		}
		token = p.link.Offer(r.id, idOf(b), wishes)
	}
	p.stats.Offers++
	p.greet(r, token, &session.Session{}, b)
	return done
}

// wishesOf returns what the session of an offer must know of the hello.
func wishesOf(r *request) (w link.Wishes) {
	if content, _ := r.ext.Int(wire.KeyHelloWithoutBoard); content == 1 {
		w |= link.Waits
	}
	if isBot, _ := r.ext.Int(wire.KeyHelloBot); isBot == 1 {
		w |= link.Program
	}
	return w
}

// offered reports whether a token was offered to an address and not accepted yet. If its session may have
// left memory since, only the store can tell: missing says that the store does not have it.
func (p *Profile) offered(from wamble.Peer, token wamble.Token, missing bool) (link.Offered, bool) {
	o, ok := p.link.Offered(from, token)
	return o, ok && !p.sessions.Refused(token) &&
		(missing || p.clock.now.Add(-o.Age).After(p.sessions.OldestForgotten()))
}

// accept makes the session of a request whose token was offered. It reports false if it has answered the
// request itself.
func (p *Profile) accept(r *request, out *Output) (verdict, bool) {
	if p.readOnly() {
		p.denyForNow(r.id, r.h, out)
		return forgotten, false
	}
	from, _ := p.link.Peer(r.id)
	s, moved, err := p.begin(from, r.h.Token, r.offer, out)
	if err != nil {
		return p.deny(r, deniedOf(err)), false
	}
	r.session, r.moved = s, moved && r.h.Ctrl != wire.CtrlClientHello
	return done, true
}

// acceptByACK makes the session of an offered token that came back in the ACK of the offer. If link still
// knows the address by another token, nothing can be pushed to the player: then their first request makes
// the session.
func (p *Profile) acceptByACK(from wamble.Peer, token wamble.Token, out *Output) {
	o, ok := p.offered(from, token, false)
	if !ok || !p.link.Linked(token) || p.stage != running || p.readOnly() ||
		p.policy.Bans.OfPeers() && p.policy.Bans.Of(p.clock.wall(), from.IP(), token) != nil {
		return
	}
	s, moved, err := p.begin(from, token, o, out)
	switch {
	case err != nil:
		p.pushDenied(token, deniedOf(err), out)
	case moved:
		p.pushUpdate(s, p.boards.Held(s.ID()), out)
	}
}

// begin makes the session of an offer. It reports whether its player must be shown a board: they got
// another one than was offered, or it was assigned meanwhile.
func (p *Profile) begin(from wamble.Peer, token wamble.Token, o link.Offered,
	out *Output) (s *session.Session, moved bool, err error) {
	if p.brownout.NoNewSessions {
		return nil, false, errNoNewPlayers
	}
	if o.Wishes&link.Program != 0 {
		if d := p.refuseBot(nil); d != nil {
			return nil, false, d
		}
	}
	p.takeTurns(out)
	s, err = p.sessions.Accept(p.clock.now, from, token, p.scratch.holds, &p.frame)
	if errors.Is(err, session.ErrFull) && p.makeRoom(from, out) {
		s, err = p.sessions.Accept(p.clock.now, from, token, p.scratch.holds, &p.frame)
	}
	if err != nil {
		return nil, false, err
	}
	s.SetTerms(session.RevisionOf(p.policy.Own.Terms.Hash), false)
	s.SetStream(from.Stream())
	if o.Wishes&link.Program != 0 {
		p.setBot(s)
	}
	player := board.Player{Offered: o.Board}
	if shown := p.boards.Board(o.Board); shown != nil {
		at := p.clock.now.Add(-o.Age - time.Millisecond)
		moved = shown.LastAssigned().After(at)
		if shown.LastMoved().After(at) { // a first move may be under way for the position of the offer
			moved, player.Offered = true, 0
			s.SetLastBoard(o.Board)
		}
	}
	var b *board.Board
	var taken board.Released
	waits := o.Wishes&link.Waits != 0
	if o.Board != 0 || waits { // otherwise they get one when they say hello for it
		b, taken, err = p.assignBoardTo(s, player)
	}
	if waits && waitsForBoard(err) {
		err = nil // they are on the waitlist
	}
	if err != nil { // the player does not know the session
		p.frame.discard()
		p.waitlist.remove(s.ID())
		p.sessions.Discard(s)
		return nil, false, err
	}
	p.stats.Hellos++
	p.stats.NewPlayers++
	p.sealFor(s, out)
	p.revoked(taken, out)
	p.pushAnnouncements(token, out)
	return s, b != nil && (moved || b.ID() != o.Board), nil
}

// saveSeals writes the keys with which link makes offers and cookies: a player who was greeted by one process
// continues in the next.
func saveSeals(p *Profile, dst []byte) ([]byte, error) { return p.link.AppendKeys(dst), nil }

func loadSeals(p *Profile, state []byte) error { return p.link.RestoreKeys(state) }
