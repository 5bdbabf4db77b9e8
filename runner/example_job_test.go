package runner_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"wamble/runner"
)

type Order struct {
	Item  string
	Count int
}

// A typed job: what is posted is what the handler gets. A transaction's effects and
// the acknowledgement are one commit.
func ExampleHandle() {
	r, _ := scratch()
	defer r.Close()
	ctx := context.Background()
	bills, err := runner.NewQueue[string](r, "bills")
	must(err)
	orders, err := runner.Handle(r, "orders", func(ctx context.Context, j *runner.Job[Order]) error {
		fmt.Println("packed", j.Args.Count, j.Args.Item)
		return errors.Join(
			bills.Send(j.Tx, "for "+j.Args.Item),
			j.Tx.Put([]byte("last order"), j.ID),
			j.SetResult(j.Args.Count),
		)
	}, runner.WorkerOptions{})
	must(err)
	id, err := orders.Post(ctx, Order{"pawns", 8})
	must(err)
	_, err = orders.Worker().Tick(ctx) // a program calls r.Run(ctx)
	must(err)
	m, err := r.Message("orders", id)
	must(err)
	fmt.Printf("%s after %d attempt, result %s\n", m.State, m.Attempts, m.Result)
	waiting, err := r.Messages("bills", runner.Waiting, 0, 10)
	must(err)
	fmt.Printf("%s\n", waiting[0].Payload)
	// Output:
	// packed 8 pawns
	// done after 1 attempt, result 8
	// "for pawns"
}

// Dedupe: a job that is posted again after a crash of its poster runs once.
func ExampleOnce() {
	r, _ := scratch()
	defer r.Close()
	ctx := context.Background()
	pays, err := runner.Handle(r, "payments", func(ctx context.Context, j *runner.Job[int]) error {
		fmt.Println("paid", j.Args)
		return nil
	}, runner.WorkerOptions{})
	must(err)
	for range 3 {
		_, err := pays.Post(ctx, 20, runner.Once("invoice 7"))
		must(err)
	}
	_, err = pays.Worker().Tick(ctx)
	must(err)
	// Output: paid 20
}

// Unique: while a job with its id waits or runs there is no second one.
func ExampleUnique() {
	r, _ := scratch()
	defer r.Close()
	ctx := context.Background()
	builds, err := runner.NewQueue[string](r, "builds")
	must(err)
	for range 2 {
		_, err := builds.Post(ctx, "main", runner.Unique("build main"))
		fmt.Println(errors.Is(err, runner.ErrExists))
	}
	// Output:
	// false
	// true
}

// Options of a post: its time, its id, and its place before all jobs that are not urgent.
func ExamplePostOption() {
	r, clock := scratch()
	defer r.Close()
	ctx := context.Background()
	mails, err := runner.Handle(r, "mails", func(ctx context.Context, j *runner.Job[string]) error {
		fmt.Println(j.Args)
		return nil
	}, runner.WorkerOptions{})
	must(err)
	_, err = mails.Post(ctx, "newsletter", runner.At(clock.Now().Add(time.Hour)))
	must(err)
	id, err := mails.Post(ctx, "invoice", runner.ID("invoice 7"))
	must(err)
	_, err = mails.Post(ctx, "new password", runner.Urgent())
	must(err)
	_, err = mails.Worker().Tick(ctx)
	must(err)
	m, err := r.Message("mails", id)
	must(err)
	fmt.Println(id, "is", m.State)
	// Output:
	// new password
	// invoice
	// invoice 7 is done
}

// A schedule exists once, however often the program starts, and continues when its jobs fail.
// A single job later is runner.After.
func ExampleQueue_Every() {
	r, clock := scratch()
	defer r.Close()
	ctx := context.Background()
	reports, err := runner.Handle(r, "reports", func(ctx context.Context, j *runner.Job[string]) error {
		fmt.Println(j.Args, "at", clock.Now().UTC().Format(time.TimeOnly))
		return nil
	}, runner.WorkerOptions{})
	must(err)
	for range 2 { // as if the program had been started twice
		must(reports.Every(ctx, "hourly report", "0 * * * *", "report"))
	}
	_, err = reports.Post(ctx, "reminder", runner.After(30*time.Minute))
	must(err)
	for range 4 {
		clock.Advance(30 * time.Minute)
		_, err := reports.Worker().Tick(ctx)
		must(err)
	}
	// Output:
	// reminder at 00:30:01
	// report at 01:00:01
	// report at 02:00:01
}

