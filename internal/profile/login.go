package profile

import (
	"slices"
	"strings"

	"wamble"
	"wamble/internal/board"
	"wamble/internal/link"
	"wamble/internal/session"
	"wamble/wire"
)

// login links a session to a key: the first request is answered with a challenge, the signature in the
// second proves that the player has the private key. A failed login is answered without a reason.
func (p *Profile) login(r *request, out *Output) verdict {
	m, s := r.message.(*wire.LoginRequest), r.session
	key := wamble.PublicKey(m.PublicKey)
	own := p.playerOf(key) // the key of the player's identity
	if s == nil || p.policy.Bans.OfKey(p.clock.wall(), key) != nil || p.policy.Bans.OfKey(p.clock.wall(), own) != nil {
		return p.failLogin(r)
	}
	if m.Signature == nil {
		text, err := p.sessions.Challenge(p.clock.now, s, key)
		if err != nil {
			return p.failLogin(r)
		}
		link.Answer(p.link, r.id, wire.Header{Token: r.h.Token}, wire.LoginChallenge{Challenge: text})
		return done
	}
	var stored *wamble.Player
	in := r.answerTo(PlayerOf)
	if in != nil {
		if stored = in.Answer.player(); stored != nil {
			own = stored.Key // the store may have merged the identity into another
		} else if own != key {
			p.forgetMerged(own) // it was erased elsewhere
			own = key
		}
		if p.policy.Bans.OfKey(p.clock.wall(), own) != nil {
			return p.failLogin(r)
		}
	} else if v, ok := p.prove(r, key, *m.Signature, out); !ok {
		return v
	}
	p.sessions.Wrote(s, p.nextDurableIndex(out))
	if err := p.sessions.Link(p.clock.now, s, own, stored, &p.frame); err != nil {
		return p.deny(r, &wamble.Denied{Code: wamble.Internal, Reason: "no number is left for a new player"})
	}
	p.boards.Identify(s.ID(), true)
	if err := p.secureToken(r, s); err != nil {
		return p.deny(r, deniedOf(err))
	}
	return p.loggedIn(r, s, out)
}

// secureToken makes sure that a person who knew the token before the login cannot use the identity after
// it: the session gets a new token, which LOGIN_SUCCESS carries. A client of the original does not read it
// there, so its token stays, and is from now on valid only at the address of the login.
func (p *Profile) secureToken(r *request, s *session.Session) error {
	from, _ := p.link.Peer(r.id)
	if renews, _ := r.ext.Int(wire.KeyLoginToken); renews != 1 {
		p.sessions.BindToken(p.clock.now, s, from.IP(), &p.frame)
		return nil
	}
	if err := p.sessions.RenewToken(p.clock.now, s, &p.frame); err != nil {
		return err
	}
	p.audience.spectators.Rename(s.ID(), s.Token())
	p.link.Purge(r.h.Token, from)
	return nil
}

// prove checks the signature, and asks the store for the identity if that is not in memory. It reports
// whether the login can go on at once. While the store is away the challenge stays valid.
func (p *Profile) prove(r *request, key wamble.PublicKey, signature [64]byte, out *Output) (verdict, bool) {
	from, _ := p.link.Peer(r.id)
	server, bound := r.ext.Text(wire.KeyLoginServer)
	if bound && !isNamed(p.cfg.LoginNames(), server) || !bound && !p.cfg.Sessions.LoginLegacy {
		return p.failLogin(r), false
	}
	own := p.playerOf(key)
	here := p.sessions.Fresh(own) != nil || p.sessions.Erasing(own)
	what := Load{Subject: PlayerOf, Token: r.h.Token, Key: own}
	if d := p.answerCache.failed(p.clock.since, &what); d != nil && !here {
		return p.deny(r, d), false
	}
	switch {
	case !here && p.storeAway:
		return p.deny(r, errAway), false
	case p.sessions.Prove(p.clock.now, r.session, from.IP(), key, signature, server) != nil:
		return p.failLogin(r), false
	case here:
		return done, true
	}
	if p.shard.Of > 1 { // other machines may log in the same key
		first, err := p.sessions.NewPlayer(own)
		if err != nil {
			return p.deny(r, deniedOf(err)), false
		}
		first.Created = p.clock.wall()
		what.First = first
	}
	return p.ask(r, what, out), false
}

// isNamed reports whether names contain server, by its host alone or with its port. No names contain every
// server.
func isNamed(names []string, server string) bool {
	if server == "" || len(names) == 0 {
		return server != ""
	}
	host := server
	if at := strings.LastIndexByte(server, ':'); at > strings.LastIndexByte(server, ']') {
		host = server[:at]
	}
	return slices.ContainsFunc(names, func(name string) bool {
		return name == server || name == host || name == strings.Trim(host, "[]")
	})
}

// loggedIn answers with the board that the player has now, if any.
func (p *Profile) loggedIn(r *request, s *session.Session, out *Output) verdict {
	var taken board.Released
	b := p.boards.Held(s.ID())
	if !wantsNoBoard(r) {
		var err error
		if b, taken, err = p.assignBoard(s); err != nil {
			b = nil
		}
	}
	v := p.show(s, b, r.h.Seq)
	v.fit(p.link.Room(r.id))
	h := wire.Header{Token: s.Token(), Board: idOf(b), Flags: v.flags}
	link.Answer(p.link, r.id, h, wire.LoginSuccess{FEN: v.fen}, v.fields...)
	if b != nil {
		p.noteShown(b, &v)
	}
	p.sealFor(s, out)
	p.revoked(taken, out)
	return done
}

func idOf(b *board.Board) wamble.BoardID {
	if b == nil {
		return 0
	}
	return b.ID()
}

// failLogin answers a failed login.
func (p *Profile) failLogin(r *request) verdict {
	p.stats.Refused++
	link.Answer(p.link, r.id, wire.Header{Token: r.h.Token}, wire.LoginFailed{Code: wamble.AccessDenied}, p.named(r)...)
	return done
}

// logout unlinks a session from its identity and ends it. When the ACK leaves, the end is durable, and link
// has dropped the token's stored answers and other addresses.
func (p *Profile) logout(r *request, out *Output) verdict {
	s := r.session
	if s == nil {
		return done
	}
	p.sessions.Wrote(s, p.nextDurableIndex(out))
	p.boards.Release(p.clock.now, s.ID(), &p.frame)
	p.audience.spectators.Leave(s.ID())
	p.sessions.Logout(p.clock.now, s, &p.frame)
	r.session = nil
	p.seal(out)
	from, _ := p.link.Peer(r.id)
	p.link.Purge(r.h.Token, from)
	return done
}

// nextDurableIndex returns the durable index under which the present request will be finished if it decides something.
func (d *decisions) nextDurableIndex(out *Output) uint64 {
	if out.DurableIndex != 0 {
		return out.DurableIndex
	}
	return d.watermarks.newest + 1
}
