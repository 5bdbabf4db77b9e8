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
	case what.Subject == TargetOf && r.session != nil && r.answerTo(TargetOf) == nil:
		if d := p.answerCache.failed(p.clock.since, &what); d != nil {
			return p.deny(r, d)
		}
		if r.loaded = p.answerCache.find(p.clock.since, &what); r.loaded == nil {
			return p.ask(r, what, out)
		}
		r.subject = TargetOf
		return p.playerStats(r, out)
	case !p.policy.MayReadStats(p.clock.wall(), whoOf(r.session), t.who):
		return p.denyStats(r, errStatsDenied)
	case r.session == nil:
		return p.denyStats(r, errNoRequester)
	case t.session == 0:
		return p.denyStats(r, errStatsFailed)
	}
	m := wire.PlayerStatsData{
		Score: wire.Float(t.stats.Score), Games: count(t.stats.Games), Games960: count(t.stats.Chess960Games),
	}
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

// targetOf determines whose stats a request is about. If the store must be asked first, it returns the
// load.
func (p *people) targetOf(r *request) (t target, what Load, denied *wamble.Denied) {
	what.Token = r.h.Token
	handle, _ := r.ext.Text(wire.KeyStatsTargetHandle)
	key, _ := r.ext.Text(wire.KeyStatsTargetPublicKey)
	id, _ := r.ext.Int(wire.KeyStatsTargetSession)
	in := r.answerTo(TargetOf)
	switch {
	case id > 0:
		if s := p.sessions.ByID(wamble.SessionID(id)); s != nil {
			return p.targetHere(s), what, nil
		}
		what.Subject, what.Session = TargetOf, wamble.SessionID(id)
	case handle != "" && !wamble.IsName(handle):
		return t, what, errBadHandle
	case handle != "":
		what.Subject, what.Handle = TargetOf, handle
		if in != nil && in.Session == nil {
			return t, what, errUnknownHandle
		}
		if in != nil && in.Session.ID == 0 {
			return t, what, errNoTarget
		}
	case key != "":
		return t, what, errKeyTarget
	default:
		if r.session != nil {
			t = p.targetHere(r.session)
		}
		return t, what, nil
	}
	if in != nil && in.Session != nil {
		t = p.targetStored(in.Session, in.Answer)
	}
	return t, what, nil
}

func (p *people) targetHere(s *session.Session) target {
	t := target{session: s.ID(), who: whoOf(s), stats: p.sessions.Stats(s)}
	if i := s.Identity(); i != nil {
		t.handle = i.Handle()
	}
	return t
}

// targetStored returns a target from the store. Stats of its identity in memory are newer.
func (p *people) targetStored(s *wamble.Session, a *Answer) target {
	t := target{session: s.ID, stats: s.Stats}
	if s.Key.IsZero() || p.sessions.Erasing(s.Key) {
		return t
	}
	t.who, t.handle = access.Who{ID: s.Player, Key: s.Key}, s.Handle
	switch i := p.sessions.Identity(s.Key); {
	case i != nil:
		t.stats = i.Stats()
	case a != nil && a.Player != nil:
		t.stats = a.Player.Stats
	}
	return t
}
