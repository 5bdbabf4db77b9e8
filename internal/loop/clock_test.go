package loop

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/internal/config"
	"wamble/internal/intent"
	"wamble/internal/journal"
	"wamble/internal/profile"
	"wamble/internal/tape"
	"wamble/wire"
)

// machine is an instance on a machine whose clocks the test sets.
type machine struct {
	t        *testing.T
	cfg      *config.Profile
	now      time.Time     // of the monotonic clock
	set      time.Duration // by which the wall clock was set, or ran on in suspension
	asleep   time.Duration
	life     *instance
	series   tape.Series
	rows     map[intent.Kind]time.Time // the newest time of each kind
	said     []string                  // the packets that were sent, and after how long
	began    time.Time
	newest   time.Time // the newest reading of the wall clock
	received []wire.Header
	since    time.Time // when the player got their board
}

var player = wamble.Peer{Addr: netip.MustParseAddrPort("192.0.2.7:4000")}

func newMachine(t *testing.T) *machine { return newMachineOf(t, 4) }

// newMachineOf returns a machine with so many boards.
func newMachineOf(t *testing.T, boards int) *machine {
	c, err := config.Load("", fmt.Sprintf("(def min-boards %d)", boards)+`(def reservation-timeout 60) (def rate-limit-requests-per-sec 5)
		(def unconfirmed-timeout 1000) (def session-timeout 100)`, config.Params{})
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, cfg: c.Default, now: time.Now(), rows: map[intent.Kind]time.Time{},
		series: tape.Series{Name: t.TempDir() + "/tape"}}
	m.began = m.now
	m.live(profile.Options{Config: m.cfg})
	m.step(&profile.Ready{})
	for _, s := range wamble.Sequences() {
		m.step(&profile.Leased{Sequence: s, Blocks: []wamble.Block{{First: 1, Count: 100000}}})
	}
	return m
}

// live begins another instance, now.
func (m *machine) live(o profile.Options) {
	c := newClock(m.wall(m.now))
	c.began, c.read = m.now, m.now
	c.suspended = func() time.Duration { return m.asleep }
	c.asleep, c.wall = m.asleep, m.wall
	o.Now = c.start
	record, err := m.series.Next(o, slog.New(slog.DiscardHandler))
	if err != nil {
		m.t.Fatal(err)
	}
	m.life = &instance{profile: profile.New(o), clock: c, record: record}
}

func (m *machine) wall(now time.Time) time.Time { return now.Round(0).Add(m.set) }

// step runs a step with inputs, and makes its results durable.
func (m *machine) step(inputs ...profile.Input) {
	m.t.Helper()
	for {
		if wall := m.wall(m.now); wall.After(m.newest) {
			m.newest = wall
		}
		m.life.runStep(m.now, inputs)
		m.read()
		if m.life.out.DurableIndex == 0 {
			return
		}
		inputs = []profile.Input{&profile.Durable{Index: m.life.out.DurableIndex, Seq: m.life.out.DurableIndex}}
	}
}

// read records the outputs of a step.
func (m *machine) read() {
	out := &m.life.out
	for i := range out.Frames.Len() {
		intents, err := journal.Decode(out.Frames.At(i))
		if err != nil {
			m.t.Fatal(err)
		}
		for _, in := range intents {
			switch in := in.(type) {
			case *intent.RecordMove:
				m.rows[in.Kind()] = in.At
			case *intent.UpdateSessionLastSeen:
				m.rows[in.Kind()] = in.At
			case *intent.RemoveReservation:
				m.rows[in.Kind()] = in.At
			}
		}
	}
	for i := range out.Packets.Len() {
		_, b := out.Packets.At(i)
		var p wire.Packet
		if err := p.Decode(b); err != nil {
			m.t.Fatal(err)
		}
		m.received = append(m.received, p.Header)
		m.said = append(m.said, fmt.Sprintf("%v %v %d", m.now.Sub(m.began), p.Ctrl, p.Seq))
		if at, ok := p.Ext.Int(wire.KeyReservationReservedAt); ok {
			m.since = time.Unix(at, 0)
		}
	}
}

// pass lets time pass, and steps 20 times a second.
func (m *machine) pass(d time.Duration) {
	m.t.Helper()
	for end := m.now.Add(d); m.now.Before(end); {
		m.now = m.now.Add(50 * time.Millisecond)
		m.step(&profile.Tick{})
	}
}

