package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wamble/internal/admin"
	"wamble/runner"
)

// deadVerb is a change of one dead letter or of many.
type deadVerb struct {
	name string // as "replay"
	past string // as "replayed"
}

var (
	replayVerb = deadVerb{"replay", "replayed"}
	dropVerb   = deadVerb{"drop", "dropped"}
)

// do carries out the verb on one dead letter, or on those that match a filter.
func (v deadVerb) do(j journalClient, choice admin.DeadChoice) (done admin.DeadDone, err error) {
	err = j.ask("dead-letter-"+v.name, choice, &done)
	return done, err
}

// said describes what was done to one dead letter.
func (v deadVerb) said(row runner.Row, done admin.DeadDone) string {
	if v == replayVerb {
		return fmt.Sprintf("%s replayed, now message %d of worker %d", showRow(row), done.Number, done.Worker)
	}
	return fmt.Sprintf("%s %s", showRow(row), v.past)
}

func deadReplayCommand(f *runnerFlags) *cobra.Command {
	return deadVerbCommand(f, replayVerb, &cobra.Command{
		Use:   "replay [WORKER/NUMBER...]",
		Short: "Put dead letters back into their inboxes, with fresh attempts",
		Long: `Put dead letters back at the tail of their inboxes, unchanged and with fresh
attempts: those named, those that the filters choose, or --all. More than those
named are replayed only with --yes. A message that is malformed cannot be
replayed and stays.`,
		Example: `  wamble runner dead-letters replay 7/3 7/4
  wamble runner dead-letters replay --reason 'connection refused' --yes`,
	})
}

func deadDropCommand(f *runnerFlags) *cobra.Command {
	return deadVerbCommand(f, dropVerb, &cobra.Command{
		Use:   "drop [WORKER/NUMBER...]",
		Short: "Delete dead letters for ever",
		Long: `Delete dead letters for ever: those named, those that the filters choose, or
--all. More than those named are dropped only with --yes.`,
		Example: `  wamble runner dead-letters drop 7/3
  wamble runner dead-letters drop --until 720h --yes`,
	})
}

func deadVerbCommand(f *runnerFlags, v deadVerb, c *cobra.Command) *cobra.Command {
	var all, yes bool
	chosen := deadFlags(c)
	c.Flags().BoolVar(&all, "all", false, v.name+" all dead letters")
	c.Flags().BoolVar(&yes, "yes", false, "do it; without this only count what would be "+v.past)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		rows, err := parseRows(args)
		if err != nil {
			return err
		}
		ways := 0
		for _, given := range []bool{len(rows) > 0, all, chosen.narrowed()} {
			if given {
				ways++
			}
		}
		if ways != 1 {
			return fmt.Errorf("say which dead letters to %s: by name, by filters, or --all\nSee '%s --help'", v.name,
				cmd.CommandPath())
		}
		if len(rows) > 0 {
			return v.doNamed(cmd, f, rows)
		}
		filter, err := chosen.filter()
		if err != nil {
			return err
		}
		if !yes {
			return v.count(cmd, f, filter)
		}
		return v.doMany(cmd, f, filter)
	}
	return c
}

// doNamed changes the named dead letters. It goes on after errors, and returns all of them.
func (v deadVerb) doNamed(cmd *cobra.Command, f *runnerFlags, rows []runner.Row) error {
	return f.alter(cmd.Context(), func(j journalClient) error {
		var failed []error
		for _, row := range rows {
			done, err := v.do(j, admin.DeadChoice{Worker: row.Worker, Number: row.Seq})
			if err != nil {
				failed = append(failed, err)
				continue
			}
			if _, err := fmt.Fprintln(cmd.OutOrStdout(), v.said(row, done)); err != nil {
				return err
			}
		}
		return errors.Join(failed...)
	})
}

// count returns an error with the number of chosen dead letters, for a choice without --yes.
func (v deadVerb) count(cmd *cobra.Command, f *runnerFlags, filter runner.DeadFilter) error {
	return f.look(cmd.Context(), func(j journalClient) error {
		n := 0
		err := j.eachDeadLetter(filter, func(runner.DeadLetter) bool {
			n++
			return true
		})
		if err != nil {
			return err
		}
		return fmt.Errorf("%d dead letters would be %s; --yes does it", n, v.past)
	})
}

func (v deadVerb) doMany(cmd *cobra.Command, f *runnerFlags, filter runner.DeadFilter) error {
	return f.alter(cmd.Context(), func(j journalClient) error {
		done, err := v.do(j, admin.DeadChoice{Filter: &filter})
		if _, printErr := fmt.Fprintf(cmd.OutOrStdout(), "%d dead letters %s\n", done.Count, v.past); err == nil {
			err = printErr
		}
		return err
	})
}

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
