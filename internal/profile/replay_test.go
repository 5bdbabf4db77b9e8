package profile

import (
	"bytes"
	"io"
	"testing"
	"time"

	"wamble"
)

// Tape is package tape, which imports this one: package profile_test fills it.
var Tape struct {
	NewRecorder func(io.Writer, Options) (Recorder, error)
	// Replay returns the number of steps, and "" or the first difference.
	Replay func(io.Reader) (int, string, error)
}

// Recorder is a tape.Recorder.
type Recorder interface {
	Step(now time.Time, inputs []Input, out *Output) error
}

// record plays a little, with every kind of input but JournalFailed, and returns
// the recording and the number of its steps.
func record(t testing.TB) ([]byte, int) {
	r := &rig{t: t, now: epoch, store: newMemory()}
	r.store.boards[900] = &wamble.Board{ID: 900, FEN: "8/P7/8/8/8/8/k7/7K w - - 0 1", Status: wamble.Reserved,
		Variant: -1, Created: epoch,
		Holder: &wamble.Reservation{Board: 900, Session: 90, At: epoch, Expires: epoch.Add(time.Hour)}}
	r.store.sessions[90] = &wamble.Session{ID: 90, Token: hashOf(wamble.Token{9}), LastSeen: epoch,
		Stats: wamble.Stats{Score: 1.0 / 3}}
	r.store.sessions[91] = &wamble.Session{ID: 91, Token: hashOf(wamble.Token{8}), LastSeen: epoch}
	r.options = Options{Config: configOf(t, `(def min-boards 2) (def db-pass "hush")`), Seed: [32]byte{4}, Now: epoch,
		LeaseSize: 100}
	r.p = New(r.options)
	var tape bytes.Buffer
	recorder, err := Tape.NewRecorder(&tape, r.options)
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
	n, first, err := Tape.Replay(bytes.NewReader(tape))
	if n != steps || first != "" || err != nil {
		t.Errorf("got %d steps, %v, %v; want %d", n, first, err, steps)
	}
	if bytes.Contains(tape, []byte("hush")) {
		t.Error("the password of the database is in the recording")
	}
}
