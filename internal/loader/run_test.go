package loader

import (
	"context"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/internal/prooftest"
)

// long returns how many events a test waits for before its run ends: a run that ended after a
// time would have few on a busy machine.
func long(n int) int {
	return prooftest.Sized(n, n, 50*n)
}

func play(t *testing.T, ctx context.Context, o Options) Report {
	t.Helper()
	r, err := Run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// verify expects that fake kept exactly what the run reports as accepted.
func verify(t *testing.T, s *fake, r *Report) {
	t.Helper()
	v, err := Verify(context.Background(), r, s)
	if err != nil {
		t.Fatal(err)
	}
	if !v.Exact() || v.Kept != r.AcceptedCount() || v.Kept == 0 {
		t.Errorf("%+v", v)
	}
	if len(r.Unresolved()) != 0 {
		t.Errorf("%d moves were never answered", len(r.Unresolved()))
	}
	n := 0
	for range r.log.entries() {
		n++
	}
	if n != s.played() || n != r.AcceptedCount() {
		t.Errorf("%d moves accepted, %d counted, the server played %d", n, r.AcceptedCount(), s.played())
	}
}

func TestMoves(t *testing.T) {
	for _, tc := range []struct {
		name     string
		clients  int
		faults   faults
		separate bool
	}{
		{"one client", 1, faults{}, false},
		{"many clients", 64, faults{}, false},
		{"a socket each", 16, faults{}, true},
		{"only placement and side", 16, faults{short: true}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := startFake(t, tc.faults)
			o := s.options(Moves, tc.clients)
			o.Separate, o.Wait = tc.separate, time.Minute
			ended := 0
			o.Ended = func() { ended++ }
			r := play(t, s.until(t, func(p progress) bool { return p.moves >= long(500) }), o)
			verify(t, s, &r)
			if ended != 1 {
				t.Errorf("the measured time ended %d times", ended)
			}
			if r.Answered == 0 || r.Latency.Count() != r.Answered || r.Elapsed <= 0 || r.Elapsed >= o.Duration ||
				r.PerSecond() <= 0 {
				t.Errorf("%d answered, %d measured, in %v", r.Answered, r.Latency.Count(), r.Elapsed)
			}
			if r.LongestGap <= 0 || r.LongestGap > r.Elapsed {
				t.Errorf("longest gap %v of %v", r.LongestGap, r.Elapsed)
			}
			if c := r.Counts; c.Rejected+c.Refused+c.Forgotten+c.Moved+c.Malformed != 0 {
				t.Errorf("%+v", c)
			}
			if len(r.log.tokens) != tc.clients {
				t.Errorf("%d sessions, want %d", len(r.log.tokens), tc.clients)
			}
		})
	}
}

// Packets get lost both ways; nothing is counted twice or missed.
func TestLoss(t *testing.T) {
	t.Parallel()
	s := startFake(t, faults{lossIn: 0.05, lossOut: 0.05})
	r := play(t, s.until(t, func(p progress) bool { return p.moves >= long(2000) }), s.options(Moves, 32))
	verify(t, s, &r)
	if r.Counts.Resent == 0 || r.Counts.Malformed == 0 { // that is what comes in place of a lost packet
		t.Errorf("%+v although packets were lost", r.Counts)
	}
	if r.Counts.Forgotten+r.Counts.Rejected+r.Counts.Moved != 0 {
		t.Errorf("%+v", r.Counts)
	}
}

// A server that crashes after it has kept moves, and before their answers are sent, comes
// back: every client goes on with its token, and its move is accepted.
func TestRestart(t *testing.T) {
	t.Parallel()
	s := startFake(t, faults{})
	o := s.options(Moves, 16)
	s.when(func(p progress) bool { return p.moves >= 100 }, func() { s.faults.die, s.faults.reviveAfter = true, 100 })
	r := play(t, s.until(t, func(p progress) bool { return p.moves >= 300 && p.missed > 0 }), o)
	verify(t, s, &r)
	if r.Counts.Resent == 0 || r.Counts.Forgotten != 0 || r.Counts.Moved != 0 {
		t.Errorf("%+v", r.Counts)
	}
	if r.LongestGap < o.Wait {
		t.Errorf("the longest gap is %v, the server was away longer", r.LongestGap)
	}
}

// A server that stays away: moves are given up, and count as unresolved.
func TestAway(t *testing.T) {
	t.Parallel()
	s := startFake(t, faults{})
	o := s.options(Moves, 4)
	o.Wait, o.Drain = 5*time.Millisecond, 200*time.Millisecond
	s.when(func(p progress) bool { return p.moves >= 50 }, func() { s.faults.die = true })
	r := play(t, s.until(t, func(p progress) bool { return p.missed > 8*(maxSends+1) }), o) // so that one has given up
	if r.Counts.Timeouts == 0 {
		t.Error("nothing was given up")
	}
	if got := len(r.Unresolved()); got != 4 {
		t.Errorf("%d moves unresolved, want 4: one of each client", got)
	}
	v, err := Verify(context.Background(), &r, s)
	if err != nil {
		t.Fatal(err)
	}
	if !v.Exact() || v.Unresolved == 0 || v.Kept+v.Unresolved != s.played() {
		t.Errorf("%+v: want %d moves in the store, some of them unresolved", v, s.played())
	}
}

