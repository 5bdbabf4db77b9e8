package loader

import (
	"errors"
	"fmt"
	"net/netip"
	"time"
)

// Options configure a run.
type Options struct {
	// Server is the server's address.
	Server netip.AddrPort
	Mode   Mode
	// Clients is the number of clients, each with one request in flight; 128 if 0, at most
	// MaxClients.
	Clients int
	// Players is the number of players beside the clients of Spectate, who watch; 50 if 0.
	Players int
	// Think is how long a client of Spectate and Mixed waits between an answer and its next
	// request; 0 for no wait.
	Think time.Duration
	// Duration is the measured time; 10 s if 0.
	Duration time.Duration
	// Greet bounds the time until every client has a session; 10 s if 0.
	Greet time.Duration
	// Drain bounds the time after Duration in which the last requests are
	// answered; 5 s if 0.
	Drain time.Duration
	// Wait is how long the first copy of a request waits for its answer; 400 ms if 0. Later
	// copies wait half as long again, without further growth, so that a restarted server is
	// found soon.
	Wait time.Duration
	// Seed makes the choice of moves reproducible.
	Seed uint64
	// ServerCPU, if set, returns the processor time that the server has used.
	ServerCPU func() time.Duration
	// EverySecond, if set, is called for each second of the measured time.
	EverySecond func(Second)
	// Ended, if set, is called at the end of the measured time, before the run waits for the
	// last answers.
	Ended func()
	// Separate gives every client its own socket, even where one socket could serve all.
	Separate bool
}

// MaxClients bounds the clients of a run.
const MaxClients = 100_000

func (o Options) withDefaults() (Options, error) {
	if !o.Server.IsValid() || o.Server.Port() == 0 {
		return o, errors.New("the server's address is missing")
	}
	if o.Clients < 0 || o.Clients > MaxClients {
		return o, fmt.Errorf("clients: from 1 to %d, not %d", MaxClients, o.Clients)
	}
	if int(o.Mode) >= len(modes) {
		return o, errors.New("there is no such mode")
	}
	if o.Clients == 0 {
		o.Clients = 128
	}
	if o.Players == 0 {
		o.Players = 50
	}
	if o.Players < 0 || o.Players > MaxClients {
		return o, fmt.Errorf("players: from 1 to %d, not %d", MaxClients, o.Players)
	}
	if o.Mode == JSON && o.Clients < 2 {
		return o, errors.New("json: at least one client for each way to speak, 2 in all")
	}
	def(&o.Duration, 10*time.Second)
	def(&o.Greet, 10*time.Second)
	def(&o.Drain, 5*time.Second)
	def(&o.Wait, 400*time.Millisecond)
	return o, nil
}

// def sets *v to its default if it is not positive.
func def(v *time.Duration, d time.Duration) {
	if *v <= 0 {
		*v = d
	}
}
