package profile

// Brownout is which services a profile stops so that the rest can go on. The zero value is full service.
type Brownout struct {
	NoNewSessions bool // new players are refused
	NoPredictions bool // new predictions are refused
	SlowWatching  bool // spectators get fewer updates
	ReadOnly      bool // nothing is decided: no moves, no hellos
}

// SetBrownout replaces the Brownout.
type SetBrownout struct{ Brownout Brownout }

func (in *SetBrownout) apply(p *Profile, _ *Output) {
	p.brownout = in.Brownout
	p.audience.spectators.Slow(in.Brownout.SlowWatching)
}
