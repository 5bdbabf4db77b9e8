package server

import (
	"errors"
	"fmt"
	"syscall"

	"wamble/internal/config"
)

// StartStatus is the reason why profiles were not bound and started, at a start or a reload.
// The values are the failures of the original server.
type StartStatus int

// The closed list of start statuses, with when each is returned.
const (
	// StartConflict: two profiles want the same port, or the same isolated
	// database.
	StartConflict StartStatus = iota
	// StartSocketError: the kernel gave no socket, as when the process has too
	// many open files.
	StartSocketError
	// StartBindError: the address of a profile is taken, not allowed, or not of
	// this machine.
	StartBindError
	// StartThreadError: the certificate, the restrictions or the store of a profile could not
	// be opened.
	StartThreadError
	// StartNoSocket: an inherited socket is not usable, or the default runtime
	// could not bind.
	StartNoSocket
)

var startNames = [...]string{
	"conflict", "no socket from the kernel", "cannot bind", "cannot start", "no usable socket",
}

func (s StartStatus) String() string {
	if s < 0 || int(s) >= len(startNames) {
		return fmt.Sprintf("StartStatus(%d)", int(s))
	}
	return startNames[s]
}

// StartError says why profiles were not started. Nothing was changed.
type StartError struct {
	Status  StartStatus
	Profile string
	Err     error
}

func (e *StartError) Error() string {
	return fmt.Sprintf("profile %s: %s: %v", e.Profile, e.Status, e.Err)
}

func (e *StartError) Unwrap() error { return e.Err }

// kernelGaveNone has the errors of socket(2), as opposed to those of bind(2).
var kernelGaveNone = []error{
	syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.EAFNOSUPPORT, syscall.EPROTONOSUPPORT,
}

// bindError returns a *StartError for a failure to bind a profile's sockets.
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
