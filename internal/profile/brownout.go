package profile

// Brownout is what a profile does without so that the rest goes on. The zero
// value is full service.
type Brownout struct {
	NoNewSessions bool // players without a session are turned away
	NoPredictions bool // no new ones
	SlowWatching  bool // spectators get fewer updates
	ReadOnly      bool // nothing is decided: no moves, no hellos
}

// SetBrownout says what the profile does without for now.
type SetBrownout struct{ Brownout Brownout }

func (in *SetBrownout) take(p *Profile, _ *Output) {
	p.brownout = in.Brownout
	p.audience.hall.Slow(in.Brownout.SlowWatching)
}
