package main

import (
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"wamble/runner"
)

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
