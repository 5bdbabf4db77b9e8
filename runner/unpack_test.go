package runner

import (
	"context"
	"testing"
)

// TestUnpackedInOneCommit: requests of one commit about messages of one bundle
// see the rows that the first of them unpacked.
func TestUnpackedInOneCommit(t *testing.T) {
	r, err := Open(NewTestStorage(), Options{Create: true, MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	durable := make(chan error, 1)
	g := r.NewGroup(func(_ *Group, err error) { durable <- err })
	for _, id := range []string{"a", "b", "c", "d"} {
		if err := g.Add(&Message{To: 7, ID: []byte(id)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Submit(g); err != nil {
		t.Fatal(err)
	}
	if err := <-durable; err != nil {
		t.Fatal(err)
	}
	err = r.engine().do(t.Context(), func(c *commit) error {
		for seq := range uint64(3) {
			in, h, err := c.take(Row{7, seq + 1}, func(h holding) bool { return h.Owner != 0 })
			if err != nil {
				return err
			}
			if seq == 1 {
				h.Deadline = c.now - 1
				in.park(seq+1, h)
				c.setLease(Row{7, seq + 1}, h.lease)
			} else {
				c.remove(in, seq+1, h.band)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	w, err := r.NewWorker(7, WorkerOptions{Handler: func(_ context.Context, _ *Tx,
		d *Delivery) error {
		got += string(d.ID)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Tick(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got != "bd" {
		t.Errorf("%q was delivered, want what was not removed: bd", got)
	}
	if s := r.Stats().Inboxes[0]; s.Depth != 0 || s.Leased+s.Parked != 0 {
		t.Errorf("left: %+v, want nothing", s)
	}
}
