package client

import "errors"

var (
	// ErrAddress is returned for an invalid server address.
	ErrAddress = errors.New("server address")
	// ErrClosed is returned after Close or Goodbye.
	ErrClosed = errors.New("the client is closed")
	// ErrTimeout is returned if the server acknowledges requests but does not answer, or does
	// not answer the first hello.
	ErrTimeout = errors.New("the server does not answer")
	// ErrUncertain is returned if the connection broke during a move, the move was sent again,
	// and the server refused it, which may mean that it had been played the first time. The
	// refusal is wrapped too.
	ErrUncertain = errors.New("the connection broke; the move may have been played")
	// ErrNoSession is returned for a request that needs a session if the client has none
	// (Dialer.NoSession).
	ErrNoSession = errors.New("this request needs a session")
	// ErrNotFound is returned if the server has no such profile, or does not show it.
	ErrNotFound = errors.New("there is no such profile")
	// ErrBadAnswer is returned for an invalid answer of the server.
	ErrBadAnswer = errors.New("the server's answer makes no sense")
)
