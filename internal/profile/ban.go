package profile

import (
	"time"

	"wamble/internal/access"
)

// Ban ends sessions as Kick does, and keeps them out. A Profile forgets its bans
// when it ends: the caller tells the next one.
type Ban struct {
	Whom  Whom
	Text  string    // the reason, for the players
	Until time.Time // zero: for ever
}

func (in *Ban) take(p *Profile, out *Output) {
	if err := p.law.Bans.Add(p.clock.wall(), in.access()); err != nil {
		out.Troubles = append(out.Troubles, err)
	}
	if in.Until.IsZero() || p.clock.wall().Before(in.Until) {
		(&Kick{Whom: in.Whom, Text: in.Text}).take(p, out)
	}
}

func (in *Ban) access() access.Ban {
	return access.Ban{Token: in.Whom.Token, Key: in.Whom.Key, Net: in.Whom.Net, Reason: in.Text, Until: in.Until}
}

// Unban lets somebody in again.
type Unban struct{ Whom Whom }

func (in *Unban) take(p *Profile, _ *Output) { p.law.Bans.Remove((&Ban{Whom: in.Whom}).access()) }
