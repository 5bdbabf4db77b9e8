package runnertest

import (
	"bytes"
	"errors"
	"fmt"
	"sync"

	"wamble/runner"
)

// storageCases test the storage itself, below the engine: the guarantees of each method of
// runner.Storage, Backend, View and Batch.
var storageCases = []test{
	{name: "a batch is applied whole, in its order", unstarted: true, run: func(v *env) {
		b := v.backend()
		batch := b.Batch()
		batch.Set([]byte("a"), []byte("1"))
		batch.Set([]byte("b"), []byte("2"))
		batch.Set([]byte("a"), []byte("3"))
		batch.Delete([]byte("b"))
		batch.Delete([]byte("absent"))
		batch.Set([]byte("c"), nil)
		equal(v, "before the commit", content(v, b), "")
		equal(v, "the batch has bytes", batch.Len() > 0, true)
		v.ok(batch.Commit())
		equal(v, "after it", content(v, b), "a=3 c= ")
		equal(v, "bytes in the batch after it", batch.Len(), 0)
		batch.Set([]byte("d"), []byte("4"))
		v.ok(batch.Commit())
		equal(v, "after the next", content(v, b), "a=3 c= d=4 ")
	}},
	{name: "what a batch is given is copied", unstarted: true, run: func(v *env) {
		b := v.backend()
		key, value := []byte("key"), []byte("value")
		batch := b.Batch()
		batch.Set(key, value)
		copy(key, "xxx")
		copy(value, "xxxxx")
		v.ok(batch.Commit())
		equal(v, "content", content(v, b), "key=value ")
	}},
	{name: "what is read is the reader's", unstarted: true, run: func(v *env) {
		b := v.backend()
		v.set(b, "key", "value")
		got, ok, err := b.Get([]byte("> "), []byte("key"))
		v.ok(err)
		equal(v, "found", ok, true)
		equal(v, "appended", string(got), "> value")
		for i := range got {
			got[i] = 'x'
		}
		equal(v, "content", content(v, b), "key=value ")
		got, ok, err = b.Get(got[:0], []byte("kez"))
		v.ok(err)
		equal(v, "absent", ok || len(got) > 0, false)
	}},
	{name: "a scan goes upwards from lo, below hi, until it is told to stop", unstarted: true, run: func(v *env) {
		b := v.backend()
		for _, key := range []string{"b", "a", "ab", "a\x00", "c", "\xff"} {
			v.set(b, key, "")
		}
		for _, tc := range []struct {
			lo, hi string
			stop   int
			want   string
		}{
			{"a", "c", 9, `["a" "a\x00" "ab" "b"]`},
			{"a\x00", "b", 9, `["a\x00" "ab"]`},
			{"a", "c", 2, `["a" "a\x00"]`},
			{"d", "e", 9, `[]`},
			{"b", "b", 9, `[]`},
			{"", "\xff\xff", 9, `["a" "a\x00" "ab" "b" "c" "\xff"]`},
		} {
			got := []string{}
			v.ok(b.Scan(append([]byte(nil), tc.lo...), []byte(tc.hi), func(key, _ []byte) bool {
				got = append(got, string(key))
				return len(got) < tc.stop
			}))
			equal(v, fmt.Sprintf("%q to %q", tc.lo, tc.hi), fmt.Sprintf("%q", got), tc.want)
		}
	}},
	{name: "a view stays as it was", unstarted: true, run: func(v *env) {
		b := v.backend()
		v.set(b, "a", "1")
		view := b.View()
		v.set(b, "a", "2")
		v.set(b, "b", "3")
		equal(v, "the view", content(v, view), "a=1 ")
		equal(v, "the backend", content(v, b), "a=2 b=3 ")
		v.ok(view.Close())
	}},
	{name: "views are read while batches are committed", unstarted: true, run: func(v *env) {
		b := v.backend()
		v.set(b, "a", "0")
		v.set(b, "b", "0")
		stop := make(chan struct{})
		var readers sync.WaitGroup
		for range 4 {
			readers.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					view := b.View()
					one, _, err := view.Get(nil, []byte("a"))
					two, _, err2 := view.Get(nil, []byte("b"))
					if err = errors.Join(err, err2, view.Close()); err != nil || !bytes.Equal(one, two) {
						v.Errorf("a view has %q beside %q, error %v", one, two, err)
						return
					}
				}
			})
		}
		for i := range 200 {
			batch := b.Batch()
			batch.Set([]byte("a"), fmt.Append(nil, i))
			batch.Set([]byte("b"), fmt.Append(nil, i))
			v.ok(batch.Commit())
		}
		close(stop)
		readers.Wait()
	}},
	{name: "one backend at a time, and what it has committed stays", unstarted: true, run: func(v *env) {
		b := v.backend()
		v.set(b, "a", "1")
		_, err := v.storage.Open(func(error) {})
		v.is(err, runner.ErrLocked)
		_, err = v.storage.OpenReadOnly(func(error) {})
		v.is(err, runner.ErrLocked)
		v.is(v.storage.Restore(v.place("none"), func(runner.Backend) error { return nil }), runner.ErrLocked)
		v.ok(b.Close())
		b = v.backend()
		equal(v, "content", content(v, b), "a=1 ")
	}},
	{name: "flush and shrink change nothing that is stored", unstarted: true, run: func(v *env) {
		b := v.backend()
		v.set(b, "a", "1")
		v.ok(b.Flush())
		v.ok(b.Shrink())
		free, err := b.Free()
		v.ok(err)
		equal(v, "there is room", free > 0, true)
		equal(v, "content", content(v, b), "a=1 ")
		v.ok(b.Close())
		equal(v, "after a restart", content(v, v.backend()), "a=1 ")
	}},
	{name: "a look into an empty storage", unstarted: true, run: func(v *env) {
		_, err := v.storage.OpenReadOnly(func(error) {})
		v.is(err, runner.ErrNoSchema)
	}},
	{name: "a look that changes nothing", unstarted: true, run: func(v *env) {
		b := v.backend()
		v.set(b, "a", "1")
		v.ok(b.Close())
		b, err := v.storage.OpenReadOnly(func(error) {})
		v.ok(err)
		equal(v, "content", content(v, b), "a=1 ")
		v.ok(b.Close())
	}},
	{name: "a checkpoint is a copy of one moment", unstarted: true, run: func(v *env) {
		b := v.backend()
		v.set(b, "a", "1")
		name := v.place("copy")
		v.ok(b.Checkpoint(name))
		if err := b.Checkpoint(name); err == nil {
			v.Error("a name in use was taken for a second checkpoint")
		}
		v.set(b, "a", "2")
		v.set(b, "b", "3")
		v.ok(b.Close())
		v.ok(v.storage.Restore(name, func(fresh runner.Backend) error {
			equal(v, "what is prepared", content(v, fresh), "a=1 ")
			v.set(fresh, "c", "4")
			return nil
		}))
		equal(v, "restored", content(v, v.backend()), "a=1 c=4 ")
	}},
	{name: "a restore that fails leaves what was there", unstarted: true, run: func(v *env) {
		b := v.backend()
		v.set(b, "a", "1")
		name := v.place("copy")
		v.ok(b.Checkpoint(name))
		v.set(b, "a", "2")
		v.ok(b.Close())
		v.is(v.storage.Restore(name, func(fresh runner.Backend) error {
			v.set(fresh, "a", "3")
			return errHard
		}), errHard)
		if err := v.storage.Restore(v.place("none"), func(runner.Backend) error { return nil }); err == nil {
			v.Error("a checkpoint that does not exist was restored")
		}
		b = v.backend()
		equal(v, "content", content(v, b), "a=2 ")
		v.ok(b.Close())
		v.ok(v.storage.Restore(name, func(runner.Backend) error { return nil }))
		equal(v, "the checkpoint is as it was", content(v, v.backend()), "a=1 ")
	}},
}

// backend opens the storage, and closes it at the end of the test.
func (v *env) backend() runner.Backend {
	v.Helper()
	b, err := v.storage.Open(func(err error) { v.Errorf("the storage failed: %v", err) })
	v.ok(err)
	once := &closeOnce{Backend: b}
	v.Cleanup(func() { v.ok(once.Close()) })
	return once
}

// closeOnce is a backend that a test may close before its end.
type closeOnce struct {
	runner.Backend
	once sync.Once
	err  error
}

func (c *closeOnce) Close() error {
	c.once.Do(func() { c.err = c.Backend.Close() })
	return c.err
}

// set stores one row.
func (v *env) set(b runner.Backend, key, value string) {
	v.Helper()
	batch := b.Batch()
	batch.Set([]byte(key), []byte(value))
	v.ok(batch.Commit())
}

// content returns all rows of a map as text.
func content(v *env, r runner.Reader) string {
	v.Helper()
	var s []byte
	v.ok(r.Scan(nil, []byte{0xff, 0xff}, func(key, value []byte) bool {
		s = fmt.Appendf(s, "%s=%s ", key, value)
		return true
	}))
	return string(s)
}
