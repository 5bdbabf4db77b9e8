package main

import (
	"context"
	"fmt"

	"wamble/runner"
	"wamble/runner/serve"
)

func main() {
	type Welcome struct{ Email string }
	serve.Main("jobs", "127.0.0.1:8080", func(ctx context.Context, r *runner.Runner) error {
		mails, err := runner.Handle(r, "mails", func(ctx context.Context, j *runner.Job[Welcome]) error {
			_, err := fmt.Println("mail to", j.Args.Email)
			return err // an error: again, up to 25 times over hours, then a dead letter
		}, runner.WorkerOptions{Concurrency: 8})
		if err == nil {
			if _, e := mails.Post(ctx, Welcome{"ada@example.org"}); e != nil { // nil: it is on disk
				fmt.Println("not posted:", e)
			}
		}
		return err
	})
}
