package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"wamble/internal/server"
	"wamble/runner"
)

// A running server holds the lock of its journal. It is asked through its
// control socket instead, which lies beside the journal.

// inUse reports whether a running process has the directory.
func inUse(err error) bool {
	var e inUseError
	return errors.As(err, &e)
}

// ask sends a request to the server that has the journal open.
func (f *runnerFlags) ask(cmd *cobra.Command, verb string, choice server.DeadChoice, result any) error {
	dir, err := f.path()
	if err != nil {
		return err
	}
	err = server.Ask(cmd.Context(), filepath.Dir(filepath.Clean(dir)), verb, choice, result)
	if errors.Is(err, server.ErrNoServer) {
		return inUseError{dir}
	}
	return err
}

func (f *runnerFlags) listLive(cmd *cobra.Command, limit int) error {
	var found []server.DeadLetter
	if err := f.ask(cmd, "dead-letters", server.DeadChoice{Limit: limit}, &found); err != nil {
		return err
	}
	if f.json {
		return printJSON(cmd.OutOrStdout(), found)
	}
	rows := []string{"NAME\tTIME\tCAUSE\tATTEMPTS\tREASON"}
	for _, d := range found {
		rows = append(rows, fmt.Sprintf("%d/%d\t%s\t%s\t%d\t%s",
			d.Worker, d.Number, showTime(d.Time), d.Cause, d.Attempts, cell([]byte(d.Reason))))
	}
	if len(found) == 0 {
		rows = []string{"no dead letters"}
	}
	return printTable(cmd.OutOrStdout(), rows)
}

func (f *runnerFlags) showLive(cmd *cobra.Command, rows []runner.Row) error {
	for _, row := range rows {
		var found []server.DeadLetter
		if err := f.ask(cmd, "dead-letters", server.DeadChoice{Worker: row.Worker, Number: row.Seq}, &found); err != nil {
			return err
		}
		for _, d := range found {
			if err := printJSON(cmd.OutOrStdout(), d); err != nil {
				return err
			}
		}
	}
	return nil
}

// doLive lets the server do it to the named dead letters.
func (v deadVerb) doLive(cmd *cobra.Command, f *runnerFlags, rows []runner.Row) error {
	var failed []error
	for _, row := range rows {
		var done server.DeadChoice
		if err := f.ask(cmd, "dead-letter-"+v.name, server.DeadChoice{Worker: row.Worker, Number: row.Seq}, &done); err != nil {
			failed = append(failed, err)
			continue
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s %s by the running server\n", showRow(row), v.past)
	}
	return errors.Join(failed...)
}
