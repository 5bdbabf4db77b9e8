package logstore_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"wamble/internal/prooftest"
	"wamble/runner"
	"wamble/runner/logstore"
	"wamble/runner/logstore/logtest"
	"wamble/runner/runnertest"
)

func TestStorage(t *testing.T) {
	runnertest.Run(t, func(*testing.T) runner.Storage {
		return logstore.New(new(logtest.Memory), "one",
			logstore.Options{})
	})
}

// TestStorageWithCheckpoints: the suite passes with a checkpoint after every few records.
func TestStorageWithCheckpoints(t *testing.T) {
	runnertest.Run(t, func(*testing.T) runner.Storage {
		return logstore.New(new(logtest.Memory), "one", logstore.Options{CheckpointAfter: 100})
	})
}

func TestMemory(t *testing.T) {
	logtest.Run(t, func(*testing.T) logstore.Log { return new(logtest.Memory) })
}

// TestClaimEndsEarlierLife: a second machine opens the storage; the first one's next commit
// is refused, fails its backend, and is in neither state.
func TestClaimEndsEarlierLife(t *testing.T) {
	log := new(logtest.Memory)
	failed := make(chan error, 1)
	first, err := logstore.New(log, "one", logstore.Options{}).Open(func(err error) { failed <- err })
	ok(t, err)
	ok(t, set(first, "a", "1"))
	second := open(t, logstore.New(log, "one", logstore.Options{}))
	if err := set(first, "b", "2"); !errors.Is(err, logstore.ErrFenced) {
		t.Errorf("a commit of the first: got %v, want %v", err, logstore.ErrFenced)
	}
	if err := <-failed; !errors.Is(err, logstore.ErrFenced) {
		t.Errorf("the first hears %v, want %v", err, logstore.ErrFenced)
	}
	if err := set(first, "b", "3"); !errors.Is(err, runner.ErrFailed) {
		t.Errorf("another commit of the first: got %v, want %v", err, runner.ErrFailed)
	}
	ok(t, first.Close())
	ok(t, set(second, "c", "4"))
	is(t, content(t, second), "a=1 c=4 ")
}

// TestLostWhileCommitting: a commit whose claim is lost while its record is appended is not
// acknowledged, although the log has it.
func TestLostWhileCommitting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &losing{Log: new(logtest.Memory)}
		s := logstore.New(log, "one", logstore.Options{})
		b, err := s.Open(func(error) {})
		ok(t, err)
		log.lose = true
		if err := set(b, "a", "1"); !errors.Is(err, runner.ErrFailed) {
			t.Errorf("got %v, want %v", err, runner.ErrFailed)
		}
		ok(t, b.Close())
		is(t, content(t, open(t, s)), "a=1 ")
	})
}

// TestCheckpointsBoundReplay: a claim replays few records, however many were written.
func TestCheckpointsBoundReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := new(logtest.Memory)
		s := logstore.New(log, "one",
			logstore.Options{CheckpointAfter: 10_000, Report: func(err error) { t.Error(err) }})
		b, err := s.Open(func(err error) { t.Error(err) })
		ok(t, err)
		for i := range 3000 {
			ok(t, set(b, fmt.Sprint("key", i%50), fmt.Sprint("value", i)))
			synctest.Wait()
		}
		if n := log.Tail("one"); n > 500 {
			t.Errorf("%d records are to be replayed, want at most those of 10,000 bytes", n)
		}
		want := content(t, b)
		ok(t, b.Flush())
		if n := log.Tail("one"); n != 0 {
			t.Errorf("%d records are to be replayed after a flush, want none", n)
		}
		ok(t, b.Close())
		is(t, content(t, open(t, s)), want)
	})
}

// TestCommitsDuringCheckpoint: commits do not wait for a checkpoint, and one that fails is
// reported and tried again.
func TestCommitsDuringCheckpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := new(logtest.Memory)
		slow := &logtest.Faulty{Log: log, Next: func(call string) logtest.Fault {
			if call == "checkpoint" {
				return logtest.Fault{Delay: time.Hour,
					Lost: time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)) < time.Minute}
			}
			return logtest.Fault{}
		}}
		reports := 0
		s := logstore.New(slow, "one", logstore.Options{CheckpointAfter: 1000, Report: func(error) { reports++ }})
		b, err := s.Open(func(err error) { t.Error(err) })
		ok(t, err)
		write := func(n int) {
			for i := range n {
				ok(t, set(b, fmt.Sprint(i%5), "some value"))
			}
		}
		write(500)
		if d := time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)); d > 0 {
			t.Errorf("the commits took %v", d)
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		is(t, fmt.Sprint(reports, log.Tail("one") >= 500), "1 true")
		write(500)
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if n := log.Tail("one"); n > 500 {
			t.Errorf("%d records after a checkpoint of the first 500", n)
		}
		want := content(t, b)
		ok(t, b.Close())
		is(t, content(t, open(t, logstore.New(log, "one", logstore.Options{}))), want)
	})
}

