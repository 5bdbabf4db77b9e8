package runner_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"time"

	"wamble/runner"
	"wamble/runner/memstore"
	"wamble/runner/runnertest"
)

// scratch opens a runner in memory with a clock that stands still, so that the
// examples print the same every time. A real one is
//
//	store := pebblestore.At("/var/lib/shop", pebblestore.Options{})
//	r, err := runner.Open(store, runner.Options{Create: true})
func scratch() (*runner.Runner, *runnertest.Clock) {
	clock := runnertest.NewClock(1_000)
	r, err := runner.Open(memstore.New(), runner.Options{
		Create: true, Now: clock.Now, Sleep: clock.Sleep,
	})
	if err != nil {
		log.Fatal(err)
	}
	return r, clock
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// A message is posted, run once, and gone. What the handler wrote through tx
// became durable in the same commit as the acknowledgement.
func Example() {
	r, _ := scratch()
	defer r.Close()
	ctx := context.Background()

	w, err := r.NewWorker(1, runner.WorkerOptions{
		Handler: func(ctx context.Context, tx *runner.Tx, d *runner.Delivery) error {
			fmt.Printf("order %s: %s\n", d.ID, d.Payload)
			return tx.Put(append([]byte("order/"), d.ID...), d.Payload)
		},
	})
	must(err)

	row, err := r.Post(ctx, &runner.Message{To: 1, ID: []byte("42"), Payload: []byte("two pawns")})
	must(err)
	fmt.Println("durable as row", row.Seq)

	n, err := w.Tick(ctx) // or w.Start(ctx), to run until w.Stop()
	must(err)
	fmt.Println("completed", n)
	// Output:
	// durable as row 1
	// order 42: two pawns
	// completed 1
}

// The outcome of a handler is its error.
func ExampleHandler_outcomes() {
	r, clock := scratch()
	defer r.Close()
	ctx := context.Background()
	w, err := r.NewWorker(1, runner.WorkerOptions{
		Handler: func(ctx context.Context, tx *runner.Tx, d *runner.Delivery) error {
			fmt.Printf("%s, attempt %d\n", d.ID, d.Attempts)
			switch {
			case string(d.ID) == "bad":
				return runner.Discard(errors.New("no such customer"))
			case d.Attempts == 1:
				return runner.Retry(errors.New("the bank is closed"), time.Second)
			}
			return nil
		},
	})
	must(err)
	for _, id := range []string{"pay", "bad"} {
		_, err := r.Post(ctx, &runner.Message{To: 1, ID: []byte(id)})
		must(err)
	}
	_, err = w.Tick(ctx)
	must(err)
	clock.Advance(1001 * time.Millisecond)
	_, err = w.Tick(ctx)
	must(err)
	must(r.EachDeadLetter(runner.DeadFilter{}, runner.Row{}, func(d runner.DeadLetter) bool {
		fmt.Println("dead letter:", d.Cause, "-", d.Reason)
		return true
	}))
	// Output:
	// pay, attempt 1
	// bad, attempt 1
	// pay, attempt 2
	// dead letter: discarded - no such customer
}

// One commit: state, a message to another worker, an outbox row and a timer.
func ExampleTx() {
	r, clock := scratch()
	defer r.Close()
	ctx := context.Background()
	shop, err := r.NewWorker(1, runner.WorkerOptions{
		Handler: func(ctx context.Context, tx *runner.Tx, d *runner.Delivery) error {
			if string(d.ID) == "remind" {
				fmt.Println("reminded at", clock.Now().UnixMilli())
				return nil
			}
			return errors.Join(
				tx.Put([]byte("paid"), d.ID),
				tx.Send(&runner.Message{To: 2, ID: []byte("ship")}),
				tx.Emit([]byte(`{"mail":"thank you"}`)),
				tx.Arm(clock.Now().Add(5*time.Second), &runner.Message{To: 1, ID: []byte("remind")}),
			)
		},
	})
	must(err)
	_, err = r.Post(ctx, &runner.Message{To: 1, ID: []byte("order")})
	must(err)
	_, err = shop.Tick(ctx)
	must(err)
	clock.Advance(5 * time.Second)
	_, err = shop.Tick(ctx)
	must(err)

	s := r.Stats()
	fmt.Println("waiting for worker 2:", s.Inboxes[1].Depth)
	n, err := r.DrainOutbox(ctx, 10, func(row runner.OutboxRow) error {
		fmt.Printf("out: %s\n", row.Message)
		return nil
	})
	must(err)
	fmt.Println("drained", n)
	// Output:
	// reminded at 6000
	// waiting for worker 2: 1
	// out: {"mail":"thank you"}
	// drained 1
}

// A loop that must never wait hands its frames over as a group; the committer
// calls back when all of them are durable.
func ExampleRunner_Submit() {
	r, _ := scratch()
	defer r.Close()
	answered := make(chan struct{})
	g := r.NewGroup(func(g *runner.Group, err error) {
		must(err) // ErrFailed: nothing of it is acknowledged
		fmt.Println("durable up to row", g.Row(g.Len()-1).Seq)
		close(answered)
	})
	for i := range 3 {
		must(g.Add(&runner.Message{To: 1, ID: fmt.Appendf(nil, "move %d", i)}))
	}
	must(r.Submit(g))
	<-answered
	g.Reset() // its memory serves the next step
	// Output: durable up to row 3
}

// An ordered worker drains into another store in batches. A transient failure pauses it with
// the batch claimed; a message that fails for good is framed anew and becomes a dead letter
// in the commit that acknowledges the rest.
func ExampleBatchHandler_ordered() {
	r, clock := scratch()
	defer r.Close()
	ctx := context.Background()
	away := true
	w, err := r.NewWorker(1, runner.WorkerOptions{
		Ordered: true, MaxBatch: 512,
		Batch: func(ctx context.Context, b *runner.Batched) error {
			if away {
				return runner.Retry(errors.New("database away"), time.Second)
			}
			for i, d := range b.Deliveries {
				if string(d.ID) == "broken" {
					b.DeadLetter(i, d.Frame, errors.New("violates a constraint"))
					continue
				}
				fmt.Printf("row %d applied: %s\n", d.Row.Seq, d.ID)
			}
			return nil
		},
	})
	must(err)
	for _, id := range []string{"e2e4", "broken", "e7e5"} {
		_, err := r.Post(ctx, &runner.Message{To: 1, ID: []byte(id)})
		must(err)
	}
	n, err := w.Tick(ctx)
	must(err)
	fmt.Println("completed", n, "held", r.Stats().Inboxes[0].Leased)
	away = false
	clock.Advance(time.Second)
	n, err = w.Tick(ctx)
	must(err)
	fmt.Println("completed", n, "dead letters", r.Stats().DeadLetters)
	// Output:
	// completed 0 held 3
	// row 1 applied: e2e4
	// row 3 applied: e7e5
	// completed 3 dead letters 1
}

// Transactions outside of messages, with optimistic concurrency: a conflict is
// tried again on a fresh snapshot.
func ExampleRunner_Update() {
	r, _ := scratch()
	defer r.Close()
	stats, err := r.Update(context.Background(), runner.AttemptPolicy{}, func(tx *runner.Tx) error {
		n, err := tx.Get([]byte("visits"))
		if err != nil && !errors.Is(err, runner.ErrNotFound) {
			return err
		}
		return tx.Put([]byte("visits"), append(n, '|'))
	})
	must(err)
	fmt.Println("attempts:", stats.Attempts)
	// Output: attempts: 1
}

// Nested transactions: what a part did can be dropped without the whole.
func ExampleTx_Begin() {
	r, _ := scratch()
	defer r.Close()
	_, err := r.Update(context.Background(), runner.AttemptPolicy{}, func(tx *runner.Tx) error {
		for _, part := range []string{"good", "bad"} {
			child, err := tx.Begin()
			if err != nil {
				return err
			}
			if err := child.Put([]byte(part), []byte("done")); err != nil {
				return err
			}
			if part == "bad" {
				err = child.Abort()
			} else {
				err = child.Commit()
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	must(err)
	must(r.View(func(get func([]byte) ([]byte, error)) error {
		_, err := get([]byte("bad"))
		fmt.Println(err)
		return nil
	}))
	// Output: key "bad": not found
}

// Dead letters are kept until an operator handles them, and can be sent again.
func ExampleRunner_ReplayDeadLetters() {
	r, _ := scratch()
	defer r.Close()
	ctx := context.Background()
	fixed := false
	w, err := r.NewWorker(1, runner.WorkerOptions{
		Policy: &runner.Policy{RetryDelay: -1}, // no pause between the deliveries
		Handler: func(ctx context.Context, tx *runner.Tx, d *runner.Delivery) error {
			if !fixed {
				panic("nil map")
			}
			return nil
		},
	})
	must(err)
	_, err = r.Post(ctx, &runner.Message{To: 1, ID: []byte("a")})
	must(err)
	_, err = w.Tick(ctx)
	must(err)
	list, err := r.DeadLetters(runner.DeadFilter{}, runner.Row{}, 10)
	must(err)
	fmt.Println(list[0].Cause, "after", list[0].Attempts, "attempts:", list[0].Reason)
	fixed = true
	n, err := r.ReplayDeadLetters(ctx, runner.DeadFilter{Cause: runner.CausePanic, HasCause: true})
	must(err)
	done, err := w.Tick(ctx)
	must(err)
	fmt.Println("replayed", n, "completed", done)
	// Output:
	// panic after 4 attempts: handler panicked: nil map
	// replayed 1 completed 1
}

// A checkpoint is restored in place, under a new journal id.
func ExampleRunner_Restore() {
	r, _ := scratch()
	defer r.Close()
	ctx := context.Background()
	must(r.Checkpoint("monday"))
	before := r.JournalID()
	_, err := r.Post(ctx, &runner.Message{To: 1, ID: []byte("tuesday")})
	must(err)
	must(r.Restore("monday"))
	fmt.Println("inboxes:", len(r.Stats().Inboxes), "new journal:", r.JournalID() != before)
	// Output: inboxes: 0 new journal: true
}

// What a runner has to tell goes to the program's log.
func ExampleSlog() {
	untimed := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	l := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: untimed}))
	r, err := runner.Open(memstore.New(), runner.Options{Create: true, Sinks: runner.Sinks{Log: runner.Slog(l)}})
	must(err)
	defer r.Close()
	ctx := context.Background()
	w, err := r.NewWorker(7, runner.WorkerOptions{Handler: func(context.Context, *runner.Tx, *runner.Delivery) error {
		return runner.Discard(errors.New("no such address"))
	}})
	must(err)
	_, err = r.Post(ctx, &runner.Message{To: 7, ID: []byte("order 9")})
	must(err)
	_, err = w.Tick(ctx)
	must(err)
	// Output:
	// level=WARN msg="non-retryable failure" queue=7 number=1 id="order 9" attempt=1 err="no such address"
	// level=ERROR msg="dead letter" queue=7 number=1 id="order 9" attempt=1 err="no such address"
}

// A LINT frame asks for a timer, and holds its message.
func ExampleIntent_Append() {
	asked := runner.Intent{Kind: runner.TimerArm, HasDue: true, Due: time.UnixMilli(60_000), Message: []byte("tea")}
	frame, err := asked.Append(nil)
	must(err)
	i, err := runner.DecodeIntent(frame)
	must(err)
	fmt.Printf("%s at %s\n", i.Message, i.Due.UTC().Format(time.TimeOnly))
	// Output: tea at 00:01:00
}
