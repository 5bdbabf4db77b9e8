package handoff

import (
	"encoding/json"
	"fmt"
	"time"
)

// Note is the part of an inheritance that is passed on as JSON.
type Note struct {
	// Began is when the handoff began, Frozen when its step freeze began, and Left the
	// moment before exec, in nanoseconds since 1970.
	Began  int64 `json:"began"`
	Frozen int64 `json:"frozen"`
	Left   int64 `json:"left,omitempty"`
	// Old is the descriptor of the old binary, Report that of the connection whose client
	// waits for the result; 0 if there is none.
	Old    int `json:"old,omitempty"`
	Report int `json:"report,omitempty"`
	// Web says that the connection speaks HTTP. Key is the idempotency key of the request
	// for the handoff.
	Web bool   `json:"web,omitempty"`
	Key string `json:"key,omitempty"`
	// From is the version of the image that wrote the note.
	From string `json:"from,omitempty"`
	// Failure says why the new image could not take over; then the old one is executed
	// again.
	Failure string `json:"failure,omitempty"`
	// Draining says that new players are refused.
	Draining bool `json:"draining,omitempty"`
	// LastVersion is the version of the last note of another node that was applied.
	LastVersion int64 `json:"heard,omitempty"`
	// Phases has the phases so far, in order.
	Phases []Phase `json:"phases,omitempty"`
}

// Phase is the duration of one part of a handoff.
type Phase struct {
	Name string        `json:"name"`
	Took time.Duration `json:"took"` // nanoseconds
}

const (
	maxNote    = 16 << 10
	maxFailure = 2 << 10
)

// Add adds a phase.
func (n *Note) Add(name string, took time.Duration) {
	n.Phases = append(n.Phases, Phase{name, took})
}

func (n Note) encode() (string, error) {
	n.Failure = n.Failure[:min(len(n.Failure), maxFailure)]
	text, err := json.Marshal(n)
	if err == nil && len(text) > maxNote {
		err = fmt.Errorf("the note has %d bytes", len(text))
	}
	return string(text), err
}

func decodeNote(text string) (Note, error) {
	var n Note
	if len(text) > maxNote {
		return n, fmt.Errorf("the note has %d bytes", len(text))
	}
	err := json.Unmarshal([]byte(text), &n)
	if err == nil && (badDescriptor(n.Old) && n.Old != 0 || badDescriptor(n.Report) && n.Report != 0) {
		err = fmt.Errorf("the note names the descriptors %d and %d", n.Old, n.Report)
	}
	return n, err
}
