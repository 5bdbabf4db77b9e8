package profile

import (
	"time"

	"wamble/internal/access"
)

// Ban ends sessions as Kick does, and refuses them from then on. A Profile does not save its bans: the
// caller gives them to the next one.
type Ban struct {
	Whom  Target
	Text  string    // the reason, for the players
	Until time.Time // zero: for ever
}

func (in *Ban) apply(p *Profile, out *Output) {
	if err := p.policy.Bans.Add(p.clock.wall(), in.access()); err != nil {
		out.Troubles = append(out.Troubles, err)
	}
	// A profile gets all bans again while it starts. It ends nobody then: who was banned has been kicked before, packets
	// of who is banned are refused, and to look for each among all sessions takes long.
	if p.stage != starting && (in.Until.IsZero() || p.clock.wall().Before(in.Until)) {
		(&Kick{Whom: in.Whom, Text: in.Text}).apply(p, out)
	}
}

func (in *Ban) access() access.Ban {
	return access.Ban{Token: in.Whom.Token, Key: in.Whom.Key, Net: in.Whom.Net, Reason: in.Text, Until: in.Until}
}

// Unban removes a ban.
type Unban struct{ Whom Target }

func (in *Unban) apply(p *Profile, _ *Output) { p.policy.Bans.Remove((&Ban{Whom: in.Whom}).access()) }
