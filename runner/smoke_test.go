package runner

import (
	"context"
	"fmt"
	"testing"
)

func TestSmoke(t *testing.T) {
	ctx := context.Background()
	r, err := Open(t.TempDir(), Options{Create: true, Durability: Write})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	w, err := r.NewWorker(7, WorkerOptions{Handler: func(ctx context.Context, tx *Tx, d *Delivery) error {
		n++
		return tx.Put(d.ID, d.Payload)
	}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		if _, err := r.Post(ctx, &Message{To: 7, ID: fmt.Appendf(nil, "m%d", i), Payload: []byte("x")}); err != nil {
			t.Fatal(err)
		}
	}
	for {
		k, err := w.Tick(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if k == 0 {
			break
		}
	}
	if n != 1000 {
		t.Fatal(n)
	}
	t.Logf("%+v", r.Stats())
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkDrain(b *testing.B) {
	ctx := context.Background()
	r, err := Open(b.TempDir(), Options{Create: true, Durability: Write})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	w, _ := r.NewWorker(7, WorkerOptions{MaxBatch: 1024, Handler: func(ctx context.Context, tx *Tx, d *Delivery) error { return nil }})
	done := make(chan error, 1)
	g := r.NewGroup(func(g *Group, err error) { done <- err })
	b.ReportAllocs()
	payload := make([]byte, 100)
	for i := 0; i < b.N; i++ {
		g.Add(&Message{To: 7, ID: []byte("id"), Payload: payload})
		if g.Len() == 1000 || i == b.N-1 {
			if err := r.Submit(g); err != nil {
				b.Fatal(err)
			}
			<-done
			g.Reset()
		}
	}
	b.ResetTimer()
	left := b.N
	for left > 0 {
		k, _, err := w.round(ctx, true)
		if err != nil {
			b.Fatal(err)
		}
		left -= k
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msg/s")
}
