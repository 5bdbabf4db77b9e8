package profile

import (
	"wamble"
	"wamble/internal/link"
	"wamble/wire"
)

// stage is how far a profile is between its start and its end.
type stage uint8

const (
	starting stage = iota // boards and sessions are being restored
	running
	failed // the journal has failed
)

// Ready ends the start: everything is restored. Until then requests are refused.
type Ready struct{}

func (*Ready) apply(p *Profile, out *Output) {
	if p.stage != starting {
		return
	}
	p.stage = running
	for i := range p.waiting {
		p.waiting[i].apply(p, out)
	}
	p.waiting = nil
}

// JournalFailed stops all decisions: the last ones in memory may be lost. The caller makes a new Profile
// when the journal works again.
type JournalFailed struct{}

// apply refuses the requests that wait for a load. Answers that wait behind the durable index never leave.
func (*JournalFailed) apply(p *Profile, out *Output) {
	if p.stage == failed {
		return
	}
	p.stage = failed
	for _, l := range p.loads.inOrder() {
		for _, w := range l.waiting {
			p.denyForNow(w.id, w.h, out)
		}
	}
	p.loads.clear()
}

// readOnly reports whether nothing may be decided, by the host's command.
func (ru *rules) readOnly() bool { return ru.brownout.ReadOnly }

// denyForNow refuses a request that cannot be decided now, and makes link forget it, so that its repetition
// is new. The refusal is at most three times as long as any request, which an unproven address may be sent.
func (p *Profile) denyForNow(id link.Request, h wire.Header, out *Output) {
	reason := "the server is starting"
	switch {
	case p.stage == running && p.brownout.ReadOnly:
		reason = "the server is read-only at present"
	case p.stage != starting:
		reason = "the server cannot keep moves at present"
	}
	p.denyUndecided(id, h, reason, out)
}

// denyUndecided is denyForNow with a reason; without a reason it sends nothing.
func (p *Profile) denyUndecided(id link.Request, h wire.Header, reason string, out *Output) {
	to, listens := p.link.Peer(id)
	p.link.Abandon(id)
	p.stats.Refused++
	refusal := wire.Header{Flags: wire.FlagUnreliable, Token: h.Token}
	packet, err := wire.Append(p.scratch.push[:0], refusal, wire.Error{
		Code: wamble.Internal, Reason: wire.Text(reason),
	})
	p.scratch.push = packet
	if err == nil && listens && reason != "" {
		out.Packets.Send(to, packet)
	}
}