func (m *machine) send(b []byte, err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
	m.step(&profile.Packet{Peer: player, Data: b})
}

// count returns how many packets of a kind were sent since the last call.
func (m *machine) count(c wire.Control) (n int) {
	for _, h := range m.received {
		if h.Ctrl == c {
			n++
		}
	}
	m.received = nil
	return n
}

// turns sets the wall clock of a machine.
type turns func(m *machine, n int)

// play plays some minutes of a player; at each step the wall clock may be set.
func play(t *testing.T, turn turns) *machine {
	m := newMachine(t)
	want := func(what string, got, want int) {
		t.Helper()
		if got != want {
			t.Errorf("%s: got %d, want %d", what, got, want)
		}
	}
	m.send(wire.Append(nil, wire.Header{Seq: 1}, wire.ClientHello{}))
	var me wire.Header
	for _, h := range m.received {
		if h.Ctrl == wire.CtrlServerHello {
			me = h
		}
	}
	turn(m, 0)
	m.pass(2 * time.Second)
	m.send(wire.Append(nil, wire.Header{Token: me.Token, Seq: me.Seq}, wire.Ack{}))

	turn(m, 1)
	ask := func(first int) int {
		m.received = nil
		for i := range 8 {
			m.send(wire.Append(nil, wire.Header{Token: me.Token, Board: me.Board, Seq: uint32(first + i)},
				wire.GetLegalMoves{Square: 12}))
		}
		return m.count(wire.CtrlLegalMoves)
	}
	want("answers of the first second", ask(10), 5)
	turn(m, 2)
	m.pass(1100 * time.Millisecond)
	want("answers of the next second", ask(20), 5)
	m.pass(1100 * time.Millisecond)

	turn(m, 3)
	uci, err := wire.MakeUCI("e2e4")
	if err != nil {
		t.Fatal(err)
	}
	m.send(wire.Append(nil, wire.Header{Token: me.Token, Board: me.Board, Seq: 30}, wire.PlayerMove{UCI: uci}))
	m.labelled(intent.KindRecordMove)
	if m.count(wire.CtrlBoardUpdate) == 0 {
		t.Error("a move has no answer")
	}
	if m.wall(m.now).Sub(m.since).Abs() > 2*time.Second {
		t.Errorf("a board that was given at %v is said to be held since %v", m.wall(m.now), m.since)
	}
	turn(m, 4)
	m.pass(2 * time.Second)
	want("copies of BOARD_UPDATE", m.count(wire.CtrlBoardUpdate), 2)
	for _, seq := range []uint32{1, 2, 3} {
		m.send(wire.Append(nil, wire.Header{Token: me.Token, Seq: seq}, wire.Ack{}))
	}

	turn(m, 5)
	m.pass(40 * time.Second)
	turn(m, 6)
	m.received = nil
	m.pass(13 * time.Second)
	want("boards taken back too early", m.count(wire.CtrlServerNotification), 0)
	turn(m, 7)
	m.pass(6 * time.Second)
	want("boards taken back", m.count(wire.CtrlServerNotification), 1)
	m.labelled(intent.KindRemoveReservation)
	return m
}

// labelled checks that the newest row of a kind has the wall clock's time, or the newest
// that it had where the store keeps the later of two.
func (m *machine) labelled(k intent.Kind) {
	m.t.Helper()
	got, want := m.rows[k], m.wall(m.now)
	if k == intent.KindRemoveReservation && m.newest.After(want) {
		want = m.newest
	}
	if want.Sub(got).Abs() > 10*time.Second {
		m.t.Errorf("%v has the time %v, the wall clock says %v", k, got, want)
	}
}

// replays checks that the recording of the present instance replays identically.
func (m *machine) replays(name string) {
	m.t.Helper()
	m.life.record.Close()
	b, err := os.ReadFile(name)
	if err != nil {
		m.t.Fatal(err)
	}
	if n, first, err := tape.Replay(bytes.NewReader(b)); n < 100 || first != nil || err != nil {
		m.t.Errorf("replay: %d steps, %v, %v", n, first, err)
	}
}

