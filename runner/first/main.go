package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/signal"

	"wamble/runner"
	"wamble/runner/admin"
	"wamble/runner/pebblestore"
)

type Welcome struct{ Email string }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	r, err := runner.Open(pebblestore.At("jobs", pebblestore.Options{}), runner.Options{Create: true})
	check(err)
	mails, err := runner.Handle(r, "mails", func(ctx context.Context, j *runner.Job[Welcome]) error {
		_, err := fmt.Println("mail to", j.Args.Email)
		return err // an error: again after 1 s, 2 s and 4 s, then a dead letter
	}, runner.WorkerOptions{Concurrency: 8})
	check(err)
	check(mails.Every(ctx, "digest", "0 8 * * mon-fri", Welcome{"all@example.org"}))
	if _, err := mails.Post(ctx, Welcome{"ada@example.org"}); err != nil { // nil: it is on disk
		fmt.Println("not posted:", err)
	}
	page := admin.New(r, admin.Options{Allow: admin.Loopback}) // queues, dead letters, retry
	go func() { check(http.ListenAndServe("127.0.0.1:8080", page)) }()
	check(r.Run(ctx)) // until Ctrl-C; then what runs is finished
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
