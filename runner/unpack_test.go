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
	done := false
	w, err := r.NewWorker(7, WorkerOptions{Handler: func(ctx context.Context, _ *Tx, d *Delivery) error {
		if done {
			return nil
		}
		done = true
		list, err := r.Inbox(7, 0, 10)
		if err != nil {
			return err
		}
		return r.engine().do(ctx, func(c *commit) error {
			for i, f := range []func(Row, Lease) error{
				func(row Row, l Lease) error { return c.ack(row, l) },
				func(row Row, l Lease) error { _, err := c.requeueRow(row, l, 0); return err },
				func(row Row, l Lease) error { _, err := c.buryRow(row, l, "why not"); return err },
			} {
				if err := f(Row{7, uint64(i + 1)}, list[i].Lease); err != nil {
					t.Errorf("row %d: %v", i+1, err)
				}
			}
			return nil
		})
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Tick(t.Context()); err != nil {
		t.Fatal(err)
	}
	dead, err := r.DeadLetters(DeadFilter{}, Row{}, 10)
	if err != nil {
		t.Fatal(err)
	}
	if len(dead) != 1 || string(dead[0].Frame) != string(g.Frame(2)) {
		t.Errorf("dead letters: %+v, want c", dead)
	}
	if s := r.Stats().Inboxes[0]; s.Depth != 0 || s.Leased+s.Parked != 0 {
		t.Errorf("left: %+v, want nothing", s)
	}
}
