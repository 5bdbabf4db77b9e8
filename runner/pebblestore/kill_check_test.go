package pebblestore_test

import (
	"encoding/binary"
	"errors"
	"math"

	"wamble/runner"
)

// killFound is the result of one inspection of the directory: how often each message is in
// each place.
type killFound struct {
	inbox map[uint64]map[string]int
	timer map[string]int
	dead  map[string]int
	get   func(key string) uint64
}

// check compares the directory with the harness's records.
func (h *killHarness) check(r *runner.Runner) {
	h.t.Helper()
	s := r.Stats()
	if h.epoch > 0 && (s.Journal != h.journal || s.Epoch < h.epoch) {
		h.t.Errorf("round %d: got journal %s and start %d after %s and %d", h.round, s.Journal, s.Epoch, h.journal,
			h.epoch)
	}
	h.journal, h.epoch = s.Journal, s.Epoch
	f := h.places(r, &s)
	h.emitted(r, &s)
	err := r.View(func(get func([]byte) ([]byte, error)) error {
		f.get = func(key string) uint64 { return h.counter(get, key) }
		h.checkCounters(f)
		return nil
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

// places reads inboxes, timers and dead letters, and compares their number
// with the stored counts.
func (h *killHarness) places(r *runner.Runner, s *runner.Stats) *killFound {
	h.t.Helper()
	f := &killFound{inbox: map[uint64]map[string]int{}, timer: map[string]int{}, dead: map[string]int{}}
	inboxes := []uint64{stageOne}
	for _, s := range killStages {
		inboxes = append(inboxes, s.inbox)
	}
	for _, id := range inboxes {
		found := map[string]int{}
		rows, err := r.Inbox(id, 0, math.MaxInt)
		if err != nil {
			h.t.Fatal(err)
		}
		for _, row := range rows {
			found[h.id(row.Frame)]++
		}
		f.inbox[id] = found
		depth := uint64(0)
		for _, in := range s.Inboxes {
			if in.Worker == id {
				depth = in.Depth
			}
		}
		if depth != uint64(len(rows)) {
			h.t.Errorf("round %d: inbox %d counts %d rows and has %d", h.round, id, depth, len(rows))
		}
	}
	timers, err := r.Timers(runner.TimerID{}, math.MaxInt)
	if err != nil || uint64(len(timers)) != s.Timers {
		h.t.Errorf("round %d: got %d timers and %v, counted %d", h.round, len(timers), err, s.Timers)
	}
	for _, timer := range timers {
		f.timer[h.id(timer.Frame)]++
	}
	dead, err := r.DeadLetters(runner.DeadFilter{}, runner.Row{}, math.MaxInt)
	if err != nil || uint64(len(dead)) != s.DeadLetters {
		h.t.Errorf("round %d: got %d dead letters and %v, counted %d", h.round, len(dead), err, s.DeadLetters)
	}
	h.dead = len(dead)
	for _, d := range dead {
		if d.Row.Worker != stageOne || d.Cause != runner.CauseDiscarded {
			h.t.Errorf("round %d: a message of inbox %d is dead: %s, %s", h.round, d.Row.Worker, d.Cause, d.Reason)
			continue
		}
		f.dead[h.id(d.Frame)]++
	}
	return f
}

func (h *killHarness) id(frame []byte) string {
	m, err := runner.DecodeMessage(frame)
	if err != nil {
		h.t.Errorf("round %d: a stored frame: %v", h.round, err)
	}
	return string(m.ID)
}

// emitted reads the new rows of the outbox.
func (h *killHarness) emitted(r *runner.Runner, s *runner.Stats) {
	h.t.Helper()
	rows, err := r.Outbox(h.outbox, math.MaxInt)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, row := range rows {
		k := h.ids[string(row.Message)]
		if k == nil || k.emitted {
			h.t.Errorf("round %d: outbox row %d holds %q, which is unknown or was there before", h.round, row.Seq,
				row.Message)
			continue
		}
		k.emitted = true
		h.outbox = row.Seq + 1
	}
	n := uint64(0)
	for _, k := range h.ids {
		if k.emitted {
			n++
		}
	}
	if n != s.Outbox {
		h.t.Errorf("round %d: the outbox counts %d rows, %d came", h.round, s.Outbox, n)
	}
}

func (h *killHarness) counter(get func([]byte) ([]byte, error), key string) uint64 {
	h.t.Helper()
	b, err := get([]byte(key))
	if errors.Is(err, runner.ErrNotFound) {
		return 0
	}
	if err != nil || len(b) != 8 {
		h.t.Fatalf("round %d: counter %s: %x, %v", h.round, key, b, err)
	}
	return binary.BigEndian.Uint64(b)
}

// checkCounters compares the effects of each message with its place, and the
// sums with all of them.
func (h *killHarness) checkCounters(f *killFound) {
	h.t.Helper()
	if u := f.get("updates"); u < h.updates || u > h.updates+1 {
		h.t.Errorf("round %d: got %d updates, %d were acknowledged", h.round, u, h.updates)
	} else {
		h.updates = u
	}
	sums := map[string]int{}
	for id, k := range h.ids {
		if !k.over {
			h.checkMessage(f, id, k)
		}
		for name, n := range k.done {
			sums[name] += n
		}
	}
	for name, want := range sums {
		if got := f.get(name); got != uint64(want) {
			h.t.Errorf("round %d: counter %q is %d, want %d: effects are lost or doubled", h.round, name, got, want)
		}
	}
}

// checkMessage: a message is in its inbox, in the dead letters or done, once for each time
// that it was posted, and done once at most; when it is done all its effects are there, each
// in one place, else none.
func (h *killHarness) checkMessage(f *killFound, id string, k *killed) {
	h.t.Helper()
	k.done = map[string]int{"one": int(f.get("one/" + id))}
	done, left := k.done["one"], f.inbox[stageOne][id]
	places := left + f.dead[id] + done
	if done > 1 || places > killPosts(k.n) || places == 0 && k.acked {
		h.t.Errorf("round %d: message %s (acknowledged: %t) is %d times in its inbox, %d times dead, %d times done",
			h.round, id, k.acked, left, f.dead[id], done)
	}
	if emitted := k.emitted; emitted != (done == 1) {
		h.t.Errorf("round %d: message %s is %d times done, emitted: %t", h.round, id, done, emitted)
	}
	for _, s := range killStages {
		want := 0
		if k.n%s.every == 0 {
			want = k.done[s.from]
		}
		k.done[s.name] = int(f.get(s.name + "/" + id))
		waits := f.inbox[s.inbox][id]
		if s.inbox == stageTimer {
			waits += f.timer[id]
		}
		left += waits
		if waits+k.done[s.name] != want {
			h.t.Errorf("round %d: message %s came to stage %q %d times and is done there %d times, want %d in all",
				h.round, id, s.name, waits, k.done[s.name], want)
		}
	}
	k.over = left == 0 && (f.dead[id] > 0 || done == 1)
}
