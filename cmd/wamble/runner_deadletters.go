package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"wamble/runner"
)

func runnerDeadLettersCommand(f *runnerFlags) *cobra.Command {
	return parent(&cobra.Command{
		Use:   "dead-letters",
		Short: "List, show, replay, drop and export messages that failed",
		Long: `List, show, replay, drop and export dead letters: messages that failed too often,
or for good. Each is named WORKER/NUMBER. A server that runs is asked for those of
its journal; otherwise the directory is opened.`,
		Example: `  wamble runner dead-letters list
  wamble runner dead-letters replay 7/3`,
	},
		deadListCommand(f),
		deadShowCommand(f),
		deadReplayCommand(f),
		deadDropCommand(f),
		deadExportCommand(f),
	)
}

func deadListCommand(f *runnerFlags) *cobra.Command {
	var limit int
	c := &cobra.Command{
		Use:   "list",
		Short: "List dead letters, by worker and number",
		Example: `  wamble runner dead-letters list
  wamble runner dead-letters list --worker 7 --cause discarded --since 24h --json`,
		Args: noArgs,
	}
	chosen := deadFlags(c)
	limitFlag(c, &limit, "dead letters")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		return f.look(cmd.Context(), func(j journalClient) error {
			l := newListing(cmd, f.json, limit, "NAME\tTIME\tCAUSE\tATTEMPTS\tKIND\tID\tREASON")
			err := chosen.each(j, func(d runner.DeadLetter) bool {
				l.add(viewDead(&d), deadCells(&d))
				return !l.more
			})
			if err != nil {
				return err
			}
			return l.print("dead letters")
		})
	}
	return c
}

func deadShowCommand(f *runnerFlags) *cobra.Command {
	return &cobra.Command{
		Use:     "show WORKER/NUMBER...",
		Short:   "Print all there is to know of dead letters, as JSON",
		Example: "  wamble runner dead-letters show 7/3",
		Args:    someArgs("a dead letter, as WORKER/NUMBER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			rows, err := parseRows(args)
			if err != nil {
				return err
			}
			return f.look(cmd.Context(), func(j journalClient) error {
				for _, row := range rows {
					d, err := j.deadLetter(row)
					if err != nil {
						return err
					}
					if err := printJSON(cmd.OutOrStdout(), viewDead(&d)); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}

func deadExportCommand(f *runnerFlags) *cobra.Command {
	var to string
	c := &cobra.Command{
		Use:   "export",
		Short: "Write dead letters as lines of JSON, whole frames included",
		Long: `Write dead letters as lines of JSON with the frame in base64: to standard
output, or to a file that does not exist yet.`,
		Example: `  wamble runner dead-letters export > dead.ndjson
  wamble runner dead-letters export --worker 7 --output dead.ndjson`,
		Args: noArgs,
	}
	chosen := deadFlags(c)
	c.Flags().StringVarP(&to, "output", "o", "", "file to write (default: standard output)")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		return f.look(cmd.Context(), func(j journalClient) error {
			if to == "" {
				_, err := chosen.export(j, cmd.OutOrStdout())
				return err
			}
			var file *os.File
			err := asCaller(func() (err error) {
				file, err = os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
				return err
			})
			if err != nil {
				return err
			}
			n, err := chosen.export(j, file)
			if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.ErrOrStderr(), "%d dead letters written to %s\n", n, to)
			return err
		})
	}
	return c
}

// deadView is a dead letter for JSON. Times are in ms since 1970.
type deadView struct {
	Name     string     `json:"name"`
	Worker   uint64     `json:"worker"`
	Number   uint64     `json:"number"`
	Time     *int64     `json:"time,omitempty"`
	Cause    string     `json:"cause"`
	Code     int32      `json:"code,omitempty"`
	Attempts uint32     `json:"attempts"`
	Reason   string     `json:"reason"`
	Source   *rowView   `json:"source,omitempty"`
	Timer    *timerView `json:"timer,omitempty"`
	storedFrame
}

// rowView identifies a row of an inbox for JSON.
type rowView struct {
	Worker uint64 `json:"worker"`
	Seq    uint64 `json:"seq"`
}

func viewDead(d *runner.DeadLetter) deadView {
	v := deadView{
		Name: showRow(d.Row), Worker: d.Row.Worker, Number: d.Row.Seq, Cause: d.Cause.String(), Code: d.Code,
		Attempts: d.Attempts, Reason: d.Reason, storedFrame: viewStored(d.Frame),
	}
	if !d.Time.IsZero() {
		died := d.Time.UnixMilli()
		v.Time = &died
	}
	if d.Source != (runner.Row{}) {
		v.Source = &rowView{d.Source.Worker, d.Source.Seq}
	}
	if d.FromTimer {
		v.Timer = &timerView{d.Timer.Due().UnixMilli(), d.Timer.Seq}
	}
	return v
}

func deadCells(d *runner.DeadLetter) string {
	when, kind, id := "-", "?", "?"
	if !d.Time.IsZero() {
		when = showTime(d.Time.UnixMilli())
	}
	if m, err := runner.DecodeMessage(d.Frame); err == nil {
		kind, id = kindNames[m.Kind], cell(m.ID)
	}
	return fmt.Sprintf("%s\t%s\t%s\t%d\t%s\t%s\t%s", showRow(d.Row), when, d.Cause, d.Attempts, kind, id,
		cell([]byte(d.Reason)))
}

func showRow(r runner.Row) string { return fmt.Sprintf("%d/%d", r.Worker, r.Seq) }

func parseRows(args []string) ([]runner.Row, error) {
	var rows []runner.Row
	for _, arg := range args {
		worker, seq, ok := strings.Cut(arg, "/")
		w, err := strconv.ParseUint(worker, 10, 64)
		s, err2 := strconv.ParseUint(seq, 10, 64)
		if !ok || err != nil || err2 != nil {
			return nil, fmt.Errorf("%q is not the name of a dead letter: want WORKER/NUMBER, as in 7/3", arg)
		}
		rows = append(rows, runner.Row{Worker: w, Seq: s})
	}
	return rows, nil
}
