package tape

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"net/netip"
	"strings"
	"testing"
	"time"

	"wamble/internal/config"
	"wamble/internal/profile"
	"wamble/wire"

	"wamble"
)

// record plays a little, and returns the recording and the number of its steps.
func record(t testing.TB) ([]byte, int) {
	now, steps := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), 0
	o := profile.Options{Config: config.Defaults().Default, Seed: [32]byte{4}, Now: now, LeaseSize: 100}
	var tape bytes.Buffer
	recorder, err := NewRecorder(&tape, o)
	if err != nil {
		t.Fatal(err)
	}
	p, next := profile.New(o), int64(1)
	var out profile.Output
	step := func(inputs ...profile.Input) {
		for len(inputs) > 0 {
			now = now.Add(time.Millisecond)
			p.Step(now, inputs, &out)
			if err := recorder.Step(now, inputs, &out); err != nil {
				t.Fatal(err)
			}
			steps++
			inputs = nil
			for _, l := range out.Leases {
				inputs = append(inputs, &profile.Leased{Sequence: l.Sequence,
					Blocks: []wamble.Block{{First: next, Count: int64(l.Count)}}})
				next += int64(l.Count)
			}
			if out.DurableIndex != 0 {
				inputs = append(inputs, &profile.Durable{Index: out.DurableIndex, Seq: out.DurableIndex})
			}
		}
	}
	peer := wamble.Peer{Addr: netip.MustParseAddrPort("127.0.0.1:4000")}
	say := func(h wire.Header, m wire.Message) {
		b, err := wire.Append(nil, h, m)
		if err != nil {
			t.Fatal(err)
		}
		step(&profile.Packet{Peer: peer, Data: b})
	}
	step(&profile.Ready{})
	say(wire.Header{Seq: 1}, wire.ClientHello{})
	var hello wire.Header
	for i := range out.Packets.Len() {
		_, b := out.Packets.At(i)
		if h, _ := wire.Peek(b); h.Ctrl == wire.CtrlServerHello {
			hello = h
		}
	}
	uci, _ := wire.MakeUCI("e2e4")
	say(wire.Header{Token: hello.Token, Board: hello.Board, Seq: 2}, wire.PlayerMove{UCI: uci})
	step(&profile.StoreAway{}, &profile.Tick{})
	step(&profile.StoreBack{}, &profile.PeerClosed{Peer: peer})
	if p.Stats().Moves != 1 {
		t.Fatal("the move was not played")
	}
	return tape.Bytes(), steps
}

func TestReplay(t *testing.T) {
	tape, steps := record(t)
	n, first, err := Replay(bytes.NewReader(tape))
	if n != steps || first != nil || err != nil {
		t.Errorf("got %d steps, %v, %v; want %d", n, first, err, steps)
	}
}

// blocks cuts a recording.
func blocks(tape []byte) [][]byte {
	var all [][]byte
	for rest := tape[len(magic):]; len(rest) > 0; {
		n := blockHeader + int(binary.LittleEndian.Uint32(rest))
		all = append(all, rest[:n])
		rest = rest[n:]
	}
	return all
}

// TestReplayFindsDifference plants one in the inputs of a step.
func TestReplayFindsDifference(t *testing.T) {
	tape, _ := record(t)
	tape = bytes.Clone(tape)
	step := 0
	for i, block := range blocks(tape) {
		if at := bytes.Index(block, []byte("\x04e2e4")); at > 0 && i > 0 {
			step = i
			copy(block[at:], "\x04d2d4")
			binary.LittleEndian.PutUint32(block[4:], crc32.Checksum(block[blockHeader:], castagnoli))
			break
		}
	}
	n, first, err := Replay(bytes.NewReader(tape))
	if err != nil || first == nil || first.Step != step || n != step-1 {
		t.Fatalf("got %d steps, %v, %v; want a difference in step %d", n, first, err, step)
	}
	want := "differs in frames: 2 recorded, 2 replayed (inputs: packet)"
	if got := first.String(); !strings.Contains(got, want) {
		t.Errorf("got %q, want %q in it", got, want)
	}
}

func TestReplayDamaged(t *testing.T) {
	tape, steps := record(t)
	flipped := bytes.Clone(tape)
	flipped[len(flipped)-3] ^= 1
	for _, tc := range []struct {
		name  string
		tape  []byte
		steps int
		want  error
	}{
		{"empty", nil, 0, ErrRecording},
		{"something else", []byte("wamble recording 9\n........"), 0, ErrRecording},
		{"only the magic", tape[:len(magic)], 0, ErrBrokenOff},
		{"cut in a block", tape[:len(tape)-5], steps - 1, ErrBrokenOff},
		{"cut in a header", append(bytes.Clone(tape), 1, 2, 3), steps, ErrBrokenOff},
		{"a flipped bit", flipped, steps - 1, ErrRecording},
		{"a block that is too large", append(bytes.Clone(tape), 255, 255, 255, 255, 0, 0, 0, 0), steps, ErrRecording},
	} {
		n, first, err := Replay(bytes.NewReader(tc.tape))
		if !errors.Is(err, tc.want) || first != nil || n != tc.steps {
			t.Errorf("%s: got %d steps, %v, %v; want %d, %v", tc.name, n, first, err, tc.steps, tc.want)
		}
	}
}

// FuzzReplay: no bytes make it panic. The checksums are made right, so that it
// gets far.
func FuzzReplay(f *testing.F) {
	tape, _ := record(f)
	head := blocks(tape)[0]
	for _, b := range blocks(tape)[1:] {
		f.Add(b[blockHeader:])
	}
	f.Fuzz(func(t *testing.T, step []byte) {
		if len(step) > 1<<16 {
			return
		}
		b := append(make([]byte, blockHeader), step...)
		binary.LittleEndian.PutUint32(b, uint32(len(step)))
		binary.LittleEndian.PutUint32(b[4:], crc32.Checksum(step, castagnoli))
		all := append([]byte(magic), head...)
		n, first, err := Replay(bytes.NewReader(append(all, b...)))
		if n == 0 && first == nil && err == nil {
			t.Error("a step without a result")
		}
	})
}
