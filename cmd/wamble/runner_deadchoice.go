package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wamble/runner"
)

// deadChoice is a filter of dead letters as flags.
type deadChoice struct {
	cmd          *cobra.Command
	worker       uint64
	cause        string
	reason, id   string
	since, until string
}

// filterFlags has the names of the flags that are filters.
var filterFlags = []string{"worker", "cause", "reason", "id", "since", "until"}

func deadFlags(c *cobra.Command) *deadChoice {
	d := &deadChoice{cmd: c}
	c.Flags().Uint64Var(&d.worker, "worker", 0, "choose those of this worker")
	c.Flags().StringVar(&d.cause, "cause", "", "choose by cause: "+strings.Join(causeNames(), ", "))
	c.Flags().StringVar(&d.reason, "reason", "", "choose those whose reason contains this text")
	c.Flags().StringVar(&d.id, "id", "", "choose by message id")
	c.Flags().StringVar(&d.since, "since", "",
		"choose those that died since then: 2006-01-02T15:04:05Z, or 24h for a day ago")
	c.Flags().StringVar(&d.until, "until", "", "choose those that died before then")
	return d
}

// causeNames returns the names of all causes, in the order of their numbers.
func causeNames() []string {
	var names []string
	for c := runner.CauseUnknown; c <= runner.CauseReframed; c++ {
		names = append(names, c.String())
	}
	return names
}

// narrowed reports whether a filter was given.
func (d *deadChoice) narrowed() bool {
	for _, name := range filterFlags {
		if d.cmd.Flags().Changed(name) {
			return true
		}
	}
	return false
}

func (d *deadChoice) filter() (runner.DeadFilter, error) {
	f := runner.DeadFilter{Worker: d.worker, HasWorker: d.cmd.Flags().Changed("worker"), Reason: d.reason}
	if d.id != "" {
		f.ID = []byte(d.id)
	}
	if d.cause != "" {
		names := causeNames()
		for i, name := range names {
			if name == d.cause {
				f.Cause, f.HasCause = runner.Cause(i), true
			}
		}
		if !f.HasCause {
			return f, fmt.Errorf("no cause %q; there are %s", d.cause, strings.Join(names, ", "))
		}
	}
	var err, err2 error
	f.Since, err = parseWhen("since", d.since)
	f.Until, err2 = parseWhen("until", d.until)
	return f, errors.Join(err, err2)
}

// parseWhen parses a time, or a duration before now; "" is the zero time.
func parseWhen(flag, s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if ago, err := time.ParseDuration(s); err == nil {
		return time.Now().Add(-ago), nil
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return t, fmt.Errorf("--%s %q: want a time as in 2006-01-02T15:04:05Z, or a duration as in 24h", flag, s)
	}
	return t, nil
}

func (d *deadChoice) each(j journalClient, visit func(runner.DeadLetter) bool) error {
	f, err := d.filter()
	if err != nil {
		return err
	}
	return j.eachDeadLetter(f, visit)
}

// export writes the chosen dead letters as lines of JSON, and returns their number.
func (d *deadChoice) export(j journalClient, w io.Writer) (int, error) {
	n := 0
	var failed error
	err := d.each(j, func(dead runner.DeadLetter) bool {
		if failed = dead.Export(w); failed == nil {
			n++
		}
		return failed == nil
	})
	return n, errors.Join(err, failed)
}
