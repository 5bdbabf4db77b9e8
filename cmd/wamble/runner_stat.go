package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

func runnerStatCommand(f *runnerFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "stat",
		Short: "Count what is in a runner: messages, timers, dead letters",
		Example: `  wamble runner stat
  wamble runner stat --dir /var/lib/wamble/journal --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.look(cmd.Context(), func(j journalClient) error {
				v, err := viewStats(j)
				if err != nil {
					return err
				}
				if f.json {
					return printJSON(cmd.OutOrStdout(), v)
				}
				return printStats(cmd.OutOrStdout(), &v)
			})
		},
	}
}

// statsView is runner.Stats for JSON, without figures that only a running process has.
type statsView struct {
	Journal     string      `json:"journal"`
	Schema      string      `json:"schema"`
	Starts      uint32      `json:"starts"`
	Outbox      uint64      `json:"outbox"`
	Timers      uint64      `json:"timers"`
	NextDue     *int64      `json:"next_due,omitempty"`
	DeadLetters uint64      `json:"dead_letters"`
	Inboxes     []inboxView `json:"inboxes"`
}

// inboxView is an inbox for JSON; FirstSeq is absent when it is empty.
type inboxView struct {
	Worker   uint64  `json:"worker"`
	Name     string  `json:"name,omitempty"`
	Paused   bool    `json:"paused,omitempty"`
	Depth    uint64  `json:"depth"`
	Leased   int     `json:"leased"`
	Parked   int     `json:"parked"`
	FirstSeq *uint64 `json:"first_seq,omitempty"`
	NextSeq  uint64  `json:"next_seq"`
}

func viewStats(j journalClient) (statsView, error) {
	s, err := j.stats()
	if err != nil {
		return statsView{}, err
	}
	v := statsView{
		Journal: s.Journal.String(), Schema: s.Schema.String(), Starts: s.Epoch,
		Outbox: s.Outbox, Timers: s.Timers, DeadLetters: s.DeadLetters, Inboxes: []inboxView{},
	}
	if !s.NextDue.IsZero() {
		due := s.NextDue.UnixMilli()
		v.NextDue = &due
	}
	for _, in := range s.Inboxes {
		x := inboxView{Worker: in.Worker, Name: in.Name, Paused: in.Paused, Depth: in.Depth, Leased: in.Leased,
			Parked: in.Parked, NextSeq: in.NextSeq}
		first, err := j.inbox(in.Worker, 0, 1)
		if err != nil {
			return v, err
		}
		if len(first) > 0 {
			x.FirstSeq = &first[0].Seq
		}
		v.Inboxes = append(v.Inboxes, x)
	}
	return v, nil
}

func printStats(w io.Writer, v *statsView) error {
	due := ""
	if v.NextDue != nil {
		due = ", the first due " + showTime(*v.NextDue)
	}
	rows := []string{
		fmt.Sprintf("journal\t%s", v.Journal),
		fmt.Sprintf("schema\t%s", v.Schema),
		fmt.Sprintf("starts\t%d", v.Starts),
		fmt.Sprintf("outbox\t%d", v.Outbox),
		fmt.Sprintf("timers\t%d%s", v.Timers, due),
		fmt.Sprintf("dead letters\t%d", v.DeadLetters),
		fmt.Sprintf("inboxes\t%d", len(v.Inboxes)),
	}
	if err := printTable(w, rows); err != nil || len(v.Inboxes) == 0 {
		return err
	}
	rows = []string{"", "WORKER\tDEPTH\tLEASED\tPARKED\tFIRST\tNEXT\tNAME"}
	for _, in := range v.Inboxes {
		first := "-"
		if in.FirstSeq != nil {
			first = fmt.Sprint(*in.FirstSeq)
		}
		name := cell([]byte(in.Name))
		if in.Paused {
			name += " (paused)"
		}
		rows = append(rows, fmt.Sprintf("%d\t%d\t%d\t%d\t%s\t%d\t%s", in.Worker, in.Depth, in.Leased, in.Parked, first,
			in.NextSeq, name))
	}
	return printTable(w, rows)
}
