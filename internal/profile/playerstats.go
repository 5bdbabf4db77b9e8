package profile

import (
	"wamble"
	"wamble/internal/access"
	"wamble/internal/link"
	"wamble/internal/session"
	"wamble/wire"
)

// The refusals of GET_PLAYER_STATS.
var (
	errBadHandle     = &wamble.Denied{Code: wamble.AccessDenied, Reason: "invalid stats handle"}
	errKeyTarget     = &wamble.Denied{Code: wamble.AccessDenied, Reason: "stats public key target denied"}
	errStatsDenied   = &wamble.Denied{Code: wamble.AccessDenied, Reason: "stats read denied"}
	errUnknownHandle = &wamble.Denied{Code: wamble.UnknownPlayer, Reason: "unknown stats handle"}
	errNoTarget      = &wamble.Denied{Code: wamble.UnknownPlayer, Reason: "no session for stats target"}
	errStatsFailed   = &wamble.Denied{Code: wamble.StatsFailed, Reason: "stats lookup failed"}
)

// target is the player whose stats are asked for.
type target struct {
	session wamble.SessionID // 0: unknown
	who     access.Who
	handle  string // "": a guest
	stats   wamble.Stats
}

// playerStats answers with the stats of the asking player, or of one named by session or handle. It checks
// in this order: the target, the policy, the asking session, the data. A target that cannot exist costs no
// load.
func (p *Profile) playerStats(r *request, out *Output) verdict {
	t, what, denied := p.targetOf(r)
	switch {
	case denied != nil:
		return p.denyStats(r, denied)
	case (t.session != 0 || what.Subject != TargetOf || r.session == nil) &&
		!p.policy.MayReadStats(p.clock.wall(), whoOf(r.session), t.who):
		return p.denyStats(r, errStatsDenied)
	case r.session == nil:
		return p.denyStats(r, errNoRequester)
	case what.Subject != TargetOf:
		return p.denyStats(r, errStatsFailed)
	}
	in, v := p.storeAnswer(r, what, out)
	if in == nil {
		return v
	}
	if t, denied = p.targetIn(t, &what, in); denied != nil {
		return p.denyStats(r, denied)
	}
	if !p.policy.MayReadStats(p.clock.wall(), whoOf(r.session), t.who) {
		return p.denyStats(r, errStatsDenied)
	}
	m := statsOf(&t)
	fields := append(statsID(p.scratch.fields[:0], r), wire.Int(wire.KeyStatsTargetSession, int64(t.session)),
		wire.Int(wire.KeyStatsTargetHasIdentity, oneIf(t.who != access.Who{})),
		wire.String(wire.KeyStatsTargetHandle, t.handle))
	link.Answer(p.link, r.id, wire.Header{Token: r.h.Token}, m, fields...)
	return done
}

// statsID adds the number that the client gave its request.
func statsID(fields []wire.Field, r *request) []wire.Field {
	if id, _ := r.ext.Int(wire.KeyStatsRequestID); id > 0 {
		fields = append(fields, wire.Int(wire.KeyStatsRequestID, id))
	}
	return fields
}

func (p *Profile) denyStats(r *request, d *wamble.Denied) verdict {
	return p.denyWith(r, d, statsID(p.named(r), r))
}

// statsOf returns the totals of a target as they are sent.
func statsOf(t *target) wire.PlayerStatsData {
	return wire.PlayerStatsData{
		Score: wire.Float(t.stats.Score), Games: count(t.stats.Games), Games960: count(t.stats.Chess960Games),
	}
}

// targetOf determines whose stats a request is about, and the load that has them. The target is known if its
// session is in memory.
func (p *people) targetOf(r *request) (t target, what Load, denied *wamble.Denied) {
	what.Token = r.h.Token
	handle, _ := r.ext.Text(wire.KeyStatsTargetHandle)
	key, _ := r.ext.Text(wire.KeyStatsTargetPublicKey)
	id, _ := r.ext.Int(wire.KeyStatsTargetSession)
	s := r.session
	switch {
	case id > 0:
		s = p.sessions.ByID(wamble.SessionID(id))
		what.Subject, what.Session = TargetOf, wamble.SessionID(id)
	case handle != "" && !wamble.IsName(handle):
		return t, what, errBadHandle
	case handle != "":
		what.Subject, what.Handle = TargetOf, handle
		return t, what, nil
	case key != "":
		return t, what, errKeyTarget
	case s != nil:
		what.Subject, what.Session = TargetOf, s.ID()
	}
	if s != nil {
		t = p.targetHere(s)
	}
	return t, what, nil
}

// targetIn completes a target by the answer of the store.
func (p *people) targetIn(t target, what *Load, in *Loaded) (target, *wamble.Denied) {
	switch {
	case in.Session == nil && t.session == 0 && what.Handle != "":
		return t, errUnknownHandle
	case in.Session == nil && t.session == 0:
		return t, errStatsFailed
	case in.Session == nil:
		return t, nil // the store does not have the session yet
	case in.Session.ID == 0 && t.session == 0:
		return t, errNoTarget
	}
	stored := p.targetStored(in.Session, in.Answer)
	if t.session == 0 {
		return stored, nil
	}
	t.stats = stored.stats
	return t, nil
}

func (p *people) targetHere(s *session.Session) target {
	t := target{session: s.ID(), who: whoOf(s)}
	if i := s.Identity(); i != nil {
		t.handle = i.Handle()
	}
	return t
}

// targetStored returns a target from the store.
func (p *people) targetStored(s *wamble.Session, a *Answer) target {
	t := target{session: s.ID, stats: s.Stats}
	if s.Key.IsZero() || p.sessions.Erasing(s.Key) {
		return t
	}
	t.who, t.handle = access.Who{ID: s.Player, Key: s.Key}, s.Handle
	if player := a.player(); player != nil {
		t.stats = player.Stats
	}
	return t
}
