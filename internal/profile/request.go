package profile

import (
	"strings"

	"wamble"
	"wamble/internal/access"
	"wamble/internal/board"
	"wamble/internal/link"
	"wamble/internal/session"
	"wamble/wire"
)

// request is a request on its way through its handler.
type request struct {
	id      link.Request
	h       wire.Header
	message wire.Message // valid during the handler
	ext     wire.Ext     // its fields; valid during the handler
	data    []byte       // the whole packet; valid during the handler
	granted wamble.Token
	session *session.Session // nil: unknown token, or none
	// loaded is the answer to the last load that the request has waited for, nil if none; subject is that
	// of the load.
	loaded    *Loaded
	subject   Subject
	asked     askedSubjects
	refreshes uint8 // how often the store was asked for the facts of its stale session
	noSession bool  // the store has no session for the token, or one that has ended
	notHolder bool  // it names a board that the player does not hold
	accepts   bool  // its token was offered, and not accepted yet
	offer     link.Offered
	moved     bool // its player was offered another board than they got
}

// answerTo returns the answer to a load about s that the request has waited for, or nil.
func (r *request) answerTo(s Subject) *Loaded {
	if r.subject != s {
		return nil
	}
	return r.loaded
}

// verdict is the result of a handler.
type verdict uint8

const (
	done      verdict = iota // answered; Profile.finish comes next
	waits                    // copied, and waits for a load
	forgotten                // refused and forgotten; its repetition is new
)

// scratch is memory that handlers reuse.
type scratch struct {
	holds     session.Holds               // Profile.holds
	connected func(*session.Session) bool // Profile.connected
	request   request
	packet    wire.Packet // of a request that waited
	fen       []byte
	moveTally []byte
	fields    [wire.MaxFields]wire.Field
	moves     []wire.LegalMove
	push      []byte
	released  []board.Released
	ended     []session.Ended
	tokens    []wamble.Token
}

// request decides a request now, or queues it behind waiting requests of its token.
func (p *Profile) request(r *request, out *Output) {
	row := &byControl[r.h.Ctrl]
	if p.stage != running || p.readOnly() && row.writes {
		p.denyForNow(r.id, r.h, out)
		return
	}
	if p.handle(r, row, out) == done {
		p.finish(r, out)
	}
}

// handle runs the checks that can deny a request or make it wait, and then its handler.
func (p *Profile) handle(r *request, row *route, out *Output) verdict {
	if l := p.loads.byToken[r.h.Token]; l != nil {
		return p.queue(l, r)
	}
	if d := p.denyBeforeLookup(r); d != nil {
		return p.deny(r, d)
	}
	switch found := p.findSession(r, row); {
	case !found:
		return p.lookUp(r, out)
	case r.session != nil && r.session.Stale():
		if r.refreshes++; r.refreshes <= maxRefreshes {
			r.asked.remove(SessionOf)
		}
		return p.ask(r, p.askFacts(r.session), out)
	}
	if r.accepts {
		if v, ok := p.accept(r, out); !ok {
			return v
		}
	}
	if d := p.denyPlayer(r, row); d != nil {
		return p.deny(r, d)
	}
	if row.terms {
		accepted, known := p.hasAccepted(r, &p.policy.Own)
		switch {
		case !known:
			return p.ask(r, p.askTerms(r, &p.policy.Own), out)
		case !accepted:
			return p.deny(r, access.ErrTerms)
		}
	}
	return row.handle(p, r, out)
}

// findSession sets the session of r. It reports false if the store must be asked for it.
func (p *Profile) findSession(r *request, row *route) bool {
	if row.lookup != noLookup {
		r.session = p.sessions.Find(r.h.Token)
	}
	if r.session != nil && r.session.Bound() && !p.goodHere(r) {
		r.session = nil
		return true
	}
	if r.session != nil {
		from, _ := p.link.Peer(r.id)
		p.noteActivity(r.session, from)
		p.link.Vouch(r.id)
		return true
	}
	if row.lookup == storeLookup && !r.h.Token.IsZero() {
		from, _ := p.link.Peer(r.id)
		in := r.answerTo(SessionOf)
		if r.offer, r.accepts = p.offered(from, r.h.Token, in != nil && in.Outcome == NotFound); r.accepts {
			return true
		}
	}
	r.noSession = r.noSession || p.unknownTokens.find(p.clock.since, r.h.Token) == NotFound
	return row.lookup != storeLookup || r.noSession || r.h.Token.IsZero() || p.sessions.Refused(r.h.Token)
}

