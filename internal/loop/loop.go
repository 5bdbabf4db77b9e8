package loop

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"wamble/internal/board"
	"wamble/internal/guard"
	"wamble/internal/profile"
	"wamble/internal/transport"
)

// loop is the one goroutine that drives a profile: it reads a batch of packets, takes the mailbox, runs one
// step with all of it, and carries out the output. It waits for packets only, and for its writer when that
// is far behind; results of disk and store come in the mailbox.
type loop struct {
	health   board.Health
	healthAt time.Time

	rt           *Runtime
	port         *transport.Port
	instance     *instance
	asks         chan func() // are run between two steps
	inputs       []profile.Input
	packets      []profile.Packet // that inputs points to
	intake       *intake
	recent       recentPackets
	nextStep     time.Time // when the next step is due; zero: never
	newestIndex  uint64    // the newest durable index
	durableIndex uint64    // the newest durable index that is durable
	durableSeq   uint64    // its last message; 0: nothing became durable yet
	stop         bool
	freeze       *Frozen // set by a handoff that waits until the loop is frozen; otherwise nil
	frozen       atomic.Bool
	paused       bool // the port is not read; everything else goes on
	unpublished  []unpublished
	publication  *publication    // nil: nothing durable waits for other machines
	durable      profile.Durable // last input of this type
	unsentViews  []unsentViews
	others       *profile.Others // last input of this type; nil if there was none
	writer       *writer
	saver        *saver
	times        stopwatch
	ended        chan struct{}
	err          error // why the loop ended
}

func newLoop(rt *Runtime, first *instance) *loop {
	l := &loop{
		rt: rt, port: rt.port.Load(), instance: first, asks: make(chan func(), 16), nextStep: time.Now(),
		intake: newIntake(), writer: newWriter(), saver: newSaver(rt, first, time.Now()), times: newStopwatch(),
		ended: make(chan struct{}),
	}
	l.times.trace = &rt.tracer
	return l
}

// run steps until it is stopped and everything it decided is durable and sent. Only a broken socket or a
// panic is an error.
func (l *loop) run() {
	defer close(l.ended)
	go l.writer.run()
	defer func() {
		if v := recover(); v != nil {
			p := guard.New("the loop", v)
			guard.Run("the description of a panic", func() { l.describePanic(p) }, nil)
			l.err = p
		}
		guard.Run("the last packets", func() { l.flush() }, nil) // the error that ended the loop matters more
		close(l.writer.full)
		l.saver.close()
		guard.Run("the recording", func() { l.instance.record.Close() }, nil)
	}()
	for l.err == nil && (!l.stop || !l.allDurable()) {
		l.err = l.round()
		if !l.intake.hasWork() {
			l.freezeIfIdle()
		}
	}
}

// round waits for something to do, and does it.
func (l *loop) round() error {
	in, err := l.receive()
	if err == nil {
		err = l.turn(in)
		now := time.Now()
		l.rt.pace.backpressure.record(now, l.instance.out.Frames.Bytes())
		l.save(now)
	}
	if err == nil {
		l.answerAsks()
	}
	return err
}

// save continues the restart file, unless the loop is about to freeze or end.
func (l *loop) save(now time.Time) {
	if l.stop || l.freeze != nil || l.instance.commit.broken() {
		return
	}
	if l.saver.turn(now, l.newestIndex); l.nextStep.IsZero() || l.saver.due.Before(l.nextStep) {
		l.nextStep = l.saver.due
	}
}

// turn runs one step with the arrivals, and sends the answers.
func (l *loop) turn(in transport.Arrivals) error {
	l.step(in)
	return l.send()
}

// allDurable reports whether everything the loop decided is durable, or can never be.
func (l *loop) allDurable() bool {
	return l.durableIndex >= l.newestIndex || l.instance.commit.broken()
}

// receive waits for something to do. While the journal is behind, or the loop is slowed down, stopping,
// paused or about to freeze, packets stay in the socket.
func (l *loop) receive() (transport.Arrivals, error) {
	delay := l.rt.pace.backpressure.delay(time.Now())
	able := !l.stop && !l.paused && delay == 0 && !l.instance.commit.behind()
	switch {
	case able && l.freeze == nil:
		return l.read(l.nextStep)
	case able && l.intake.hasWork():
		return l.intake.order(l.instance.profile, l.port, transport.Arrivals{})
	case l.paused || l.freeze != nil:
		l.port.Hold()
	}
	wait := time.Second
	if delay > 0 {
		wait = delay
	}
	if !l.nextStep.IsZero() {
		wait = min(wait, time.Until(l.nextStep))
	}
	timer := time.NewTimer(max(wait, time.Millisecond))
	defer timer.Stop()
	select {
	case <-l.instance.mailbox.arrived:
	case <-timer.C:
	case ask := <-l.asks:
		ask()
	}
	return transport.Arrivals{}, nil
}

// read waits for packets until a time, and returns those of the next step.
func (l *loop) read(until time.Time) (transport.Arrivals, error) {
	if l.intake.hasWork() {
		until = time.Now()
	}
	in, err := l.port.Receive(until)
	if err != nil || !in.Full && !l.intake.hasWork() {
		return in, err
	}
	return l.intake.order(l.instance.profile, l.port, in)
}