// TestWallClockSet: a set wall clock changes nothing but the times of rows: packets leave at
// the same moments as without, and a recording replays.
func TestWallClockSet(t *testing.T) {
	alone := play(t, func(*machine, int) {})
	const by = 2 * time.Hour
	for name, turn := range map[string]turns{
		"back":       func(m *machine, n int) { m.set -= by },
		"forth":      func(m *machine, n int) { m.set += by },
		"to and fro": func(m *machine, n int) { m.set = by - m.set },
	} {
		t.Run(name, func(t *testing.T) {
			m := play(t, turn)
			if got, want := strings.Join(m.said, "\n"), strings.Join(alone.said, "\n"); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			m.replays(m.series.Name)
		})
	}
}

// TestSuspend: the monotonic clock stops while a machine is suspended, and what has expired
// meanwhile expires on resuming.
func TestSuspend(t *testing.T) {
	for _, suspended := range []bool{true, false} {
		m := newMachine(t)
		m.send(wire.Append(nil, wire.Header{Seq: 1}, wire.ClientHello{}))
		me := m.received[len(m.received)-1]
		m.send(wire.Append(nil, wire.Header{Token: me.Token, Seq: me.Seq}, wire.Ack{}))
		m.pass(time.Second)
		m.received = nil
		const long = 80 * time.Second
		m.set += long
		want := 0
		if suspended {
			m.asleep += long
			want = 1
		}
		m.pass(time.Second)
		if got := m.count(wire.CtrlServerNotification); got != want {
			t.Errorf("suspended %v: %d boards were taken back, want %d", suspended, got, want)
		}
		if _, ahead := m.life.profile.Now(); suspended && ahead != 0 || !suspended && ahead != long {
			t.Errorf("suspended %v: the wall clock is ahead by %v", suspended, ahead)
		}
	}
}

// TestHandoffKeepsDeadlines: a successor goes on with the times of its predecessor, though
// its wall clock was set.
func TestHandoffKeepsDeadlines(t *testing.T) {
	for _, set := range []time.Duration{-2 * time.Hour, 2 * time.Hour} {
		m := newMachine(t)
		m.send(wire.Append(nil, wire.Header{Seq: 1}, wire.ClientHello{}))
		me := m.received[len(m.received)-1]
		m.send(wire.Append(nil, wire.Header{Token: me.Token, Seq: me.Seq}, wire.Ack{}))
		m.set = set
		m.pass(30 * time.Second)
		state := stateOf(t, m)
		m.live(profile.Options{Config: m.cfg, Seed: [32]byte{1}})
		var inputs []profile.Input
		for _, data := range state {
			inputs = append(inputs, &profile.ResumeSlice{Data: data})
		}
		m.step(append(inputs, &profile.ResumeEnd{}, &profile.Ready{})...)
		m.life.clock.adopt(m.life.profile)
		m.received = nil
		m.pass(25 * time.Second)
		if got := m.count(wire.CtrlServerNotification); got != 0 {
			t.Errorf("set by %v: a board was taken back too early", set)
		}
		m.set = -set
		m.pass(6 * time.Second)
		if got := m.count(wire.CtrlServerNotification); got != 1 {
			t.Errorf("set by %v: got %d boards taken back, want 1", set, got)
		}
		m.labelled(intent.KindRemoveReservation)
		m.replays(m.series.Name + ".2")
	}
}

// TestClockAmongMachines: where the wall clock of a machine is set back, the shared journal
// goes on with its own time, and so do the times of an instance, which order the stored rows
// of a board.
func TestClockAmongMachines(t *testing.T) {
	now := time.Now()
	wrong, ahead := time.Duration(0), 3*time.Second
	c := newClock(now)
	c.suspended = func() time.Duration { return 0 }
	c.advance(func() time.Duration { return wrong })
	c.advance(func() time.Duration { return ahead })
	want := now.Round(0).Add(3 * time.Second)
	for _, set := range []time.Duration{-10 * time.Second, -5 * time.Second} {
		now, want = now.Add(time.Second), want.Add(time.Second)
		wrong, ahead = set, 3*time.Second-set
		if at, told := c.at(now); !at.Equal(want) || told != nil {
			t.Errorf("%v, %+v, want %v and that nobody has set the clock", at, told, want)
		}
	}
}