// goodHere reports whether the token of a request is valid at its sender's address.
func (n *network) goodHere(r *request) bool {
	from, _ := n.link.Peer(r.id)
	return r.session.GoodAt(from.IP())
}

// askSession returns the load of the session of a request, with its acceptance of the terms if there are
// any.
func (ru *rules) askSession(r *request) Load {
	what := Load{Subject: SessionOf, Token: r.h.Token}
	if own := &ru.policy.Own; own.Terms.Text != "" {
		what.Profile, what.Hash = own.Name, own.Terms.Hash
	}
	return what
}

// finish seals the decisions on a request and releases its answers, which leave when the decisions are
// durable.
func (p *Profile) finish(r *request, out *Output) {
	p.sealFor(r.session, out)
	p.link.Finish(r.id, p.watermarks.newest)
	switch { // after the answer, for clients that expect it first
	case r.session == nil: // it may have ended while the request waited
	case r.moved && p.holds(r.session.ID()):
		p.pushUpdate(r.session, p.boards.Held(r.session.ID()), out)
	case r.notHolder:
		p.reassignBoard(r, out)
	}
}

// deny answers a request with an ERROR. For an unknown board or player the ERROR carries the board of the
// request.
func (p *Profile) deny(r *request, d *wamble.Denied) verdict { return p.denyWith(r, d, p.named(r)) }

// denyWith is deny with other fields.
func (p *Profile) denyWith(r *request, d *wamble.Denied, fields []wire.Field) verdict {
	p.stats.Refused++
	h := wire.Header{Token: r.h.Token}
	if echoes(r.h.Ctrl, d.Code) {
		h.Board = r.h.Board
	}
	if d.Blocking && !p.showsBoard(r) {
		fields = append(fields, wire.Int(wire.KeyErrorBlocking, 1))
	}
	reason, fields := fitError(p.link.Room(r.id), d.Reason, fields)
	link.Answer(p.link, r.id, h, wire.Error{Code: d.Code, Reason: wire.Text(reason)}, fields...)
	return done
}

// showsBoard reports whether the player of a request is shown a board after its answer (see finish), with which they
// can go on.
func (p *Profile) showsBoard(r *request) bool {
	switch {
	case r.session == nil:
		return false
	case p.holds(r.session.ID()):
		return r.moved
	}
	return r.notHolder && !p.readOnly()
}

// fitError shortens an ERROR to room bytes, so that it can be sent at once to an unproven address: it drops
// fields from the first on, beginning with the number of the request, then cuts the reason.
func fitError(room int, reason string, fields []wire.Field) (string, []wire.Field) {
	const fixed = wire.HeaderSize + 3 // code, and length of the reason
	size := fixed + len(reason) + trailerSize
	for i := range fields {
		size += fields[i].Size()
	}
	for len(fields) > 0 && size > room {
		size -= fields[0].Size()
		fields = fields[1:]
	}
	if n := max(room-fixed, 0); n < len(reason) {
		reason = strings.ToValidUTF8(reason[:n], "")
	}
	return reason, fields
}

// named returns the first fields of an answer: the number of its request, if that has one.
func (p *Profile) named(r *request) []wire.Field {
	fields := p.scratch.fields[:0]
	if r.h.Seq != 0 {
		fields = append(fields, wire.Int(wire.KeyRequestSeq, int64(r.h.Seq)))
	}
	return fields
}

// echoes reports whether an ERROR carries the board of its request.
func echoes(c wire.Control, code wamble.Code) bool {
	return c != wire.CtrlClientHello && (code == wamble.UnknownPlayer || code == wamble.UnknownBoard)
}

// notify pushes an unreliable notification to the address of a token.
func (p *Profile) notify(token wamble.Token, about wamble.BoardID, n wire.ServerNotification, out *Output) {
	h := wire.Header{Flags: wire.FlagUnreliable, Token: token, Board: about}
	packet, err := wire.Append(p.scratch.push[:0], h, n)
	if err == nil {
		p.push(token, packet, out)
	}
}

// push sends an unrequested packet, behind the durable index of what was decided so far.
func (p *Profile) push(token wamble.Token, packet []byte, out *Output) {
	p.scratch.push = packet
	p.seal(out)
	p.link.Push(token, packet, p.watermarks.newest)
}
