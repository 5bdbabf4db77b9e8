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

// hello greets a player: the one of the token, or a new one. A token that
// nobody knows is not adopted. A new player whose address may be forged gets an offer.
func (p *Profile) hello(r *request, out *Output) verdict {
	if v := r.h.ClientVersion(); v > wire.Version {
		reason := fmt.Sprintf("upgrade required (client=%d server=%d)", v, wire.Version)
		return p.deny(r, &wamble.Denied{Code: wamble.UnsupportedVersion, Reason: reason, Blocking: true})
	}
	p.takeTurns(out) // he does not come before those who wait
	s, isNew := r.session, false
	if s == nil && !r.granted.IsZero() {
		s = p.sessions.Find(r.granted) // the first answer got lost, and the player asks again
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
		s, isNew, err = p.sessions.Hello(p.clock.now, from, r.h.Seq, p.scratch.holds, &p.draft)
		if errors.Is(err, session.ErrFull) && p.makeRoom(from, out) {
			s, isNew, err = p.sessions.Hello(p.clock.now, from, r.h.Seq, p.scratch.holds, &p.draft)
		}
		if err != nil {
			return p.deny(r, deniedOf(err))
		}
	}
	if isBot == 1 {
		p.markBot(s)
		if !isNew {
			p.sealFor(s, out)
		}
	}
	t := &p.law.Own.Terms
	if isNew {
		from, _ := p.link.Peer(r.id)
		s.SetStream(from.Stream())
		s.SetTerms(session.RevisionOf(t.Hash), false)
	} else if _, known := s.Terms(session.RevisionOf(t.Hash)); t.Text != "" && !known && r.session != nil && !p.storeAway {
		return p.ask(r, p.askTerms(r, &p.law.Own), out)
	}
	var b *board.Board
	var taken board.Released
	var err error
	s.SetWatches(wantsNoBoard(r))
	if s.Watches() {
		b = p.boards.Held(s.ID())
		p.waitlist.remove(s.ID())
	} else {
		b, taken, err = p.seat(s)
	}
	if err != nil && !contentWithoutBoard(r, err) {
		if isNew { // nobody was told of the session
			p.draft.discard()
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
	p.greetStanding(r, s.Token())
	p.sealFor(s, out)
	p.revoked(taken, out)
	return done
}

// markBot marks a session as that of a program, for good.
func (p *Profile) markBot(s *session.Session) {
	if !s.Bot() {
		s.SetBot()
		p.draft.Add(&intent.MarkBot{Session: s.ID(), At: p.clock.now})
		clear(p.pages)
	}
}

// The refusals of bots: for good, and for now.
var (
	errNoBots   = &wamble.Denied{Code: wamble.AccessDenied, Reason: "no bots are let in", Blocking: true}
	errManyBots = &wamble.Denied{Code: wamble.Internal, Reason: "there are enough bots at present"}
)

// refuseBot returns why one more bot is refused, or nil.
func (p *Profile) refuseBot(s *session.Session) *wamble.Denied {
	most, share := p.cfg.Sessions.MaxBots, p.cfg.Sessions.MaxBotShare
	others := &p.travel.others
	bots, people := p.sessions.Bots()+others.Bots+1, p.sessions.Present()-p.sessions.Bots()+others.Players-others.Bots
	switch {
	case most == 0 || share == 0 || !p.decide(s, "game.bot", "play", "", "").Allowed:
		return errNoBots
	case bots > most, people > 0 && bots*100 > share*(bots+people):
		return errManyBots
	}
	return nil
}

// wantsNoBoard reports whether somebody only wants to watch or read: he is no player
// until he says hello for a board. A board that he holds stays his.
func wantsNoBoard(r *request) bool {
	content, _ := r.ext.Int(wire.KeyHelloWithoutBoard)
	return content == 2
}

// contentWithoutBoard reports whether a player who gets no board wants his
// SERVER_HELLO nevertheless, with board 0: he watches, and says hello again later.
func contentWithoutBoard(r *request, err error) bool {
	content, _ := r.ext.Int(wire.KeyHelloWithoutBoard)
	return content == 1 && mayWait(err)
}

// mayWait reports whether a player gets a board later for whom there is none now: one
// becomes free, or numbers for new ones come.
func mayWait(err error) bool {
	return errors.Is(err, board.ErrNoBoard) || errors.Is(err, board.ErrNoID)
}
