package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"wamble/internal/admin"
	"wamble/internal/loader"
)

// bench is one run of the command, with one number of clients.
type bench struct {
	flags    *benchFlags
	cmd      *cobra.Command
	options  loader.Options
	compares bool // measure the echo, too
	rounds   []benchRound
}

// benchRound is the result of one round.
type benchRound struct {
	Report loader.Report
	Echo   *loader.Report // nil if not measured
	// Stolen is the share of the processors' time that the host of this virtual machine
	// gave to others; -1 if not known.
	Stolen float64
	// Lag is the age of the oldest move that was not in the store, at the end; -1 if not
	// known. MostLag is the maximum of one measurement per second.
	Lag, MostLag time.Duration

	Drain time.Duration   // time to stop a server of bench's own, with all in the store
	Kept  *loader.Verdict // nil if not verified
}

// ratio returns the rate of the second half divided by that of the echo; 0 if the echo was
// not measured.
func (r *benchRound) ratio() float64 {
	if r.Echo == nil || r.Echo.PerSecond() == 0 {
		return 0
	}
	return r.Report.SecondHalf() / r.Echo.PerSecond()
}

// cpuRatio returns the processor time of a request, on both sides together, with the echo
// divided by that with the server; 0 if one was not measured. On a machine with other load it
// is more reliable than ratio.
func (r *benchRound) cpuRatio() float64 {
	if r.Echo == nil || r.Report.Server == 0 || r.Report.Answered == 0 || r.Echo.Answered == 0 {
		return 0
	}
	cost := func(r *loader.Report) float64 { return float64(r.Server+r.Loader) / float64(r.Answered) }
	return cost(r.Echo) / cost(&r.Report)
}

// echoDuration bounds the measurement of the echo, whose rate is steady after a second.
const echoDuration = 5 * time.Second

func (b *bench) run(ctx context.Context) error {
	ctx, cancel := untilStopped(ctx, sayTo(b.cmd.ErrOrStderr()), "the measured time ends")
	defer cancel()
	b.printHead()
	for i := range b.flags.rounds {
		r, err := b.round(ctx, uint64(i))
		if err != nil {
			return err
		}
		b.rounds = append(b.rounds, r)
		b.printRound(i, &r)
		if ctx.Err() != nil {
			break // print what was measured so far
		}
	}
	if err := b.printEnd(); err != nil {
		return err
	}
	return judge(b.cmd.ErrOrStderr(), b.rounds)
}

// judge fails if a database lacks moves that were accepted.
func judge(errOut io.Writer, rounds []benchRound) error {
	for _, r := range rounds {
		if r.Kept != nil && !r.Kept.Exact() {
			fmt.Fprintf(errOut, "wamble: the database does not have what was accepted: %s\n", r.Kept.Example)
			return exitError(1)
		}
	}
	return nil
}

// round runs one measurement.
func (b *bench) round(ctx context.Context, seed uint64) (r benchRound, err error) {
	o := b.options
	o.Seed = seed
	r.Lag, r.Stolen = -1, -1
	if b.flags.sustained {
		o.EverySecond = b.printSecond
	}
	if b.flags.mode == modeEcho {
		r.Report, err = b.loadEcho(ctx, o)
		return r, err
	}
	if b.compares {
		e := b.options
		e.Seed, e.Duration = seed, min(e.Duration, echoDuration)
		report, err := b.loadEcho(ctx, e)
		if err != nil {
			return r, fmt.Errorf("echo: %w", err)
		}
		r.Echo = &report
	}
	before := readProcessors()
	o.Ended = func() { r.Stolen = readProcessors().stolenSince(before) }
	if b.flags.addr == "" {
		return r, b.loadOwn(ctx, o, &r)
	}
	if b.flags.store.data != "" {
		defer r.watchLag(ctx, b.flags.store.data, &o)()
	}
	if r.Report, err = loader.Run(ctx, o); err != nil {
		return r, fmt.Errorf("%s: %w", o.Server, err)
	}
	if b.flags.verify {
		r.Kept, err = verifyRunning(ctx, b.cmd, &r.Report, &b.flags.store)
	}
	return r, err
}

