package handoff

import "fmt"

// ExportStatus is the result of exporting sockets and states. The values are those of the
// original server.
type ExportStatus int

// The closed list of export statuses, with when each is returned.
const (
	// ExportOK: there is at least one entry. No error carries this status.
	ExportOK ExportStatus = 0
	// ExportEmpty: no profile runs, so that there is nothing to hand over.
	ExportEmpty ExportStatus = 1
	// ExportBufferTooSmall: a variable, or all of them together, would not fit
	// into the environment of a process.
	ExportBufferTooSmall ExportStatus = -1
	// ExportNotReady: a profile is starting or its journal has failed, decisions did not
	// become durable in time, a state file could not be written, a handoff or reload is
	// under way, or the platform does not support handoffs.
	ExportNotReady ExportStatus = -2
)

var exportNames = map[ExportStatus]string{
	ExportOK: "ok", ExportEmpty: "nothing to hand over", ExportBufferTooSmall: "the environment is too small",
	ExportNotReady: "not ready",
}

func (s ExportStatus) String() string {
	if name, ok := exportNames[s]; ok {
		return name
	}
	return fmt.Sprintf("ExportStatus(%d)", int(s))
}

// ExportError says why a handoff failed. The server goes on.
type ExportError struct {
	Status ExportStatus
	Err    error
}

func (e *ExportError) Error() string { return fmt.Sprintf("%s: %v", e.Status, e.Err) }
func (e *ExportError) Unwrap() error { return e.Err }

// NotReady returns an *ExportError with status ExportNotReady.
func NotReady(format string, args ...any) error {
	return &ExportError{ExportNotReady, fmt.Errorf(format, args...)}
}
