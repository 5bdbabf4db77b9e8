package profile

import "time"

// Profile is one running profile. Drive it from one goroutine:
//
//	p := profile.New(options)
//	p.Step(now, inputs, &out)   // Restore…, then Ready, then what happens
//	submit out.Frames as one group; ask out.Loads; lease out.Leases;
//	send out.Packets; be back at out.Next
type Profile struct {
}

// New returns a profile that knows nobody and has no boards.
func New(o Options) *Profile { return &Profile{} }

// Step tells a profile what happened up to now, and takes down in out what
// follows from it. An earlier now than the last counts as the last.
func (p *Profile) Step(now time.Time, inputs []Input, out *Output) { out.reset() }
