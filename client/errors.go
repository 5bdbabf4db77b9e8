package client

import "errors"

var (
	// ErrAddress is returned when an address is not one of a server.
	ErrAddress = errors.New("server address")
	// ErrClosed is returned when the client was closed, by Close or Goodbye.
	ErrClosed = errors.New("the client is closed")
	// ErrTimeout is returned when the server takes requests but does not
	// answer, or when it does not answer the first hello.
	ErrTimeout = errors.New("the server does not answer")
	// ErrUncertain is returned when the connection broke while a move was
	// under way, the move was sent again, and the server's refusal does not
	// tell whether it had already been played the first time. The refusal is
	// wrapped too.
	ErrUncertain = errors.New("the connection broke; the move may have been played")
	// ErrNoSession is returned when a request needs a session and the client
	// has none (Dialer.NoSession).
	ErrNoSession = errors.New("this request needs a session")
	// ErrNotFound is returned when the server knows no such profile, or does
	// not show it.
	ErrNotFound = errors.New("there is no such profile")
	// ErrBadAnswer is returned when the server's answer makes no sense.
	ErrBadAnswer = errors.New("the server's answer makes no sense")
)
