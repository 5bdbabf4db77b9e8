// Package serve is the main function of a program whose jobs are kept in a directory.
package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"wamble/runner"
	"wamble/runner/admin"
	"wamble/runner/pebblestore"
)

// Main opens the runner in dir, calls setup, which adds queues and schedules, and works until
// SIGINT or SIGTERM; then what runs has WorkerOptions.Grace to end. The operator's page is at
// address, for programs of this machine; "" means no page. Main logs to slog.Default, and ends
// the process with status 1 after an error.
func Main(dir, address string, setup func(ctx context.Context, r *runner.Runner) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, dir, address, setup); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir, address string, setup func(ctx context.Context, r *runner.Runner) error) error {
	r, err := runner.Open(pebblestore.At(dir, pebblestore.Options{}), runner.Options{
		Create: true, Sinks: runner.Sinks{Log: runner.Slog(slog.Default())},
	})
	if err != nil {
		return err
	}
	if err := setup(ctx, r); err != nil {
		return errors.Join(err, r.Close())
	}
	if address != "" {
		l, err := net.Listen("tcp", address)
		if err != nil {
			return errors.Join(err, r.Close())
		}
		page := &http.Server{
			Handler: admin.New(r, admin.Options{Allow: admin.Loopback}), ReadHeaderTimeout: 10 * time.Second,
		}
		defer page.Close()
		go page.Serve(l) // until Close; the program works without its page, too
	}
	return r.Run(ctx)
}
