package profile

import (
	"errors"
	"fmt"

	"wamble"
	"wamble/internal/board"
	"wamble/internal/intent"
	"wamble/internal/session"
	"wamble/wire"
)

// hello greets the player of the token, or makes a new one. An unknown token is not adopted. A new player
// whose address may be forged gets an offer.
func (p *Profile) hello(r *request, out *Output) verdict {
	if v := r.h.ClientVersion(); v > wire.Version {
		reason := fmt.Sprintf("upgrade required (client=%d server=%d)", v, wire.Version)
		return p.deny(r, &wamble.Denied{Code: wamble.UnsupportedVersion, Reason: reason, Blocking: true})
	}
	p.takeTurns(out) // players on the waitlist come first
	s, isNew := r.session, false
	if s == nil && !r.granted.IsZero() {
		s = p.sessions.Find(r.granted) // the first answer was lost, and the player repeats the hello
	}
	isBot, _ := r.ext.Int(wire.KeyHelloBot)
	if isBot == 1 && (s == nil || !s.Bot()) {
		if d := p.refuseBot(s); d != nil {
			return p.deny(r, d)
		}
	}
	if s == nil && p.brownout.NoNewSessions {
		return p.deny(r, errNoNewPlayers)
	}
	if s == nil && !p.link.Shown(r.id) {
		return p.offer(r)
	}
	if s == nil {
		from, _ := p.link.Peer(r.id)
		var err error
		s, isNew, err = p.sessions.Hello(p.clock.now, from, r.h.Seq, p.scratch.holds, &p.frame)
		if errors.Is(err, session.ErrFull) && p.makeRoom(from, out) {
			s, isNew, err = p.sessions.Hello(p.clock.now, from, r.h.Seq, p.scratch.holds, &p.frame)
		}
		if err != nil {
			return p.deny(r, deniedOf(err))
		}
	}
	if isBot == 1 {
		p.setBot(s)
		if !isNew {
			p.sealFor(s, out)
		}
	}
	t := &p.policy.Own.Terms
	if isNew {
		from, _ := p.link.Peer(r.id)
		s.SetStream(from.Stream())
		s.SetTerms(session.RevisionOf(t.Hash), false)
	} else if _, known := s.Terms(session.RevisionOf(t.Hash)); t.Text != "" && !known && r.session != nil &&
		!p.storeAway {
		return p.ask(r, p.askTerms(r, &p.policy.Own), out)
	}
	var b *board.Board
	var taken board.Released
	var err error
	s.SetWatches(wantsNoBoard(r))
	if s.Watches() {
		b = p.boards.Held(s.ID())
		p.waitlist.remove(s.ID())
	} else {
		b, taken, err = p.assignBoard(s)
	}
	if err != nil && !contentWithoutBoard(r, err) {
		if isNew { // the player does not know the session
			p.frame.discard()
			p.waitlist.remove(s.ID())
			p.sessions.Discard(s)
		}
		return p.deny(r, deniedOf(err))
	}
	p.stats.Hellos++
	if isNew {
		p.stats.NewPlayers++
	}
	p.answerHello(r, s, b)
	p.addAnnouncements(r, s.Token())
	p.sealFor(s, out)
	p.revoked(taken, out)
	return done
}

// setBot marks a session as a program's, permanently.
func (p *Profile) setBot(s *session.Session) {
	if !s.Bot() {
		s.SetBot()
		p.frame.Add(&intent.MarkBot{Session: s.ID(), At: p.clock.now})
	}
}

// The refusals of bots: permanent, and for now.
var (
	errNoBots   = &wamble.Denied{Code: wamble.AccessDenied, Reason: "no bots are let in", Blocking: true}
	errManyBots = &wamble.Denied{Code: wamble.Internal, Reason: "there are enough bots at present"}
)

// refuseBot returns why one more bot is refused, or nil.
func (p *Profile) refuseBot(s *session.Session) *wamble.Denied {
	most, share := p.cfg.Sessions.MaxBots, p.cfg.Sessions.MaxBotShare
	others := &p.transfers.others
	bots, people := p.sessions.Bots()+others.Bots+1, p.sessions.Present()-p.sessions.Bots()+others.Players-others.Bots
	switch {
	case most == 0 || share == 0 || !p.policyDecision(s, "game.bot", "play", "", "").Allowed:
		return errNoBots
	case bots > most, people > 0 && bots*100 > share*(bots+people):
		return errManyBots
	}
	return nil
}

// wantsNoBoard reports whether a hello only asks to watch or read. Its session gets no board until it says
// hello for one, but keeps a board that it holds.
func wantsNoBoard(r *request) bool {
	content, _ := r.ext.Int(wire.KeyHelloWithoutBoard)
	return content == 2
}

// contentWithoutBoard reports whether a player who gets no board accepts a SERVER_HELLO with board 0: they
// watch, and say hello again later.
func contentWithoutBoard(r *request, err error) bool {
	content, _ := r.ext.Int(wire.KeyHelloWithoutBoard)
	return content == 1 && waitsForBoard(err)
}

// waitsForBoard reports whether a player who gets no board may get one later: when a board becomes free, or
// numbers for new ones are leased.
func waitsForBoard(err error) bool {
	return errors.Is(err, board.ErrNoBoard) || errors.Is(err, board.ErrNoID)
}