func TestRefusals(t *testing.T) {
	for _, tc := range []struct {
		name string
		code wamble.Code
		want func(Counts) (got, want uint64)
	}{
		{"not now", wamble.Internal, func(c Counts) (uint64, uint64) { return c.Refused, 3 }},
		{"rate limit", wamble.AccessDenied, func(c Counts) (uint64, uint64) { return c.Refused, 3 }},
		{"move rejected", wamble.MoveRejected, func(c Counts) (uint64, uint64) { return c.Rejected, 3 }},
		{"unknown board", wamble.UnknownBoard, func(c Counts) (uint64, uint64) { return c.Rejected, 3 }},
		{"unknown player", wamble.UnknownPlayer, func(c Counts) (uint64, uint64) { return c.Forgotten, 3 }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := startFake(t, faults{})
			o := s.options(Moves, 4)
			o.Wait = 2 * time.Second // nothing is asked twice
			s.when(func(p progress) bool { return p.moves >= 50 },
				func() { s.faults.refuse, s.faults.refusals = tc.code, 3 })
			r := play(t, s.until(t, func(p progress) bool { return p.moves >= 100 && s.faults.refusals == 0 }), o)
			if got, want := tc.want(r.Counts); got != want || s.errors[tc.code] != 3 {
				t.Errorf("%d counted, the server refused %d, want %d: %+v", got, s.errors[tc.code], want, r.Counts)
			}
			v, err := Verify(context.Background(), &r, s)
			if err != nil || !v.Exact() || v.Kept != r.AcceptedCount() {
				t.Errorf("%+v, %v", v, err)
			}
		})
	}
}

func TestOtherModes(t *testing.T) {
	for _, tc := range []struct {
		mode     Mode
		separate bool
	}{{Hello, false}, {Hello, true}, {Legal, false}, {Legal, true}} {
		t.Run(tc.mode.String(), func(t *testing.T) {
			t.Parallel()
			s := startFake(t, faults{})
			o := s.options(tc.mode, 8)
			o.Separate, o.Wait = tc.separate, time.Minute
			r := play(t, s.until(t, func(p progress) bool { return p.answers >= long(500) }), o)
			if r.Answered == 0 || r.Counts.Refused+r.Counts.Rejected+r.Counts.Malformed != 0 {
				t.Errorf("%d answered, %+v", r.Answered, r.Counts)
			}
			s.mu.Lock()
			players := len(s.players)
			s.mu.Unlock()
			if tc.mode == Hello && players < int(r.Answered) || tc.mode == Legal && players != 8 {
				t.Errorf("%d players for %d answers", players, r.Answered)
			}
			if r.AcceptedCount() != 0 {
				t.Errorf("%d moves accepted, none was asked", r.AcceptedCount())
			}
		})
	}
}

func TestEcho(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	o := Options{Server: startServant(t, "echo").addr, Clients: 32, Duration: time.Minute, Greet: time.Minute,
		Drain: time.Minute, Wait: time.Minute}
	o.EverySecond = func(sec Second) {
		if sec.Answered > 0 {
			cancel()
		}
	}
	r := play(t, ctx, o)
	if r.Answered == 0 || uint64(r.AcceptedCount()) < r.Answered {
		t.Errorf("%d answered, %d accepted", r.Answered, r.AcceptedCount())
	}
	if c := r.Counts; c != (Counts{}) {
		t.Errorf("%+v", c)
	}
}

func TestNoServer(t *testing.T) {
	t.Parallel()
	s := startFake(t, faults{dead: true})
	o := s.options(Moves, 3)
	o.Greet = 50 * time.Millisecond
	_, err := Run(context.Background(), o)
	if err == nil || !strings.Contains(err.Error(), "only 0 of 3 clients have a session after") {
		t.Errorf("got %v", err)
	}
}

// A run ends with its context, and still waits for its last answers.
func TestCancel(t *testing.T) {
	t.Parallel()
	s := startFake(t, faults{})
	o := s.options(Moves, 8)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	o.EverySecond = func(sec Second) {
		if sec.At < time.Second {
			t.Errorf("a second after %v", sec.At)
		}
		if s.played() > 0 {
			cancel()
		}
	}
	r := play(t, ctx, o)
	verify(t, s, &r)
}

func TestOptionsAreChecked(t *testing.T) {
	server := startFake(t, faults{}).udp.LocalAddr()
	for _, tc := range []struct {
		o    Options
		want string
	}{
		{Options{}, "address is missing"},
		{Options{Server: server, Clients: -1}, "clients: from 1 to 100000, not -1"},
		{Options{Server: server, Clients: MaxClients + 1}, "clients: from 1 to"},
		{Options{Server: server, Mode: 200}, "no such mode"},
	} {
		if _, err := Run(context.Background(), tc.o); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: got %v, want %q", tc.o, err, tc.want)
		}
	}
}
