package runner

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"
)

// TestNumbersOfAGroup: every frame of a group is found at the row that the group reports,
// whether its frames go to one place or to many, and whether they fill a bundle, several or
// none.
func TestNumbersOfAGroup(t *testing.T) {
	normal := func(int) (uint64, Flags) { return 7, 0 }
	for _, x := range []struct {
		name   string
		frames int
		way    func(i int) (to uint64, f Flags)
		size   func(i int) int
	}{
		{"one", 1, normal, func(int) int { return 10 }},
		{"a bundle", maxBundle, normal, func(int) int { return 10 }},
		{"bundles", 3*maxBundle + 1, normal, func(int) int { return 10 }},
		{"bundles by their bytes", 40, normal, func(i int) int { return i * 1000 }},
		{"larger than a bundle", 5, normal, func(i int) int { return 10 + i%2*maxBundleBytes }},
		{"high priority", 5, func(int) (uint64, Flags) { return 7, HighPriority }, func(int) int { return 10 }},
		{"both priorities", 200, func(i int) (uint64, Flags) { return 7, Flags(i/3%2) * HighPriority }, func(int) int { return 10 }},
		{"many inboxes", 200, func(i int) (uint64, Flags) { return uint64(i / 2 % 5), 0 }, func(int) int { return 10 }},
	} {
		t.Run(x.name, func(t *testing.T) {
			r := openForTest(t)
			done := make(chan error, 1)
			g := r.NewGroup(func(_ *Group, err error) { done <- err })
			for range 2 { // the second time with the memory of the first
				g.Reset()
				for i := range x.frames {
					to, flags := x.way(i)
					m := Message{To: to, Flags: flags, ID: fmt.Append(nil, i), Payload: make([]byte, x.size(i))}
					if err := g.Add(&m); err != nil {
						t.Fatal(err)
					}
				}
				if err := r.Submit(g); err != nil {
					t.Fatal(err)
				}
				if err := <-done; err != nil {
					t.Fatal(err)
				}
				for i := range g.Len() {
					row := g.Row(i)
					got, err := r.Inbox(row.Worker, row.Seq, 1)
					if err != nil || len(got) != 1 {
						t.Fatalf("frame %d: %d rows at %v, %v", i, len(got), row, err)
					}
					if got[0].Row != row || !bytes.Equal(got[0].Frame, g.frames.frame(i)) {
						t.Fatalf("frame %d: its row %v holds another, that of %v", i, row, got[0].Row)
					}
				}
			}
		})
	}
}

// TestNumbersOfPosts is TestNumbersOfAGroup for producers that wait, of which some share a
// request: each gets the number of its own message.
func TestNumbersOfPosts(t *testing.T) {
	r := openForTest(t)
	type answer struct {
		row   Row
		frame []byte
		err   error
	}
	const producers = 100
	answers := make(chan answer, producers)
	for i := range producers {
		go func() {
			m := Message{To: uint64(i % 3), Flags: Flags(i%2) * HighPriority, ID: fmt.Append(nil, i)}
			frame, err := m.Append(nil)
			if err == nil {
				row, posted := r.Post(t.Context(), &m)
				answers <- answer{row, frame, posted}
				return
			}
			answers <- answer{err: err}
		}()
	}
	for range producers {
		a := <-answers
		if a.err != nil {
			t.Fatal(a.err)
		}
		got, err := r.Inbox(a.row.Worker, a.row.Seq, 1)
		if err != nil || len(got) != 1 || got[0].Row != a.row || !bytes.Equal(got[0].Frame, a.frame) {
			t.Fatalf("row %v: got %v, %v, want the frame that was posted", a.row, got, err)
		}
	}
}

// TestPostsStayWhole: the memory of posts and of bundles is reused, by other producers and
// for later bundles. It is not written while a worker still reads it.
func TestPostsStayWhole(t *testing.T) {
	const producers, each = 64, 60
	r := openForTest(t)
	left := producers * each
	var seen [producers][each]bool
	done := make(chan struct{})
	w, err := r.NewWorker(7, WorkerOptions{Handler: func(_ context.Context, _ *Tx, d *Delivery) error {
		fill := d.ID[0] ^ d.ID[1]
		if i := bytes.IndexFunc(d.Payload, func(c rune) bool { return c != rune(fill) }); i >= 0 {
			t.Errorf("message %d: byte %d of %d is another's", d.ID, i, len(d.Payload))
		}
		if was := &seen[d.ID[0]][d.ID[1]]; *was {
			t.Errorf("message %d came twice", d.ID)
		} else if *was, left = true, left-1; left == 0 {
			close(done)
		}
		return nil
	}})
	if err == nil {
		err = w.Start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, producers)
	for p := range producers {
		go func() {
			var err error
			for i := range each {
				m := Message{To: 7, ID: []byte{byte(p), byte(i)},
					Payload: bytes.Repeat([]byte{byte(p ^ i)}, (p*31+i*197)%3000)}
				if _, err = r.Post(context.Background(), &m); err != nil {
					break
				}
			}
			failed <- err
		}()
	}
	for range producers {
		if err := <-failed; err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("some messages did not come")
	}
}