// Shutdown: when ctx ends, handlers that run have WorkerOptions.Grace to end, what was
// claimed and not begun is given back, and the runner is closed.
func ExampleRunner_Run() {
	r, _ := scratch()
	ctx, stop := context.WithCancel(context.Background())
	orders, err := runner.Handle(r, "orders", func(ctx context.Context, j *runner.Job[Order]) error {
		stop() // in a program: a signal
		fmt.Println("finished, though it has ended:", ctx.Err() == nil)
		return nil
	}, runner.WorkerOptions{Grace: time.Minute})
	must(err)
	_, err = orders.Post(ctx, Order{"pawns", 8})
	must(err)
	must(r.Run(ctx))
	fmt.Println(r.State())
	// Output:
	// finished, though it has ended: true
	// stopped
}

// An operator holds a queue; it stays held over restarts.
func ExampleRunner_PauseQueue() {
	r, _ := scratch()
	defer r.Close()
	ctx := context.Background()
	orders, err := runner.Handle(r, "orders", func(ctx context.Context, j *runner.Job[Order]) error { return nil },
		runner.WorkerOptions{})
	must(err)
	_, err = orders.Post(ctx, Order{"pawns", 8})
	must(err)
	must(r.PauseQueue(ctx, "orders"))
	n, err := orders.Worker().Tick(ctx)
	must(err)
	fmt.Println("completed", n)
	must(r.ResumeQueue(ctx, "orders"))
	n, err = orders.Worker().Tick(ctx)
	must(err)
	fmt.Println("completed", n)
	// Output:
	// completed 0
	// completed 1
}

// Timers: a message for later, which can be called back until it is due.
func ExampleRunner_Arm() {
	r, clock := scratch()
	defer r.Close()
	ctx := context.Background()
	reminders, err := runner.Handle(r, "reminders", func(ctx context.Context, j *runner.Job[string]) error {
		fmt.Println("remember:", j.Args)
		return nil
	}, runner.WorkerOptions{})
	must(err)
	_, err = reminders.Post(ctx, "the clock", runner.After(time.Minute))
	must(err)
	m, err := reminders.Message("the tea")
	must(err)
	tea, err := r.Arm(ctx, clock.Now().Add(time.Minute), m)
	must(err)
	timers, err := r.Timers(runner.TimerID{}, 10)
	must(err)
	fmt.Println(len(timers), "timers")
	must(r.Cancel(ctx, tea))
	clock.Advance(time.Minute)
	_, err = reminders.Worker().Tick(ctx) // a program calls r.Run(ctx)
	must(err)
	// Output:
	// 2 timers
	// remember: the clock
}

// Ordered, and side by side: the requests overlap, what they lead to is committed in
// the order in which they were posted.
func ExampleWorkerOptions_ordered() {
	r, _ := scratch()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	orders, err := runner.Handle(r, "orders", func(ctx context.Context, j *runner.Job[Order]) error {
		// … ask another service, which may be slow …
		if j.Args.Item == "kings" {
			stop()
		}
		return j.Tx.Emit(fmt.Append(nil, j.Args.Count, " ", j.Args.Item))
	}, runner.WorkerOptions{Ordered: true, Concurrency: 8})
	must(err)
	for _, o := range []Order{{"pawns", 16}, {"rooks", 4}, {"kings", 2}} {
		_, err := orders.Post(context.Background(), o)
		must(err)
	}
	must(orders.Worker().Start(ctx))
	must(orders.Worker().Join())
	rows, err := r.Outbox(0, 10)
	must(err)
	for _, row := range rows {
		fmt.Println(string(row.Message))
	}
	must(r.Close())
	// Output:
	// 16 pawns
	// 4 rooks
	// 2 kings
}