// step runs one step with the arrivals and the mailbox, and carries out its output except the packets, which
// stay in it.
func (l *loop) step(in transport.Arrivals) {
	now := time.Now()
	inst := l.instance
	inputs := l.addOthers(inst.mailbox.takeEvents(l.inputs[:0]))
	l.packets = slices.Grow(l.packets[:0], len(in.Packets))
	for _, p := range in.Packets {
		if l.rt.quarantine.refuses(p.Data) {
			l.rt.o.Log.Warn("a packet was refused: it has made the profile panic", "peer", p.Peer)
			continue
		}
		l.packets = append(l.packets, profile.Packet{Peer: p.Peer, Data: p.Data})
		inputs = append(inputs, &l.packets[len(l.packets)-1])
	}
	l.recent.add(l.packets)
	for _, peer := range in.Ended {
		inputs = append(inputs, &profile.PeerClosed{Peer: peer})
	}
	at := len(inputs)
	inputs = inst.mailbox.take(append(inputs, &l.durable))
	reached := l.advanceDurable() // after take: inputs can be about what is durable
	if !reached {
		inputs = slices.Delete(inputs, at, at+1)
	}
	l.rt.tracer.begin(inst.profile)
	inst.runStep(now, inputs)
	clear(l.packets)
	clear(inputs)
	l.inputs = inputs
	if reached {
		l.durableIndex, l.durableSeq = l.durable.Index, l.durable.Seq
		l.times.durable(now, l.durableIndex)
		l.rt.tracer.durable(now, l.durableIndex)
	}
	l.afterStep(now, l.hands())
}

// afterStep carries out the output of a step except sending. Answering says that the writer will send its
// packets.
func (l *loop) afterStep(now time.Time, answering bool) {
	inst, out := l.instance, &l.instance.out
	var traced func(seq uint64)
	if out.DurableIndex != 0 {
		l.newestIndex = out.DurableIndex
		moves := l.times.step(now, out.DurableIndex, inst.profile.Stats().Moves)
		traced = l.rt.tracer.step(l.rt.o.Name, now, inst.profile.LinkTime(), out.DurableIndex, moves)
	}
	inst.commit.put(&out.Frames, out.DurableIndex, answering)
	if traced != nil {
		inst.commit.onDurable(traced)
	}
	for _, load := range out.Loads {
		l.rt.loads.ask(inst, load)
	}
	for _, lease := range out.Leases {
		l.rt.lease(inst, lease)
	}
	l.publishEvents()
	if l.rt.o.Shard.Of > 1 {
		l.publishViews()
		l.publishNewcomers()
		l.rt.publish(inst.profile.Count())
	}
	l.nextStep = l.stepDeadline(now, inst.clock.due(out.Next))
}

// stepDeadline returns when to step again at the latest: when work is due, at most select-timeout-usec from now.
func (l *loop) stepDeadline(now, next time.Time) time.Time {
	last := now.Add(l.rt.cfg.Load().Network.SelectTimeout)
	if next.IsZero() || next.After(last) {
		return last
	}
	return next
}

// answerAsks runs the functions that wait in asks.
func (l *loop) answerAsks() {
	for {
		select {
		case ask := <-l.asks:
			ask()
		default:
			return
		}
	}
}

// runOnLoop runs f on the loop's goroutine, between two steps, and waits for it. It reports false if ctx or the
// loop ended first; f does not run afterwards.
func (l *loop) runOnLoop(ctx context.Context, f func()) bool {
	done := make(chan struct{})
	var claimed atomic.Bool // by the loop that runs f, or by a caller that does not wait any longer
	ask := func() {
		if claimed.CompareAndSwap(false, true) {
			f()
			close(done)
		}
	}
	select {
	case l.asks <- ask:
	case <-ctx.Done():
		return false
	case <-l.ended:
		return false
	}
	l.rt.wake()
	select {
	case <-done:
		return true
	case <-ctx.Done():
		if claimed.CompareAndSwap(false, true) {
			return false
		}
	case <-l.ended:
		return false
	}
	select { // f runs at present
	case <-done:
		return true
	case <-l.ended:
		return false
	}
}

// switchInstance replaces the instance that the loop drives. It reports false if the loop has ended.
func (l *loop) switchInstance(ctx context.Context, next *instance) bool {
	return l.runOnLoop(ctx, func() {
		l.instance.record.Close()
		l.saver.close()
		l.saver = newSaver(l.rt, next, time.Now())
		l.instance, l.nextStep, l.newestIndex, l.durableIndex = next, time.Now(), 0, 0
		l.unpublished, l.publication, l.unsentViews, l.others = nil, nil, nil, nil
		l.times.restart()
		l.rt.tracer.current.Store(nil)
	})
}

// maxLastBatches bounds the batches that moveTo reads from the old port: a flood has no end.
const maxLastBatches = 256

// moveTo switches to another port, on the loop's own goroutine. It first answers what waits in the old
// port, and closes the old UDP socket at once, so that everything arrives at the new port from now on. If
// the new port has taken over the old socket, it has its own descriptor of it.
func (l *loop) moveTo(p *transport.Port) {
	for range maxLastBatches {
		in, err := l.read(time.Now())
		if err != nil || len(in.Packets)+len(in.Ended) == 0 || l.turn(in) != nil {
			break
		}
	}
	l.flush() // what the old port refuses is lost
	if p != l.port {
		l.port.UDP().Close()
	}
	l.port, l.nextStep = p, time.Now()
	l.rt.port.Store(p)
}

// halt stops reading, waits until everything decided is durable and sent, and ends the loop. When ctx ends
// it does not wait for the journal any more.
func (l *loop) halt(ctx context.Context) {
	l.runOnLoop(context.Background(), func() { l.stop = true })
	select {
	case <-l.ended:
	case <-ctx.Done():
		l.runOnLoop(context.Background(), func() { l.newestIndex = l.durableIndex })
		<-l.ended
	}
}
