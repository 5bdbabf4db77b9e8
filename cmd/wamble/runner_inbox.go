package main

import (
	"fmt"

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