// TestFlushTriesAgain: a flush makes its checkpoint although the first attempts fail, and
// returns an error if none succeeds.
func TestFlushTriesAgain(t *testing.T) {
	log, left := new(logtest.Memory), 3
	faulty := &logtest.Faulty{Log: log, Next: func(call string) logtest.Fault {
		if call != "checkpoint" {
			return logtest.Fault{}
		}
		left--
		return logtest.Fault{Lost: left >= 0}
	}}
	b, err := logstore.New(faulty, "one", logstore.Options{}).Open(func(err error) { t.Error(err) })
	ok(t, err)
	ok(t, set(b, "a", "1"))
	ok(t, b.Flush())
	is(t, fmt.Sprint(log.Tail("one"), left), "0 -1")
	left = 1000
	ok(t, set(b, "a", "2"))
	if err := b.Flush(); !errors.Is(err, logtest.ErrUnknown) {
		t.Errorf("got %v, want %v", err, logtest.ErrUnknown)
	}
	ok(t, b.Close())
}

// TestNewest: the next holder gets the latest time of the log, by whatever clock it was
// written, and begins no earlier.
func TestNewest(t *testing.T) { synctest.Test(t, newest) }

func newest(t *testing.T) {
	log := new(logtest.Memory)
	ahead := time.Now().Add(5 * time.Second).Truncate(time.Millisecond)
	b, err := logstore.New(log, "one", logstore.Options{Now: func() time.Time { return ahead }}).Open(func(error) {})
	ok(t, err)
	ok(t, set(b, "a", "1"))
	ok(t, b.Flush())
	ok(t, b.Close())
	behind := ahead.Add(-5 * time.Second)
	s := logstore.New(log, "one", logstore.Options{Now: func() time.Time { return behind }})
	open(t, s)
	if got := s.Now(); !got.Equal(ahead) || s.Ahead() != 5*time.Second {
		t.Errorf("the clock of the next life begins at %v, %v ahead, want %v", got, s.Ahead(), ahead)
	}
}

// TestClockSetBack: the clock of a storage goes on when the wall clock is set back, and so do
// the times of its records. The next holder, by a correct wall clock, begins no earlier than
// the former one ended.
func TestClockSetBack(t *testing.T) { synctest.Test(t, clockSetBack) }

func clockSetBack(t *testing.T) {
	log := new(logtest.Memory)
	wrong := 5 * time.Second
	wall := func() time.Time { return time.Now().Add(wrong) }
	first := logstore.New(log, "one", logstore.Options{Now: wall})
	b, err := first.Open(func(error) {})
	ok(t, err)
	life := first.Now()
	wrong = -5 * time.Second
	time.Sleep(3 * time.Second)
	life = life.Add(3 * time.Second)
	if got := first.Now(); !got.Equal(life) || first.Ahead() != 10*time.Second {
		t.Errorf("the clock says %v, %v ahead, want %v", got, first.Ahead(), life)
	}
	ok(t, set(b, "a", "1"))
	ok(t, b.Flush())
	ok(t, b.Close())
	second := logstore.New(log, "one", logstore.Options{Now: wall})
	open(t, second)
	if got := second.Now(); got.Before(life.Truncate(time.Millisecond)) {
		t.Errorf("the next life begins at %v, want no earlier than %v", got, life)
	}
}

// TestFaults opens storages on two machines in turn, on a log that is late, loses calls and
// loses answers. A commit that was acknowledged is in every later state; one that was not is
// there wholly or not at all.
func TestFaults(t *testing.T) {
	seed := prooftest.Seed(t)
	for i := range uint64(prooftest.Part(10_000)) {
		synctest.Test(t, func(t *testing.T) { faults(t, seed+i) })
	}
}

func faults(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	draw := rand.New(rand.NewPCG(seed, 2))
	log := &logtest.Faulty{Log: new(logtest.Memory), Next: func(call string) (f logtest.Fault) {
		if call == "checkpoint" { // by a goroutine of its own, which must not change the order of the draws
			return logtest.Fault{Delay: 3 * time.Millisecond, Mute: seed%3 == 0}
		}
		switch draw.IntN(12) {
		case 0:
			f.Lost = true
		case 1:
			f.Mute = true
		case 2:
			f.Delay = time.Duration(draw.IntN(10)) * time.Millisecond
		}
		return f
	}}
	sure := map[string]string{}
	var doubt map[string]string // sure with the batch whose outcome is unknown
	for range 30 {
		s := logstore.New(log, "one", logstore.Options{CheckpointAfter: 200})
		b, err := s.Open(func(error) {})
		if err != nil {
			continue
		}
		switch got := content(t, b); {
		case got == text(sure):
		case doubt != nil && got == text(doubt):
			sure = doubt
		default:
			t.Fatalf("seed %d: a life begins with %q, want %q or %q", seed, got, text(sure), text(doubt))
		}
		doubt = nil
		for range rng.IntN(20) {
			next := maps.Clone(sure)
			batch := b.Batch()
			for range 1 + rng.IntN(4) {
				key := fmt.Sprintf("k%02d", rng.IntN(15))
				if rng.IntN(3) == 0 {
					batch.Delete([]byte(key))
					delete(next, key)
					continue
				}
				next[key] = fmt.Sprint(rng.Uint32())
				batch.Set([]byte(key), []byte(next[key]))
			}
			if err := batch.Commit(); err != nil {
				doubt = next
				break
			}
			sure = next
		}
		if rng.IntN(2) == 0 && doubt == nil {
			_ = b.Close() // else another machine claims over it
		} else {
			t.Cleanup(func() { _ = b.Close() })
		}
	}
	time.Sleep(time.Second) // checkpoints that are late
}

