package server

import (
	"errors"
	"fmt"
	"syscall"

	"wamble/internal/config"
)

// StartStatus is how binding and starting the profiles ended, at a start and at
// a reload: the statuses of the original.
type StartStatus int

// The closed list of start statuses, with when each is returned.
const (
	// StartOK: all profiles have their sockets and run, or are being started.
	StartOK StartStatus = iota
	// StartNone: the configuration defines no profile. A default runtime is
	// started instead; no error carries this status.
	StartNone
	// StartConflict: two profiles want the same port, or the same isolated
	// database.
	StartConflict
	// StartSocketError: the kernel gave no socket, as when the process has too
	// many open files.
	StartSocketError
	// StartBindError: the address of a profile is taken, not allowed, or not of
	// this machine.
	StartBindError
	// StartThreadError: what a runtime needs besides its socket could not be
	// opened: its store, or a recording.
	StartThreadError
	// StartNoSocket: an inherited socket is not usable, or the default runtime
	// could not bind.
	StartNoSocket
	// StartDefaultRuntime: profiles are defined, but none of them runs. A default
	// runtime is started instead; no error carries this status.
	StartDefaultRuntime
)

var startNames = [...]string{
	"ok", "no profiles", "conflict", "no socket from the kernel", "cannot bind", "cannot start", "no usable socket", "default runtime",
}

func (s StartStatus) String() string {
	if s < 0 || int(s) >= len(startNames) {
		return fmt.Sprintf("StartStatus(%d)", int(s))
	}
	return startNames[s]
}

// StartError is why profiles were not started. Nothing was changed.
type StartError struct {
	Status  StartStatus
	Profile string
	Err     error
}

func (e *StartError) Error() string {
	return fmt.Sprintf("profile %s: %s: %v", e.Profile, e.Status, e.Err)
}

func (e *StartError) Unwrap() error { return e.Err }

// kernelGaveNone are the errors of socket(2) as opposed to those of bind(2).
var kernelGaveNone = []error{
	syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.EAFNOSUPPORT, syscall.EPROTONOSUPPORT,
}

// bindError gives the failure to bind a profile's sockets its status.
func bindError(profile string, err error) error {
	status := StartBindError
	if profile == config.DefaultName {
		status = StartNoSocket
	}
	for _, none := range kernelGaveNone {
		if errors.Is(err, none) {
			status = StartSocketError
		}
	}
	return &StartError{Status: status, Profile: profile, Err: err}
}

// startStatus says which profiles a configuration starts: those that run, or
// the default runtime because there are none or none of them runs.
func startStatus(c *config.Config) StartStatus {
	switch running := c.Running(); {
	case len(running) != 1 || running[0] != c.Default:
		return StartOK
	case len(c.Profiles) == 0:
		return StartNone
	}
	return StartDefaultRuntime
}
