package logtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"wamble/runner/logstore"
)

// Run runs the suite for a log. open returns an empty log in which a claim ends earlier claims
// at once.
func Run(t *testing.T, open func(t *testing.T) logstore.Log) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(&env{T: t, log: open(t)})
		})
	}
}

type env struct {
	*testing.T
	log logstore.Log
}

var cases = []struct {
	name string
	run  func(v *env)
}{
	{"records are replayed in order", func(v *env) {
		h := v.claim("one")
		v.is(v.replay(h), "")
		for i := range 5 {
			v.append(h, fmt.Sprint("r", i+1), uint64(i+1))
		}
		v.is(v.replay(h), "1:r1 2:r2 3:r3 4:r4 5:r5")
		v.is(v.replay(v.claim("one")), "1:r1 2:r2 3:r3 4:r4 5:r5")
		v.is(v.replay(v.claim("another")), "")
		v.is(v.look("one"), "1:r1 2:r2 3:r3 4:r4 5:r5")
		v.is(v.look("none"), "")
	}},
	{"a claim ends every earlier holder", func(v *env) {
		first := v.claim("one")
		v.append(first, "a", 1)
		second := v.claim("one")
		if _, err := first.Append(v.Context(), []byte("b")); !errors.Is(err, logstore.ErrFenced) {
			v.Errorf("an append of the first holder: got %v, want %v", err, logstore.ErrFenced)
		}
		if err := first.Checkpoint(v.Context(), 1, records("x")); !errors.Is(err, logstore.ErrFenced) {
			v.Errorf("a checkpoint of the first holder: got %v, want %v", err, logstore.ErrFenced)
		}
		v.append(second, "c", 2)
		v.is(v.replay(v.claim("one")), "1:a 2:c")
	}},
	{"large records come back whole", func(v *env) {
		h := v.claim("one")
		var all [][]byte
		for i, n := range []int{0, 1, 7999, 8000, 8001, 64 << 10, 5 << 20} {
			record := bytes.Repeat([]byte{byte(i), 1, 2, 3, 4, 5, 6}, n/7+1)[:n]
			for j := range record {
				record[j] ^= byte(j * j >> 3)
			}
			all = append(all, record)
			if _, err := h.Append(v.Context(), record); err != nil {
				v.Fatalf("%d bytes: %v", n, err)
			}
		}
		i := 0
		if err := v.claim("one").Replay(v.Context(), func(_ uint64, record []byte) error {
			if !bytes.Equal(record, all[i]) {
				v.Errorf("record %d of %d bytes came back otherwise", i+1, len(all[i]))
			}
			i++
			return nil
		}); err != nil || i != len(all) {
			v.Errorf("replayed %d of %d records, error %v", i, len(all), err)
		}
	}},
	{"a checkpoint stands for what is before it", func(v *env) {
		h := v.claim("one")
		for i := range 4 {
			v.append(h, fmt.Sprint("r", i+1), uint64(i+1))
		}
		v.ok(h.Checkpoint(v.Context(), 3, records("s1", "s2")))
		v.append(h, "r5", 5)
		v.is(v.look("one"), "3:s1 3:s2 4:r4 5:r5")
		v.ok(h.Checkpoint(v.Context(), 5, records("s3")))
		h = v.claim("one")
		v.is(v.replay(h), "5:s3")
		if h.Seq() != 5 {
			v.Errorf("the last number: got %d, want 5", h.Seq())
		}
		for i := 6; i < 30; i++ { // partitions of the log are reused
			v.append(h, fmt.Sprint("r", i), uint64(i))
			if i%3 == 0 {
				v.ok(h.Checkpoint(v.Context(), uint64(i-1), records("s", fmt.Sprint(i-1))))
			}
		}
		v.is(v.replay(v.claim("one")), "26:s 26:26 27:r27 28:r28 29:r29")
	}},
	{"a checkpoint is there as a whole or not at all", func(v *env) {
		h := v.claim("one")
		v.append(h, "a", 1)
		v.ok(h.Checkpoint(v.Context(), 1, records("s1")))
		v.append(h, "b", 2)
		ctx, cancel := context.WithCancel(v.Context())
		err := h.Checkpoint(ctx, 2, func(yield func([]byte) bool) {
			if yield([]byte("half")) {
				cancel()
				yield([]byte("other half"))
			}
		})
		if err == nil {
			v.Error("a checkpoint that was cancelled succeeded")
		}
		v.is(v.replay(v.claim("one")), "1:s1 2:b")
	}},
	{"records are appended while a checkpoint is written", func(v *env) {
		h := v.claim("one")
		v.append(h, "a", 1)
		v.ok(h.Checkpoint(v.Context(), 1, func(yield func([]byte) bool) {
			v.append(h, "b", 2)
			yield([]byte("s"))
			v.append(h, "c", 3)
		}))
		v.append(h, "d", 4)
		v.is(v.replay(v.claim("one")), "1:s 2:b 3:c 4:d")
	}},
	{"a log is looked at while records are appended", func(v *env) {
		h := v.claim("one")
		v.append(h, "r", 1)
		over, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			for n := uint64(2); ; n++ {
				select {
				case <-over:
					return
				default:
				}
				if seq, err := h.Append(v.Context(), []byte("r")); err != nil || seq != n {
					v.Errorf("append: got number %d, want %d: %v", seq, n, err)
					return
				}
			}
		}()
		for range 20 {
			last := uint64(0)
			err := v.log.Look(v.Context(), "one", func(seq uint64, _ []byte) error {
				if seq != last+1 {
					v.Errorf("record %d follows %d", seq, last)
				}
				last = seq
				return nil
			})
			if err != nil || last == 0 {
				v.Errorf("a look saw %d records: %v", last, err)
				break
			}
		}
		close(over)
		<-done
	}},
	{"what was released can be claimed", func(v *env) {
		h := v.claim("one")
		v.append(h, "a", 1)
		v.ok(h.Release(v.Context(), ""))
		v.is(v.replay(v.claim("one")), "1:a")
	}},
}

func records(all ...string) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for _, r := range all {
			if !yield([]byte(r)) {
				return
			}
		}
	}
}

func (v *env) claim(name string) logstore.Held {
	v.Helper()
	h, err := v.log.Claim(v.Context(), name, logstore.Holder{Node: v.Name(), Lost: func(error) {}})
	v.ok(err)
	v.Cleanup(func() {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = h.Release(ended, "")
	})
	return h
}

func (v *env) append(h logstore.Held, record string, want uint64) {
	v.Helper()
	seq, err := h.Append(v.Context(), []byte(record))
	v.ok(err)
	if seq != want {
		v.Fatalf("append %s: got number %d, want %d", record, seq, want)
	}
}

func (v *env) replay(h logstore.Held) string {
	v.Helper()
	return v.collect(func(visit func(uint64, []byte) error) error { return h.Replay(v.Context(), visit) })
}

func (v *env) look(name string) string {
	v.Helper()
	return v.collect(func(visit func(uint64, []byte) error) error { return v.log.Look(v.Context(), name, visit) })
}

func (v *env) collect(each func(func(uint64, []byte) error) error) string {
	v.Helper()
	var all []string
	v.ok(each(func(seq uint64, record []byte) error {
		all = append(all, fmt.Sprintf("%d:%s", seq, slices.Clone(record)))
		return nil
	}))
	return strings.Join(all, " ")
}

func (v *env) is(got, want string) {
	v.Helper()
	if got != want {
		v.Errorf("got %q, want %q", got, want)
	}
}

func (v *env) ok(err error) {
	v.Helper()
	if err != nil {
		v.Fatal(err)
	}
}
