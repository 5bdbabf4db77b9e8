package loader

import (
	"errors"
	"fmt"
	"net/netip"
	"time"
)

// Options say what a run does.
type Options struct {
	// Server is where the server listens.
	Server netip.AddrPort
	Mode   Mode
	// Clients play at the same time, each with one request under way; 128 if 0,
	// at most MaxClients.
	Clients int
	// Players move beside the clients of Spectate, who watch; 50 if 0.
	Players int
	// Think is how long a client of Spectate and Mixed waits between an answer
	// and its next request; 0 not at all.
	Think time.Duration
	// Duration is the measured time; 10 s if 0.
	Duration time.Duration
	// Greet bounds the time until every client has a session; 10 s if 0.
	Greet time.Duration
	// Drain bounds the time after Duration in which the last requests are
	// answered; 5 s if 0.
	Drain time.Duration
	// Wait is how long the first copy of a request waits for its answer; 400 ms
	// if 0. Later ones wait half as long again, and no longer: so a server that
	// was restarted is found soon.
	Wait time.Duration
	// Seed makes the choice of moves repeatable.
	Seed uint64
	// ServerCPU, when set, returns the processor time that the server has used.
	ServerCPU func() time.Duration
	// EverySecond, when set, is called with each second of the measured time.
	EverySecond func(Second)
	// Ended, when set, is called when the measured time is over, before the last
	// answers are waited for.
	Ended func()
	// Separate gives every client a socket of its own, even where one would do.
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

// def replaces a value that is not set by its default.
func def(v *time.Duration, d time.Duration) {
	if *v <= 0 {
		*v = d
	}
}