// loadEcho starts an echo and measures it.
func (b *bench) loadEcho(ctx context.Context, o loader.Options) (loader.Report, error) {
	args := []string{"bench", "echo"}
	if b.flags.keep {
		data := cmp.Or(b.flags.store.data, os.TempDir())
		if err := os.MkdirAll(data, 0o700); err != nil { // the server may not have made it yet
			return loader.Report{}, err
		}
		dir, err := os.MkdirTemp(data, "wamble-echo-")
		if err != nil {
			return loader.Report{}, err
		}
		defer os.RemoveAll(dir)
		args = append(args, "--keep", filepath.Join(dir, "log"))
	}
	c, err := startChild(ctx, args...)
	if err != nil {
		return loader.Report{}, err
	}
	defer c.kill()
	o.Server, o.ServerCPU = c.addr, c.cpu
	return loader.Run(ctx, o)
}

// loadOwn starts a server, measures it and stops it.
func (b *bench) loadOwn(ctx context.Context, o loader.Options, r *benchRound) error {
	s, err := b.flags.startServer(ctx)
	if err != nil {
		return err
	}
	defer s.remove()
	o.Server, o.ServerCPU = s.addr, s.cpu
	stop := r.watchLag(ctx, s.data, &o)
	r.Report, err = loader.Run(ctx, o)
	stop()
	if err != nil {
		s.kill()
		return s.explain(err)
	}
	if r.Drain, err = s.stop(); err != nil {
		return err
	}
	if b.flags.verify {
		r.Kept, err = verifyOnce(ctx, b.cmd, &r.Report,
			&storeFlags{config: s.config, data: s.data, profile: b.flags.store.profile})
	}
	return err
}

// watchLag measures the lag of a server's database each second and at the end of the measured
// time, until the returned function is called.
func (r *benchRound) watchLag(ctx context.Context, data string, o *loader.Options) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done, most := make(chan struct{}), time.Duration(0)
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			most = max(most, lagOf(ctx, data))
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	}()
	ended := o.Ended
	o.Ended = func() {
		ended()
		r.Lag = lagOf(ctx, data)
	}
	return func() {
		cancel()
		<-done
		r.MostLag = max(most, r.Lag)
	}
}

// lagOf returns the lag of a server's database; -1 if the server does not answer.
func lagOf(ctx context.Context, data string) time.Duration {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	var s admin.Status
	if err := admin.Ask(ctx, data, "status", nil, &s); err != nil || len(s.Profiles) == 0 {
		return -1
	}
	return s.Profiles[0].Age.Duration()
}

// verifyOnce compares the accepted moves with the store.
func verifyOnce(ctx context.Context, cmd *cobra.Command, r *loader.Report, flags *storeFlags) (*loader.Verdict, error) {
	store, err := storeOf(cmd, flags)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	v, err := loader.Verify(context.WithoutCancel(ctx), r, store)
	return &v, err
}

// drainPatience bounds the wait for the drain of a running server.
const drainPatience = time.Minute

// verifyRunning waits until a running server has drained its journal to the store, and
// compares the accepted moves with it.
func verifyRunning(ctx context.Context, cmd *cobra.Command, r *loader.Report, flags *storeFlags) (*loader.Verdict,
	error) {
	ctx, cancel := context.WithTimeout(ctx, drainPatience)
	defer cancel()
	for {
		v, err := verifyOnce(ctx, cmd, r, flags)
		if err != nil || v.Missing == 0 {
			return v, err
		}
		select {
		case <-ctx.Done():
			return v, nil
		case <-time.After(time.Second):
		}
	}
}

// median returns the median round by the rate of its second half, and the median ratio.
func median(rounds []benchRound) (*benchRound, float64) {
	byRate := make([]*benchRound, len(rounds))
	var ratios []float64
	for i := range rounds {
		byRate[i] = &rounds[i]
		ratios = append(ratios, rounds[i].ratio())
	}
	slices.SortFunc(byRate, func(a,
		b *benchRound) int {
		return cmp.Compare(a.Report.SecondHalf(), b.Report.SecondHalf())
	})
	slices.Sort(ratios)
	return byRate[(len(byRate)-1)/2], ratios[(len(ratios)-1)/2]
}
