package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"wamble/runner"
	"wamble/runner/pebblestore"
)

type Welcome struct{ Email string }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	r, err := runner.Open(pebblestore.At("jobs", pebblestore.Options{}), runner.Options{Create: true})
	check(err)
	mails, err := runner.Handle(r, "mails", func(ctx context.Context, j *runner.Job[Welcome]) error {
		fmt.Println("mail to", j.Args.Email) // an error: again after 1 s, 2 s and 4 s, then a dead letter
		return nil
	}, runner.WorkerOptions{Concurrency: 8})
	check(err)
	check(mails.Every(ctx, "digest", "0 8 * * mon-fri", Welcome{"all@example.org"}))
	_, err = mails.Post(ctx, Welcome{"ada@example.org"})
	check(err)
	dead, err := r.Messages("mails", runner.Dead, 0, 10)
	check(err)
	for _, m := range dead {
		fmt.Println("dead letter", m.ID, "after", m.Attempts, "attempts:", m.Error)
	}
	check(r.Run(ctx)) // until Ctrl-C; then what runs is finished
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
