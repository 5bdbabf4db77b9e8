package loader

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Run plays against a server. It ends after Options.Duration, or when ctx does, and then waits
// for the last answers. It fails if it cannot open sockets, or if a client has no session after
// Options.Greet.
func Run(ctx context.Context, o Options) (Report, error) {
	report := Report{log: &log{}, Roles: make([]RoleReport, roleCount)}
	o, err := o.withDefaults()
	if err != nil {
		return report, err
	}
	report.Mode, report.Clients = o.Mode, o.Clients
	for role, n := range o.roleCounts() {
		report.Roles[role].Clients = n
	}
	if o.Mode != JSON {
		sockets, err := openSockets(o)
		if err != nil {
			return report, err
		}
		return report, report.play(ctx, o, sockets, 1)
	}
	return report, report.playBoth(ctx, o)
}

// playBoth runs the clients that speak JSON and those that send packets, each kind on a
// goroutine of its own.
func (r *Report) playBoth(ctx context.Context, o Options) error {
	spoken, err := openSpoken(ctx, o, r.Roles[Speaker].Clients)
	if err != nil {
		return err
	}
	packets := o
	packets.Clients = r.Roles[Player].Clients
	sockets, err := openSockets(packets)
	if err != nil {
		spoken.close()
		return err
	}
	said := Report{log: &log{}, Roles: make([]RoleReport, roleCount), Mode: o.Mode}
	said.Roles[Speaker].Clients, r.Roles[Speaker].Clients = r.Roles[Speaker].Clients, 0
	aside := o
	aside.EverySecond, aside.Ended, aside.ServerCPU = nil, nil, nil
	done := make(chan error)
	go func() { done <- said.play(ctx, aside, spoken, 2) }()
	err = r.play(ctx, o, sockets, 1)
	err = errors.Join(err, <-done)
	r.add(&said)
	return err
}

// add adds the report of the clients that speak JSON.
func (r *Report) add(o *Report) {
	r.Roles[Speaker] = o.Roles[Speaker]
	r.Answered += o.Answered
	for i := range min(len(r.Seconds), len(o.Seconds)) {
		r.Seconds[i] += o.Seconds[i]
	}
	r.Counts.add(&o.Counts)
	moved := func(e entry) entry { e.player += uint32(len(r.log.tokens)); return e }
	for e := range o.log.entries() {
		r.log.add(moved(e))
	}
	for _, e := range o.unresolved {
		r.unresolved = append(r.unresolved, moved(e))
	}
	r.log.tokens = append(r.log.tokens, o.log.tokens...)
}

// play runs the clients of the report's roles.
func (r *Report) play(ctx context.Context, o Options, sockets sockets, stream uint64) error {
	defer sockets.close()
	l := &load{
		options: o, sockets: sockets, report: r,
		random: rand.New(rand.NewPCG(o.Seed, stream)),
	}
	for role := range r.Roles {
		for range r.Roles[role].Clients {
			l.clients = append(l.clients, client{number: uint32(len(l.clients)), role: Role(role)})
		}
	}
	for i := range l.clients {
		l.hello(&l.clients[i])
	}
	err := l.run(ctx)
	for i := range l.clients {
		if p := &l.clients[i].pending; p.open {
			r.unresolved = append(r.unresolved, p.entry)
		}
	}
	r.Dropped = sockets.dropped()
	return err
}

// usage is the processor time used until the begin of the measured time.
type usage struct {
	at             time.Duration
	loader, server time.Duration
}

func (l *load) usage() usage {
	u := usage{at: l.now, loader: processTime()}
	if l.options.ServerCPU != nil {
		u.server = l.options.ServerCPU()
	}
	return u
}

// run is the loop: it reads a batch, handles it, and checks the timers every tick.
func (l *load) run(ctx context.Context) error {
	start := time.Now()
	var began usage
	var looked, second, end time.Duration
	for {
		if err := l.sockets.flush(); err != nil {
			return err
		}
		got, err := l.sockets.receive()
		if err != nil {
			return err
		}
		l.now = time.Since(start)
		for i := range got {
			l.receive(l.clientOf(got[i].number), got[i].number, got[i].data)
		}
		if l.now-looked < tick {
			continue
		}
		looked = l.now
		switch l.phase {
		case gathering:
			if l.greeted == len(l.clients) {
				l.measure()
				began, second = l.usage(), l.now+time.Second
				end = l.now + l.options.Duration
			} else if ctx.Err() != nil || l.now > l.options.Greet {
				return fmt.Errorf("only %d of %d clients have a session after %v", l.greeted, len(l.clients),
					l.now.Round(time.Millisecond))
			}
		case measuring:
			if l.now >= second {
				l.tellSecond(began.at)
				second += time.Second
			}
			if l.now >= end || ctx.Err() != nil {
				l.drain(began)
				end = l.now + l.options.Drain
			}
		case draining:
			if l.settled() || l.now >= end {
				return l.sockets.flush() // the last ACKs
			}
		}
		l.due()
	}
}

// clientOf returns the client of an address. Clients of Hello change addresses; a late packet
// for an old address belongs to the same client.
func (l *load) clientOf(number uint32) *client { return &l.clients[number%uint32(len(l.clients))] }

// measure begins the measured time.
func (l *load) measure() {
	l.phase, l.heard = measuring, l.now
	l.report.Counts = Counts{}
	for i := range l.report.Roles {
		l.report.Roles[i] = RoleReport{Clients: l.report.Roles[i].Clients}
	}
}

// drain ends the measured time.
func (l *load) drain(began usage) {
	l.phase = draining
	r, now := l.report, l.usage()
	r.Elapsed = now.at - began.at
	r.Loader, r.Server = now.loader-began.loader, now.server-began.server
	r.LongestGap = max(r.LongestGap, l.now-l.heard)
	if l.options.Ended != nil {
		l.options.Ended()
	}
}

func (l *load) tellSecond(began time.Duration) {
	l.report.Seconds = append(l.report.Seconds, l.report.Answered-l.counted)
	l.counted = l.report.Answered
	if tell := l.options.EverySecond; tell != nil {
		s := Second{At: l.now - began, Answered: l.second.Count(), P99: l.second.Quantile(0.99), Max: l.second.Max()}
		for i := range s.Roles {
			s.Roles[i] = l.report.Roles[i].Answered
		}
		tell(s)
	}
	l.second = Latency{}
}

// settled reports whether no client waits for an answer.
func (l *load) settled() bool {
	for i := range l.clients {
		if c := &l.clients[i]; c.stage != resting || c.pending.open {
			return false
		}
	}
	return true
}

// due repeats requests without an answer, and starts requests whose time has come.
func (l *load) due() {
	for i := range l.clients {
		c := &l.clients[i]
		r := &c.request
		if r.due == 0 || l.now < r.due {
			continue
		}
		switch {
		case c.stage == resting && l.phase == draining && !c.pending.open:
			r.due = 0
		case c.stage == resting:
			l.hello(c)
		case c.stage == pausing:
			l.next(c)
		case r.sends < maxSends:
			r.sends++
			l.report.Counts.Resent++
			r.due = l.now + l.options.Wait*3/2
			l.sockets.send(c.number, r.bytes[:r.size])
		case l.phase == draining && !c.pending.open:
			l.rest(c, 0)
		default: // the server may have lost the address, or the answer
			l.report.Counts.Timeouts++
			l.hello(c)
		}
	}
}
