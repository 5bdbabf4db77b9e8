package journal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"wamble/internal/store"
	"wamble/runner"
	"wamble/runner/memstore"
)

// keeping returns a drain that retains what the store has, in a directory.
func keeping(t *testing.T, r *runner.Runner, db store.Store, keep RetainOptions) (*Drain, *[]Rollback) {
	t.Helper()
	var told []Rollback
	d, err := NewDrain(t.Context(), r, db, DrainOptions{
		Profile: "blue", Limits: Limits{Intents: 4, Bytes: 1 << 20}, Retain: keep,
		OnRetainFailed: func(err error) { t.Errorf("not kept: %v", err) },
		OnRollback:     func(s Rollback) { told = append(told, s) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return d, &told
}

func openRunner(t *testing.T) *runner.Runner {
	t.Helper()
	r, err := runner.Open(memstore.New(), runner.Options{Schema: Schema, Create: true, MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// back takes a fake store back by n messages of one move each.
func (s *fakeStore) back(n int) {
	s.applied = s.applied[:len(s.applied)-n]
	s.cursor -= uint64(n)
}

// TestRollback: a store that went back gets what it lost from what is retained, in order and
// once, whether the drain notices by itself, is made to check, or starts anew; what is not
// retained is reported.
func TestRollback(t *testing.T) {
	for _, c := range []struct {
		name string
		keep int64 // bytes
		meet func(t *testing.T, r *runner.Runner, d *Drain)
		lost bool
	}{
		{"with the next message", 1 << 20, func(t *testing.T, r *runner.Runner, d *Drain) {
			post(t, r, d, move(1, 21))
			empty(t, d)
		}, false},
		{"when it is told to look", 1 << 20, func(t *testing.T, _ *runner.Runner, d *Drain) {
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			d.Recheck()
			go func() { done <- d.Run(ctx) }()
			for d.Applied() != 20 || d.recheck.Load() {
				time.Sleep(time.Millisecond)
			}
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		}, false},
		{"at a start", 1 << 20, func(t *testing.T, r *runner.Runner, d *Drain) {
			if err := d.Fits(t.Context()); err != nil {
				t.Error(err)
			}
		}, false},
		{"with too little kept", 64, func(t *testing.T, r *runner.Runner, d *Drain) {
			if err := d.Fits(t.Context()); err != nil {
				t.Error(err)
			}
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, db := openRunner(t), &fakeStore{}
			keep := RetainOptions{Dir: t.TempDir(), Age: time.Hour, Bytes: c.keep}
			d, told := keeping(t, r, db, keep)
			for ply := 1; ply <= 20; ply++ {
				post(t, r, d, move(1, ply))
				empty(t, d)
			}
			want := slices.Clone(db.applied)
			db.back(8)
			if c.name == "at a start" {
				if err := d.Close(); err != nil {
					t.Fatal(err)
				}
				d, told = keeping(t, r, db, keep)
			}
			c.meet(t, r, d)
			if c.name == "with the next message" {
				want = append(want, name(move(1, 21)))
			}
			if len(*told) != 2 || (*told)[0] != (Rollback{From: 20, To: 12}) || !(*told)[1].Brought ||
				((*told)[1].Lost > 0) != c.lost {
				t.Errorf("told %+v", *told)
			}
			if !c.lost && !slices.Equal(db.applied, want) {
				t.Errorf("the store has %v, want %v", db.applied, want)
			}
			if c.lost && (*told)[1].Lost != uint64(len(want)-len(db.applied)) {
				t.Errorf("told %+v, but the store has %d of %d", *told, len(db.applied), len(want))
			}
			if got := deadLetters(t, r); len(got) > 0 {
				t.Errorf("dead letters: %v", got)
			}
		})
	}
}

// TestRollbackOfOthers: what a store that went back refuses may need rows of another profile.
// It waits for them, as long as the other profile makes progress; what was a dead letter
// before is not waited for.
func TestRollbackOfOthers(t *testing.T) {
	for _, c := range []struct {
		name    string
		others  func(asked int) (behind bool, at uint64)
		dead    bool // it was a dead letter before
		refused int
	}{
		{"they come", func(n int) (bool, uint64) { return n < 5, uint64(n) }, false, 0},
		{"they do not get on", func(int) (bool, uint64) { return true, 7 }, false, 1},
		{"they have all", func(int) (bool, uint64) { return false, 9 }, false, 1},
		{"a dead letter", func(int) (bool, uint64) { return true, 7 }, true, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, db, asked := openRunner(t), &fakeStore{refuse: map[string]bool{}}, 0
				defer r.Close()
				const late = "move 1/15"
				d, told := keeping(t, r, db, RetainOptions{Dir: t.TempDir(), Age: time.Hour, Bytes: 1 << 20})
				others := func(context.Context) (bool, uint64) {
					asked++
					behind, at := c.others(asked)
					if !behind && c.refused == 0 && !c.dead {
						delete(db.refuse, late)
					}
					return behind, at
				}
				db.refuse[late] = c.dead
				for ply := 1; ply <= 20; ply++ {
					post(t, r, d, move(1, ply))
					empty(t, d)
				}
				want := slices.Clone(db.applied)
				db.refuse[late] = true
				db.applied, db.cursor = db.applied[:12:12], 12
				d.o.Others = others
				began := time.Now()
				if err := d.Fits(t.Context()); err != nil {
					t.Fatal(err)
				}
				last := (*told)[len(*told)-1]
				if took := time.Since(began); !last.Brought || last.Lost != 0 || last.Refused != c.refused || c.dead &&
					took > 0 || took > othersTime+othersPause {
					t.Errorf("told %+v after %v", last, took)
				}
				if got := len(db.applied); got != len(want)-c.refused || c.refused == 0 &&
					!slices.Equal(db.applied, want) {
					t.Errorf("the store has %v, had %v", db.applied, want)
				}
			})
		})
	}
}

// TestRetainedNeeded: what a restart needs is retained beyond the other bounds, but not
// without end; that it was given up is reported.
func TestRetainedNeeded(t *testing.T) {
	const bound, needed = 16 << 10, 64 << 10
	k := openRetained(RetainOptions{Dir: t.TempDir(), Bytes: bound, Needed: needed}, store.JournalID{1}, 7)
	size := func() (n int64) {
		for _, f := range k.files {
			n += f.size
		}
		return n
	}
	seq := uint64(0)
	add := func() error {
		seq++
		return k.add(&runner.Batched{Deliveries: []runner.Delivery{{Row: runner.Row{Seq: seq},
			Message: runner.Message{Payload: make([]byte, 500)}}}}, time.Now())
	}
	k.need.Store(0)
	for size() < needed-1000 {
		if err := add(); err != nil {
			t.Fatalf("with %d bytes: %v", size(), err)
		}
	}
	for first := range k.after(0) {
		if first != 1 {
			t.Errorf("message 1 was given up, %d is the first", first)
		}
		break
	}
	told := 0
	for range 100 {
		if err := add(); errors.Is(err, ErrRetainedTooLarge) {
			told++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if got := size(); told == 0 || got > needed {
		t.Errorf("%d bytes are kept, want at most %d; it was told %d times", got, needed, told)
	}
	k.need.Store(seq)
	if err := add(); err != nil || size() > bound {
		t.Errorf("when nothing is needed any more: %d bytes, %v", size(), err)
	}
}

// TestRetainedBounds: retained messages are bounded in bytes and in time, and belong to one
// journal; a file that was cut off is read up to the cut.
func TestRetainedBounds(t *testing.T) {
	dir := t.TempDir()
	k := openRetained(RetainOptions{Dir: dir, Age: time.Minute, Bytes: 16 << 10}, store.JournalID{1}, 7)
	now := time.Now()
	add := func(from, to uint64) {
		t.Helper()
		b := &runner.Batched{}
		for seq := from; seq <= to; seq++ {
			b.Deliveries = append(b.Deliveries, runner.Delivery{Row: runner.Row{Worker: 7, Seq: seq},
				Message: runner.Message{Payload: make([]byte, 100)}})
		}
		if err := k.add(b, now); err != nil {
			t.Fatal(err)
		}
	}
	size := func() (n int64) {
		entries, err := os.ReadDir(filepath.Join(dir, "7"))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			info, err := e.Info()
			if err != nil {
				t.Fatal(err)
			}
			n += info.Size()
		}
		return n
	}
	for seq := uint64(1); seq < 1000; seq += 5 {
		add(seq, seq+4)
	}
	if got := size(); got > 16<<10 || got < 12<<10 {
		t.Errorf("%d bytes are kept, want nearly %d", got, 16<<10)
	}
	var first, last, count uint64
	read := func(after uint64) {
		first, last, count = 0, 0, 0
		for seq := range k.after(after) {
			if count++; first == 0 {
				first = seq
			}
			last = seq
		}
	}
	if read(950); first != 951 || last != 1000 || count != 50 {
		t.Errorf("after 950: %d messages from %d to %d", count, first, last)
	}
	add(998, 1000) // they come again
	if read(950); last != 1000 || count != 50 {
		t.Errorf("repeated: %d messages up to %d", count, last)
	}
	k = openRetained(k.o, k.journal, 7)
	if read(950); first != 951 || last != 1000 {
		t.Errorf("opened again: from %d to %d", first, last)
	}
	newest := k.path(k.files[len(k.files)-1])
	if info, err := os.Stat(newest); err != nil || os.Truncate(newest, info.Size()-1) != nil {
		t.Fatal(err)
	}
	if read(950); last < 995 || last > 1000 {
		t.Errorf("cut off: up to %d", last)
	}
	now = now.Add(time.Hour)
	add(1001, 1001)
	add(1002, 1002)
	if read(0); first != 1001 || count != 2 {
		t.Errorf("an hour later: %d messages from %d", count, first)
	}
	if k = openRetained(k.o, store.JournalID{2}, 7); len(k.files) != 0 || size() != 0 {
		t.Errorf("another journal finds %v", k.files)
	}
}
