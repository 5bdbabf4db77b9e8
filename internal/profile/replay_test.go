package profile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"strings"
	"testing"
	"time"

	"wamble"
)

// record plays a little, with every kind of input but JournalFailed, and returns
// the recording and the number of its steps.
func record(t testing.TB) ([]byte, int) {
	r := &rig{t: t, now: epoch, store: newMemory()}
	r.store.boards[900] = &wamble.Board{ID: 900, FEN: "8/P7/8/8/8/8/k7/7K w - - 0 1", Status: wamble.Reserved, Variant: -1, Created: epoch,
		Holder: &wamble.Reservation{Board: 900, Session: 90, Token: wamble.Token{9}, At: epoch, Expires: epoch.Add(time.Hour)}}
	r.store.sessions[90] = &wamble.Session{ID: 90, Token: wamble.Token{9}, LastSeen: epoch, Stats: wamble.Stats{Score: 1.0 / 3}}
	r.store.sessions[91] = &wamble.Session{ID: 91, Token: wamble.Token{8}, LastSeen: epoch}
	r.options = Options{Config: configOf(t, `(def min-boards 2) (def db-pass "hush")`), Seed: [32]byte{4}, Now: epoch, LeaseSize: 100}
	r.p = New(r.options)
	var tape bytes.Buffer
	recorder, err := NewRecorder(&tape, r.options)
	if err != nil {
		t.Fatal(err)
	}
	steps := 0
	r.trace = func(now time.Time, inputs []Input, out *Output) {
		steps++
		if err := recorder.Step(now, inputs, out); err != nil {
			t.Fatal(err)
		}
	}
	r.boot()
	token, id := r.join(1)
	r.send(peerAt(1), movePacket(token, id, 2, "e2e4"))
	r.send(peerAt(2), helloPacket(wamble.Token{8}, 1))
	r.answerLoads()
	r.step(&Applied{Seq: r.seq}, &StoreAway{})
	r.step(&StoreBack{}, &PeerClosed{Peer: peerAt(2)})
	r.step(&Configure{Config: configOf(t, "(def min-boards 9)")})
	r.send(peerAt(3), helloPacket(wamble.Token{9}, 1))
	r.wait(time.Minute)
	return tape.Bytes(), steps
}

func TestReplay(t *testing.T) {
	tape, steps := record(t)
	n, first, err := Replay(bytes.NewReader(tape))
	if n != steps || first != nil || err != nil {
		t.Errorf("got %d steps, %v, %v; want %d", n, first, err, steps)
	}
	if bytes.Contains(tape, []byte("hush")) {
		t.Error("the password of the database is in the recording")
	}
}

// blocks cuts a recording.
func blocks(tape []byte) [][]byte {
	var all [][]byte
	for rest := tape[len(recordingMagic):]; len(rest) > 0; {
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
	want := "differs in frames: 1 recorded, 1 replayed (inputs: packet)"
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
		{"only the magic", tape[:len(recordingMagic)], 0, ErrBrokenOff},
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
		all := append([]byte(recordingMagic), head...)
		n, first, err := Replay(bytes.NewReader(append(all, b...)))
		if n == 0 && first == nil && err == nil {
			t.Error("a step without a result")
		}
	})
}
