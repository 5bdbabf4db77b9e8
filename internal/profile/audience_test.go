package profile

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"wamble"
)

// TestAudienceReplay: a recording of watchers and predictors, with predictions that were
// restored, replays byte for byte.
func TestAudienceReplay(t *testing.T) {
	r := &rig{t: t, now: epoch, store: newMemory()}
	r.store.sessions[90] = &wamble.Session{ID: 90, Token: hashOf(wamble.Token{9}), LastSeen: epoch}
	r.store.boards[900] = &wamble.Board{ID: 900, FEN: "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
		Status: wamble.Reserved, Variant: -1, Created: epoch,
		Holder: &wamble.Reservation{Board: 900, Session: 90, At: epoch, Expires: epoch.Add(time.Hour)}}
	r.store.predictions = []*wamble.Prediction{{ID: 500, Board: 900, Session: 90, UCI: "e2e4", Ply: 1, Streak: 2,
		At: epoch}}
	r.options = Options{Config: configOf(t, `(def min-boards 2) (def prediction-mode "streak")`), Seed: [32]byte{4},
		Now: epoch, LeaseSize: 100}
	r.p = New(r.options)
	var tape bytes.Buffer
	recorder, err := Tape.NewRecorder(&tape, r.options)
	if err != nil {
		t.Fatal(err)
	}
	steps, updates := 0, 0
	r.trace = func(now time.Time, inputs []Input, out *Output) {
		steps++
		if err := recorder.Step(now, inputs, out); err != nil {
			t.Fatal(err)
		}
	}
	r.boot()
	token, _ := r.join(1)
	at := peerAt(1)
	r.send(peerAt(2), helloPacket(wamble.Token{9}, 1))
	r.send(peerAt(2), ackPacket(wamble.Token{9}, 1))
	r.send(at, watchPacket(token, 0, 2, 0))
	r.send(at, submitPacket(token, 900, 3, "e2e4", 0)) // another player has
	r.send(at, submitPacket(token, 900, 4, "e7e5", 500))
	r.send(at, treePacket(token, 900, 5, 0, 0))
	r.send(peerAt(2), movePacket(wamble.Token{9}, 900, 2, "e2e4"))
	r.wait(time.Second)
	updates += len(r.updates(at))
	r.send(at, watchPacket(token, 900, 6, 0))
	r.step(&SetBrownout{Brownout: Brownout{SlowWatching: true}})
	r.wait(30 * time.Second)
	updates += len(r.updates(at))
	r.send(at, stopPacket(token, 7))
	r.wait(2 * time.Minute)
	if book := r.p.audience.predictions; book.Len() != 2 || updates < 5 {
		t.Errorf("too quiet: %d predictions, %d updates", book.Len(), updates)
	}
	n, first, err := Tape.Replay(bytes.NewReader(tape.Bytes()))
	if n != steps || first != "" || err != nil {
		t.Errorf("got %d steps, %v, %v; want %d", n, first, err, steps)
	}
}

// TestAdoptAudience: a watcher and a prediction do not notice that another
// process has taken over.
func TestAdoptAudience(t *testing.T) {
	old, one, two := predictors(t, `(def prediction-mode "streak")`)
	at, player := old.at(two), old.at(one)
	old.ask(two, watchPacket(two, 1, 9, 0))
	old.ask(two, submitPacket(two, 1, 10, "e2e4", 0))
	old.ask(one, watchPacket(one, 0, 9, 0))
	old.step(&SetBrownout{Brownout: Brownout{SlowWatching: true}})
	name := old.p.audience.predictions.Pseudonym(1, 2)
	next := handOver(t, old)
	if next.p.audience.predictions.Pseudonym(1, 2) != name {
		t.Error("the pseudonyms are others")
	}
	next.wait(3 * time.Second)
	next.sent = nil
	expect(t, next.send(player, movePacket(one, 1, 10, "e2e4"))[:6], "ACK 10")
	next.wait(3 * time.Second)
	sent := next.sent
	focus := next.updates(at)
	next.sent = sent
	if len(focus) == 0 || !strings.Contains(focus[0], afterE4+" board 1 last_move") {
		t.Errorf("the focus: got %q", focus)
	}
	if summary := next.updates(player); len(summary) == 0 ||
		!strings.Contains(summary[0], afterE4+" board 1 spectate.summary_generation") {
		t.Errorf("the summary: got %q", summary)
	}
	expect(t, next.send(at, treePacket(two, 1, 12, 0, 0)), "ACK 12",
		"PREDICTION_DATA 1<0:e2e4@1/0=1(1) board 1 "+treeKeys)
}
