package profile

import (
	"wamble"
)

// law is what players may do here: who is kept out, what is off for now, and
// what is being cried.
type law struct {
	bans     bans
	brownout Brownout
	crier    crier
}

// The refusals of a brownout.
var (
	errNoNewPlayers  = &wamble.Denied{Code: wamble.Internal, Reason: "the server takes no new players at present"}
	errNoPredictions = &wamble.Denied{Code: wamble.Internal, Reason: "no predictions are taken at present"}
)

var errBanned = &wamble.Denied{Code: wamble.AccessDenied, Reason: "you are banned from this server", Blocking: true}

// banned returns why a request is refused before anything is looked up: its
// token, or where it comes from.
func (p *Profile) banned(r *request) *wamble.Denied {
	bans := &p.mode.law.bans
	if len(bans.tokens) == 0 && len(bans.nets) == 0 {
		return nil
	}
	from, _ := p.link.Peer(r.id)
	d := bans.of(p.clock.now, from.IP(), r.h.Token)
	if d != nil {
		p.stats.Host.Banned++
	}
	return d
}
