package handoff

import (
	"time"

	"wamble"
)

// Result is how a handoff ended, as the image that took over tells it.
type Result struct {
	At      time.Time      `json:"at"`
	PID     int            `json:"pid"`
	From    string         `json:"from"`
	To      string         `json:"to"`
	Failure string         `json:"failure,omitempty"` // why the new image gave back
	Frozen  wamble.Seconds `json:"frozen"`            // for how long nothing was read
	Phases  []Phase        `json:"phases"`
}
