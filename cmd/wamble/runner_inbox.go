package main

import (
	"errors"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"wamble/runner"
)

func runnerInboxCommand(f *runnerFlags) *cobra.Command {
	var worker, from uint64
	var limit int
	c := &cobra.Command{
		Use:   "inbox",
		Short: "List the messages that wait in the inboxes of a runner",
		Long: `List the messages that wait in the inboxes of a runner, by worker and sequence
number. A message is waiting, leased (somebody handles it, or did when the process
ended) or parked (it failed and waits for its next attempt).`,
		Example: `  wamble runner inbox
  wamble runner inbox --worker 7 --from 1200 --limit 10 --json`,
		Args: noArgs,
	}
	c.Flags().Uint64Var(&worker, "worker", 0, "list only the inbox of this worker")
	c.Flags().Uint64Var(&from, "from", 0, "begin at this sequence number")
	limitFlag(c, &limit, "messages")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		return f.look(cmd.Context(), func(j journalClient) error {
			workers := []uint64{worker}
			if !cmd.Flags().Changed("worker") {
				workers = workers[:0]
				s, err := j.stats()
				if err != nil {
					return err
				}
				for _, in := range s.Inboxes {
					workers = append(workers, in.Worker)
				}
			}
			l := newListing(cmd, f.json, limit, "WORKER\tSEQ\tSTATE\tATTEMPTS\tKIND\tID\tPAYLOAD")
			for _, w := range workers {
				rows, err := j.inbox(w, from, l.wanted())
				if err != nil {
					return err
				}
				for i := range rows {
					l.add(viewInboxRow(&rows[i]), inboxCells(&rows[i]))
				}
			}
			return l.print("messages")
		})
	}
	return c
}

// inboxRowView is a row of an inbox for JSON.
type inboxRowView struct {
	Worker   uint64     `json:"worker"`
	Seq      uint64     `json:"seq"`
	State    string     `json:"state"`
	Priority string     `json:"priority,omitempty"`
	Attempts uint32     `json:"attempts"`
	Until    *int64     `json:"parked_until,omitempty"`
	Timer    *timerView `json:"timer,omitempty"`
	storedFrame
}

// timerView identifies a timer for JSON; Due is in ms since 1970.
type timerView struct {
	Due int64  `json:"due"`
	Seq uint64 `json:"seq"`
}

func inboxState(row *runner.InboxRow) string {
	switch {
	case !row.Leased:
		return "waiting"
	case row.Lease.Owner == 0:
		return "parked"
	}
	return "leased"
}

func viewInboxRow(row *runner.InboxRow) inboxRowView {
	v := inboxRowView{
		Worker: row.Worker, Seq: row.Seq, State: inboxState(row),
		Attempts: row.Lease.Attempts, storedFrame: viewStored(row.Frame),
	}
	if row.High {
		v.Priority = "high"
	}
	if v.State == "parked" {
		until := row.Lease.Deadline.UnixMilli()
		v.Until = &until
	}
	if row.Fired {
		v.Timer = &timerView{row.Timer.Due().UnixMilli(), row.Timer.Seq}
	}
	return v
}

func inboxCells(row *runner.InboxRow) string {
	return fmt.Sprintf("%d\t%d\t%s\t%d\t%s", row.Worker, row.Seq, inboxState(row), row.Lease.Attempts,
		frameCells(row.Frame))
}

func runnerTimersCommand(f *runnerFlags) *cobra.Command {
	var worker int64
	var limit int
	c := &cobra.Command{
		Use:   "timers",
		Short: "List the armed timers of a runner, the earliest first",
		Example: `  wamble runner timers
  wamble runner timers --worker 7 --limit 10 --json`,
		Args: noArgs,
	}
	c.Flags().Int64Var(&worker, "worker", 0, "list only timers for this worker")
	limitFlag(c, &limit, "timers")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		return f.look(cmd.Context(), func(j journalClient) error {
			l := newListing(cmd, f.json, limit, "DUE\tSEQ\tWORKER\tKIND\tID\tPAYLOAD")
			wanted, filtered := l.wanted(), cmd.Flags().Changed("worker")
			if filtered {
				wanted = math.MaxInt
			}
			timers, err := j.timers(wanted)
			if err != nil {
				return err
			}
			for i := range timers {
				m, err := runner.DecodeMessage(timers[i].Frame)
				if filtered && (err != nil || m.To != uint64(worker)) {
					continue
				}
				l.add(viewTimer(&timers[i]), timerCells(&timers[i], &m, err))
			}
			return l.print("timers")
		})
	}
	return c
}

// armedView is an armed timer for JSON; Due is in ms since 1970.
type armedView struct {
	Due int64  `json:"due"`
	Seq uint64 `json:"seq"`
	storedFrame
}

func viewTimer(t *runner.ArmedTimer) armedView {
	return armedView{Due: t.ID.Due().UnixMilli(), Seq: t.ID.Seq, storedFrame: viewStored(t.Frame)}
}

func timerCells(t *runner.ArmedTimer, m *runner.Message, err error) string {
	worker := "?"
	if err == nil {
		worker = fmt.Sprint(m.To)
	}
	return fmt.Sprintf("%s\t%d\t%s\t%s", showTime(t.ID.Due().UnixMilli()), t.ID.Seq, worker, frameCells(t.Frame))
}

// limitFlag adds --limit.
func limitFlag(c *cobra.Command, limit *int, what string) {
	*limit = 50
	c.Flags().Var((*positive)(limit), "limit", "list at most this many "+what)
}

// positive is a flag with a number from 1 up.
type positive int

func (p *positive) String() string { return fmt.Sprint(int(*p)) }
func (p *positive) Type() string   { return "N" }

func (p *positive) Set(s string) error {
	var n int
	if _, err := fmt.Sscanf(s, "%d", &n); err != nil || n < 1 || fmt.Sprint(n) != s {
		return errors.New("want a number from 1 up")
	}
	*p = positive(n)
	return nil
}

// listing collects up to limit rows, for a table or as JSON, and whether there are more.
type listing struct {
	cmd   *cobra.Command
	json  bool
	limit int
	views []any
	rows  []string
	more  bool
}

func newListing(cmd *cobra.Command, json bool, limit int, header string) *listing {
	return &listing{cmd: cmd, json: json, limit: limit, views: []any{}, rows: []string{header}}
}

// wanted returns how many more rows to read. One beyond the limit shows that there are more.
func (l *listing) wanted() int { return l.limit - len(l.views) + 1 }

func (l *listing) add(view any, cells string) {
	if len(l.views) == l.limit {
		l.more = true
		return
	}
	l.views = append(l.views, view)
	l.rows = append(l.rows, cells)
}

// print prints the rows. That there are more is printed to standard error, so that tools can
// read standard output.
func (l *listing) print(what string) error {
	out := l.cmd.OutOrStdout()
	var err error
	switch {
	case l.json:
		err = printJSON(out, l.views)
	case len(l.views) == 0:
		_, err = fmt.Fprintf(out, "no %s\n", what)
	default:
		err = printTable(out, l.rows)
	}
	if err == nil && l.more {
		_, err = fmt.Fprintf(l.cmd.ErrOrStderr(), "There are more %s; --limit shows more than %d.\n", what, l.limit)
	}
	return err
}
