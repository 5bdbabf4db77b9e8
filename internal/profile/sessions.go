package profile

import (
	"cmp"
	"slices"
	"time"

	"wamble"
	"wamble/internal/intent"
	"wamble/internal/link"
	"wamble/internal/session"
	"wamble/wire"
)

// MaxSessions bounds how many sessions of an identity one load reads.
const MaxSessions = 256

var errNoIdentity = &wamble.Denied{Code: wamble.AccessDenied, Reason: "log in first"}

// listSessions answers with the sessions of the player's identity that can be resumed. A guest has only the
// present one.
func (p *Profile) listSessions(r *request, out *Output) verdict {
	var stored *Answer
	if i := r.session.Identity(); i != nil {
		in := r.answerTo(SessionsOf)
		if in == nil {
			return p.ask(r, Load{Subject: SessionsOf, Token: r.h.Token, Key: i.Key()}, out)
		}
		stored = in.Answer
	}
	return p.answerSessions(r, stored)
}

// revokeSessions ends one session of the player's identity, or all others, here and in the store. The store
// is asked first: a session that is not in memory is refused from now on by the hash of its token.
func (p *Profile) revokeSessions(r *request, out *Output) verdict {
	which := wamble.SessionID(r.message.(*wire.RevokeSessions).Session)
	own := r.session
	if own.Identity() == nil || which < 0 {
		return p.deny(r, errNoIdentity)
	}
	key := own.Identity().Key()
	in := r.answerTo(SessionsOf)
	if in == nil {
		return p.ask(r, Load{Subject: SessionsOf, Token: r.h.Token, Key: key}, out)
	}
	what := revocation{key: key, session: which}
	if which == 0 {
		what = revocation{key: key, session: own.ID(), others: true}
	}
	p.revoke(what, in.Answer, "this session was ended from another one of yours", out)
	if p.sessions.Find(r.h.Token) != own { // it was the player's own
		r.session = nil
		p.seal(out)
		link.Answer(p.link, r.id, wire.Header{Token: r.h.Token}, wire.SessionsData{})
		return done
	}
	return p.answerSessions(r, in.Answer)
}

// revocation selects sessions to end: one of an identity or guest, or all others of the identity.
type revocation struct {
	key     wamble.PublicKey // zero: a guest's
	session wamble.SessionID
	others  bool
}

func (v *revocation) includes(id wamble.SessionID) bool { return (id == v.session) != v.others }

// sessions returns the sessions in memory that the revocation may select from.
func (v *revocation) sessions(t *session.Table) []*session.Session {
	if !v.key.IsZero() {
		return t.Of(v.key)
	}
	if s := t.ByID(v.session); s != nil && s.Identity() == nil {
		return []*session.Session{s}
	}
	return nil
}

// revoke ends sessions of an identity, and returns how many. Stored are the sessions in the store.
func (p *Profile) revoke(v revocation, stored *Answer, why string, out *Output) (n uint64) {
	for _, s := range v.sessions(p.sessions) {
		if v.includes(s.ID()) {
			p.endSession(s, why, out)
			p.sessions.Kick(p.clock.now, s)
			n++
		}
	}
	if stored != nil {
		for i := range stored.Sessions {
			if s := &stored.Sessions[i]; v.includes(s.ID) && s.Key == v.key && !p.sessions.Refuses(s.Token) {
				p.sessions.RefuseHash(s.Token)
				n++
			}
		}
	}
	p.frame.Add(&intent.RevokeSessions{Session: v.session, Key: v.key, Others: v.others, At: p.clock.now})
	p.seal(out)
	return n
}

// answerSessions answers with the player's own session, then the others, the last seen first.
func (p *Profile) answerSessions(r *request, stored *Answer) verdict {
	here := []*session.Session{r.session}
	if i := r.session.Identity(); i != nil {
		here = p.sessions.Of(i.Key())
	}
	known := map[wamble.SessionID]bool{}
	var rows []wire.Session
	add := func(id wamble.SessionID, created, seen time.Time) {
		known[id] = true
		rows = append(rows, wire.Session{
			ID: wire.Uint64(id), Created: seconds(created.Unix()), LastSeen: seconds(seen.Unix()),
			Own: id == r.session.ID(),
		})
	}
	for _, s := range here {
		add(s.ID(), p.clock.label(s.Created()), p.lastSeen(s))
	}
	if stored != nil {
		for i := range stored.Sessions {
			if s := &stored.Sessions[i]; !known[s.ID] && !p.sessions.Refuses(s.Token) {
				add(s.ID, s.Created, s.LastSeen)
			}
		}
	}
	slices.SortFunc(rows, func(a, b wire.Session) int {
		switch {
		case a.Own:
			return -1
		case b.Own:
			return 1
		}
		return cmp.Or(cmp.Compare(b.LastSeen, a.LastSeen), cmp.Compare(b.ID, a.ID))
	})
	link.Answer(p.link, r.id, wire.Header{Token: r.h.Token},
		wire.SessionsData{Rows: rows[:min(len(rows), wire.MaxSessions)]})
	return done
}

// Revoke ends sessions and voids their tokens: one session of Key, or all if Session is 0; without a Key
// the guest's session. Stored are the sessions in the store.
type Revoke struct {
	Key     wamble.PublicKey
	Session wamble.SessionID
	Stored  []wamble.Session
}

func (in *Revoke) apply(p *Profile, out *Output) {
	if in.Key.IsZero() && in.Session == 0 || p.stage == failed {
		return
	}
	v := revocation{key: in.Key, session: in.Session, others: in.Session == 0}
	p.stats.Host.Revoked += p.revoke(v, &Answer{Sessions: in.Stored}, "the host has ended your session", out)
}
