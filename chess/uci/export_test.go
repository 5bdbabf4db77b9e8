package uci

import "time"

// SetPatience changes how long the engine may take from now on: a start takes as
// long as a loaded machine needs.
func (e *Engine) SetPatience(d time.Duration) { e.patience, e.slack = d, d }

// SetSlack changes how much longer than allowed the engine may think before it is
// stopped.
func (e *Engine) SetSlack(d time.Duration) { e.slack = d }
