package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wamble/internal/loader"
)

// modeEcho is the mode that measures the echo instead of a server.
const modeEcho = "echo"

// benchFlags has the flags of bench.
type benchFlags struct {
	addr      string
	clients   int
	also      []int
	players   int
	think     time.Duration
	duration  time.Duration
	mode      string
	rounds    int
	verify    bool
	json      bool
	echo      bool
	keep      bool
	sustained bool
	defs      []string
	store     storeFlags
}

func benchCommand() *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Load a server and measure it",
		Long: `Bench plays legal chess from many clients at once, each with one request under
way, and prints how many were answered a second: in all, and in the second half of
the time, which is what lasts; what the worst second had of the one in the middle;
how long the answers took; what both sides used of the processors, and which part of
their time the host of a virtual machine gave to others meanwhile (stolen: above a few
percent the round says more about the others); how far the database was behind at most
and at the end (lag); and how long the server took to bring the rest there and stop
(drain).

Without --addr it starts a server of its own for every round: this binary, with a
data directory that it removes afterwards, or with --config, --def and --data. Its
limits of rates and numbers are off. Choose --data on the disk that you want to
measure: the usual place of temporary files may be in memory.

The modes:
  moves  moves, each kept by the server before it is answered
  hello  new sessions
  legal  lists of legal moves
  spectate  --clients watch all boards while --players move on theirs: the updates
         that watchers get, and how long the players wait beside them
  mixed  of --clients 50 % play, 30 % watch, 15 % predict, 5 % read the leaderboard
  json   as moves, but one client of ten speaks JSON over a WebSocket; a line for each
  echo   the same packets as moves, against a bare echo that knows nothing: the
         most that UDP and batched system calls can do on this machine

With a server of its own, moves are compared with the echo in the same round: by
the rate of the second half, and by what a move costs both sides of processor time, which says more when
the machine does other things besides. The last line is the round with the median
rate, and the median of the ratios.

--verify compares every accepted move with the database at the end: board, ply,
move and session. With --addr it needs --data or --config to find it. The exit
code is 1 unless all are there, each once.`,
		Example: `  wamble bench
  wamble bench --clients 1 --also 16,128,1000
  wamble bench --clients 1 --echo-keeps
  wamble bench --clients 1000 --sustained
  wamble bench --verify --data /var/tmp/bench --def 'durability "write"'
  wamble bench --mode spectate --clients 1000 --players 50
  wamble bench --addr 127.0.0.1:8888 --mode legal --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd)
		},
	}
	f.register(cmd)
	cmd.AddCommand(benchEchoCommand())
	return cmd
}

func (f *benchFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.addr, "addr", "", "`host:port` of a running server (default one is started)")
	flags.IntVar(&f.clients, "clients", 128, "clients at the same time")
	flags.IntSliceVar(&f.also, "also", nil, "further numbers of clients, each measured by itself afterwards")
	flags.IntVar(&f.players, "players", 50, "players beside the watchers of --mode spectate")
	flags.DurationVar(&f.think, "think", 20*time.Millisecond,
		"pause of each client between requests, of --mode spectate and mixed")
	flags.DurationVar(&f.duration, "duration", time.Minute, "measured time of a round")
	flags.StringVar(&f.mode, "mode", loader.Moves.String(), "what is asked: "+strings.Join(benchModes(), ", "))
	flags.IntVar(&f.rounds, "rounds", 1, "rounds, of which the median counts")
	flags.BoolVar(&f.verify, "verify", false, "compare every accepted move with the database at the end")
	flags.BoolVar(&f.json, "json", false, "print one JSON object")
	flags.BoolVar(&f.echo, "echo", true, "measure the bare echo, too")
	flags.BoolVar(&f.keep, "echo-keeps", false,
		"the echo appends each batch to a file and syncs it before it answers, as few clients wait for the disk")
	flags.BoolVar(&f.sustained, "sustained", false, "print every second")
	flags.StringArrayVar(&f.defs, "def", nil, "an option of the started server, e.g. 'durability \"write\"'")
	f.store.register(cmd)
}

func benchModes() []string { return append(loader.ModeNames(), modeEcho) }

// bench checks the flags and returns a bench.
func (f *benchFlags) bench(cmd *cobra.Command) (*bench, error) {
	b := &bench{flags: f, cmd: cmd}
	var err error
	if f.mode != modeEcho {
		if b.options.Mode, err = loader.ParseMode(f.mode); err != nil {
			return nil, fmt.Errorf("--mode: there is no %q; the modes are %s", f.mode, strings.Join(benchModes(), ", "))
		}
	}
	moves := f.mode == loader.Moves.String()
	switch {
	case f.clients < 1 || f.clients > loader.MaxClients:
		err = fmt.Errorf("--clients is from 1 to %d, not %d", loader.MaxClients, f.clients)
	case f.duration < 100*time.Millisecond || f.duration > 24*time.Hour:
		err = fmt.Errorf("--duration is from 100ms to 24h, not %v", f.duration)
	case f.players < 1 || f.players > loader.MaxClients:
		err = fmt.Errorf("--players is from 1 to %d, not %d", loader.MaxClients, f.players)
	case f.think < 0 || f.think > time.Hour:
		err = fmt.Errorf("--think is from 0s to 1h, not %v", f.think)
	case f.rounds < 1 || f.rounds > 100:
		err = fmt.Errorf("--rounds is from 1 to 100, not %d", f.rounds)
	case f.verify && !moves && b.options.Mode != loader.JSON:
		err = errors.New("--verify compares moves: it needs --mode moves or json")
	case f.addr != "" && f.mode == modeEcho:
		err = errors.New("--mode echo starts its own echo: leave out --addr")
	case f.addr != "" && len(f.defs) > 0:
		err = errors.New("--def is for a server that bench starts: leave out --addr, or --def")
	case f.addr != "" && f.verify && f.store.data == "" && f.store.config == "":
		err = errors.New("--verify needs --data or --config to find the database of the server at --addr")
	case f.addr != "":
		b.options.Server, err = resolve(f.addr)
	}
	b.options.Clients, b.options.Duration, b.options.Players = f.clients, f.duration, f.players
	if m := b.options.Mode; m == loader.Spectate || m == loader.Mixed {
		b.options.Think = f.think
	}
	b.compares = f.echo && moves && f.addr == ""
	return b, err
}

// resolve returns the address of a server.
func resolve(addr string) (netip.AddrPort, error) {
	a, err := net.ResolveUDPAddr("udp", addr)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("--addr: %w", err)
	}
	p := a.AddrPort()
	if p.Port() == 0 {
		return p, fmt.Errorf("--addr: %s has no port", addr)
	}
	if !p.Addr().IsValid() || p.Addr().IsUnspecified() {
		return netip.AddrPortFrom(loopback, p.Port()), nil
	}
	return netip.AddrPortFrom(p.Addr().Unmap(), p.Port()), nil
}

var loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// run measures with each number of clients. All flags are checked before the first
// measurement.
func (f *benchFlags) run(cmd *cobra.Command) error {
	var benches []*bench
	for _, clients := range append([]int{f.clients}, f.also...) {
		own := *f
		own.clients = clients
		b, err := own.bench(cmd)
		if err != nil {
			return err
		}
		benches = append(benches, b)
	}
	for _, b := range benches {
		if err := b.run(cmd.Context()); err != nil {
			return err
		}
	}
	return nil
}
