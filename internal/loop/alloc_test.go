package loop

import (
	"net/netip"
	"testing"
	"time"

	"wamble"
	"wamble/internal/config"
	"wamble/internal/journal"
	"wamble/internal/profile"
	"wamble/internal/transport"
	"wamble/runner"
	"wamble/runner/memstore"
	"wamble/runner/runnertest"
)

// TestAllocsLoop: the loop's work around a step allocates nothing, for any number of packets:
// the mailbox, the frames for the journal, the stopwatch.
func TestAllocsLoop(t *testing.T) {
	r, err := runner.Open(memstore.New(), runner.Options{Schema: journal.Schema, Create: true, MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c, err := config.Load("", "", config.Params{})
	if err != nil {
		t.Fatal(err)
	}
	p := profile.New(profile.Options{Config: c.Default, Now: time.Now()})
	p.Step(time.Now(), nil, new(profile.Output))
	l := &instance{profile: p, clock: newClock(time.Now()), commit: newGroupCommit(r, 1),
		mailbox: newMailbox(func() {})}
	rt := &Runtime{}
	rt.Attach(Journal{})
	rt.cfg.Store(c.Default)
	loop := &loop{rt: rt, instance: l, intake: newIntake(), times: newStopwatch()}
	frames := someFrames(t) // the journal has not begun: they gather
	noise := transport.Arrivals{Packets: []transport.Packet{{Peer: wamble.Peer{Addr: netip.MustParseAddrPort("192.0.2.1:9")}, Data: []byte("noise")}}}
	durableIndex, moves := uint64(0), uint64(0)
	round := func() {
		durableIndex, moves = durableIndex+1, moves+3
		l.mailbox.setDurable(durableIndex, durableIndex)
		l.mailbox.setApplied(durableIndex)
		loop.step(noise)
		loop.times.step(time.Now(), durableIndex+1, moves)
		loop.times.sentNow(time.Now())
		l.commit.put(frames, durableIndex, false)
	}
	for range 100 {
		round()
	}
	if got := testing.AllocsPerRun(1000, round); got != 0 {
		t.Errorf("got %v allocations, want none", got)
	}
}

// TestJournalOrder: frames that follow a refused group never become durable,
// and groups grow while one is under way.
func TestJournalOrder(t *testing.T) {
	disk := runnertest.NewFaulty(memstore.New())
	r, err := runner.Open(disk, runner.Options{Schema: journal.Schema, Create: true, MinFree: 1000})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	j := newGroupCommit(r, 1)
	durable, failed := make(chan uint64, 16), make(chan error, 16)
	j.durable = func(p progress) { durable <- p.durableIndex }
	j.failed = func(err error) { failed <- err }
	frames := someFrames(t)
	j.put(frames, 1, false)
	j.put(frames, 2, false)
	if n := r.Stats().Inboxes; len(n) != 0 {
		t.Fatalf("frames left before begin: %+v", n)
	}
	j.begin()
	if got := <-durable; got != 2 {
		t.Errorf("got index %d, want 2: both steps in one group", got)
	}
	disk.FailAfter(0, runner.ErrNoSpace)
	j.put(frames, 3, false)
	if err := <-failed; err == nil {
		t.Error("no reason")
	}
	if err := r.Reopen(); err != nil {
		t.Fatal(err)
	}
	j.put(frames, 4, false)
	if !j.broken() || j.behind() {
		t.Error("a journal that failed takes frames")
	}
	if got, want := r.Stats().Inboxes[0].Depth, uint64(2); got != want { // a message for each step
		t.Errorf("the journal has %d frames, want %d", got, want)
	}
}

// TestJournalWaitsForAnswers: a short group is committed when the answers under way have
// left, a long one at once.
func TestJournalWaitsForAnswers(t *testing.T) {
	r, err := runner.Open(memstore.New(), runner.Options{Schema: journal.Schema, Create: true, MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	j := newGroupCommit(r, 1)
	durable := make(chan progress, 16)
	j.durable = func(p progress) { durable <- p }
	j.failed = func(err error) { t.Error(err) }
	j.begin()
	frames := someFrames(t)
	if frames.Len() >= enoughFrames {
		t.Fatalf("%d frames are a long group already", frames.Len())
	}
	under := func() bool {
		j.mu.Lock()
		defer j.mu.Unlock()
		return j.inFlight
	}
	j.put(new(profile.Frames), 0, true)
	j.put(frames, 1, true)
	if under() {
		t.Error("a short group left while answers were being sent")
	}
	j.answered()
	if under() {
		t.Error("a short group left when some of the answers had")
	}
	j.answered()
	if got := <-durable; got.durableIndex != 1 || got.frames != frames.Len() {
		t.Errorf("got %+v, want index 1", got)
	}
	most, n := uint64(1), 0
	j.put(new(profile.Frames), 0, true)
	for ; n < enoughFrames; n += frames.Len() {
		most++
		j.put(frames, most, false)
	}
	if got := <-durable; got.durableIndex != most || got.frames != n {
		t.Errorf("got %+v, want index %d and %d frames", got, most, n)
	}
	j.answered()
	if under() {
		t.Error("a group without frames is under way")
	}
}

// someFrames returns the frames of a real step: the boards of a new profile.
func someFrames(t *testing.T) *profile.Frames {
	t.Helper()
	c, err := config.Load("", "", config.Params{})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	p := profile.New(profile.Options{Config: c.Default, Now: now})
	var out profile.Output
	p.Step(now, []profile.Input{&profile.Ready{}}, &out)
	for _, wish := range append([]profile.Lease(nil), out.Leases...) {
		p.Step(now, []profile.Input{&profile.Leased{Sequence: wish.Sequence,
			Blocks: []wamble.Block{{First: 1, Count: 100}}}}, &out)
		if out.Frames.Len() > 0 {
			return &out.Frames
		}
	}
	t.Fatal("a new profile makes no boards")
	return nil
}