// TestSlowLog: reading, replacing and inspecting a large log may take any time.
func TestSlowLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := slow{new(logtest.Memory)}
		s := logstore.New(log, "one", logstore.Options{})
		b, err := s.Open(func(error) {})
		ok(t, err)
		ok(t, set(b, "a", "1"))
		ok(t, b.Flush())
		file := filepath.Join(t.TempDir(), "checkpoint")
		ok(t, b.Checkpoint(file))
		ok(t, b.Close())
		ok(t, s.Restore(file, func(runner.Backend) error { return nil }))
		b, err = s.OpenReadOnly(func(error) {})
		ok(t, err)
		is(t, content(t, b), "a=1 ")
		ok(t, b.Close())
	})
}

// slow is a log in which every operation on the whole log takes a minute.
type slow struct{ logstore.Log }

type slowHeld struct{ logstore.Held }

func minute(ctx ctx) error {
	select {
	case <-time.After(time.Minute):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l slow) Claim(ctx ctx, name string, h logstore.Holder) (logstore.Held, error) {
	held, err := l.Log.Claim(ctx, name, h)
	return slowHeld{held}, err
}

func (l slow) Look(ctx ctx, name string, visit func(uint64, []byte) error) error {
	return cmp.Or(minute(ctx), l.Log.Look(ctx, name, visit))
}

func (h slowHeld) Replay(ctx ctx, visit func(uint64, []byte) error) error {
	return cmp.Or(minute(ctx), h.Held.Replay(ctx, visit))
}

func (h slowHeld) Checkpoint(ctx ctx, through uint64, state iter.Seq[[]byte]) error {
	return cmp.Or(minute(ctx), h.Held.Checkpoint(ctx, through, state))
}

func (h slowHeld) Release(ctx ctx, to string) error {
	return cmp.Or(ctx.Err(), h.Held.Release(ctx, to))
}

// TestNoRoom: the runner is told how much of the memory for rows is left.
func TestNoRoom(t *testing.T) {
	b := open(t, logstore.New(new(logtest.Memory), "one", logstore.Options{MaxBytes: 1000}))
	ok(t, set(b, "k", string(make([]byte, 500))))
	if free, err := b.Free(); err != nil || free > 500 || free < 400 {
		t.Errorf("got %d, %v, want what is left of 1000", free, err)
	}
	ok(t, set(b, "k2", string(make([]byte, 5000))))
	if free, err := b.Free(); err != nil || free != 0 {
		t.Errorf("got %d, %v, want 0", free, err)
	}
}

// losing is a log whose holder loses its claim while it appends.
type losing struct {
	logstore.Log
	lose bool
}

func (l *losing) Claim(ctx ctx, name string, h logstore.Holder) (logstore.Held, error) {
	held, err := l.Log.Claim(ctx, name, h)
	return &losingHeld{held, l, h}, err
}

type losingHeld struct {
	logstore.Held
	l *losing
	h logstore.Holder
}

func (h *losingHeld) Append(ctx ctx, record []byte) (uint64, error) {
	seq, err := h.Held.Append(ctx, record)
	if h.l.lose {
		h.l.lose = false
		h.h.Lost(errors.New("the lease has run out"))
	}
	return seq, err
}

func open(t *testing.T, s *logstore.Storage) runner.Backend {
	t.Helper()
	b, err := s.Open(func(err error) { t.Errorf("the storage failed: %v", err) })
	ok(t, err)
	t.Cleanup(func() { ok(t, b.Close()) })
	return b
}

func set(b runner.Backend, key, value string) error {
	batch := b.Batch()
	batch.Set([]byte(key), []byte(value))
	return batch.Commit()
}

func content(t *testing.T, r runner.Reader) string {
	t.Helper()
	var b bytes.Buffer
	ok(t, r.Scan(nil, []byte{0xff}, func(key, value []byte) bool {
		fmt.Fprintf(&b, "%s=%s ", key, value)
		return true
	}))
	return b.String()
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func is(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

type ctx = context.Context

// text formats a map as content prints a storage.
func text(m map[string]string) string {
	var b bytes.Buffer
	for _, key := range slices.Sorted(maps.Keys(m)) {
		fmt.Fprintf(&b, "%s=%s ", key, m[key])
	}
	return b.String()
}
