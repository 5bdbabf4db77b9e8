package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	runneradmin "wamble/runner/admin"
)

// The commands below are the verbs of the runner's admin page, on a directory or on a running
// server.

// askQueues carries out a verb and decodes its answer into result.
func (f *runnerFlags) askQueues(ctx context.Context, verb string, a runneradmin.Args, result any) error {
	open := f.look
	if verb != "list" && verb != "show" {
		open = f.alter
	}
	return open(ctx, func(j journalClient) error { return j.ask("runner-"+verb, a, result) })
}

func runnerListCommand(f *runnerFlags) *cobra.Command {
	var a runneradmin.Args
	c := &cobra.Command{
		Use:   "list QUEUE",
		Short: "List the messages of a queue by state",
		Long: `List the messages of a queue, which is named by its name or number: those that
wait, run or are tried again, or by --state the scheduled, dead or done ones. Done
ones are remembered only of a queue with a name.`,
		Example: `  wamble runner list mails
  wamble runner list mails --state done --json`,
		Args: oneArg("a queue"),
	}
	c.Flags().StringVar(&a.State, "state", "waiting", "waiting, scheduled, dead or done")
	c.Flags().Uint64Var(&a.From, "from", 0, "begin at this number")
	limitFlag(c, &a.Limit, "messages")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		var l runneradmin.List
		a.Queue = args[0]
		if err := f.askQueues(cmd.Context(), "list", a, &l); err != nil {
			return err
		}
		out := newListing(cmd, f.json, a.Limit, "NUMBER\tSTATE\tATTEMPTS\tID\tPAYLOAD\tERROR")
		for _, m := range l.Messages {
			out.add(m, fmt.Sprintf("%d\t%s\t%d\t%s\t%s\t%s", m.Number, m.State, m.Attempts, cell([]byte(m.ID)),
				cell([]byte(m.Payload)), cell([]byte(m.Error))))
		}
		out.more = l.Next != 0
		return out.print(a.State + " messages")
	}
	return c
}

func runnerShowCommand(f *runnerFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "show QUEUE ID",
		Short: "Print all that is known of a message, as JSON",
		Long: `Print all that is known of a message, as JSON: its state, its payload, and of a
queue with a name its last runs and its result.`,
		Example: "  wamble runner show mails order-9",
		Args:    everyArg([]string{"a queue", "the id of a message"}),
		RunE: func(cmd *cobra.Command, args []string) error {
			var m runneradmin.Message
			if err := f.askQueues(cmd.Context(), "show", runneradmin.Args{Queue: args[0], ID: args[1]},
				&m); err != nil {
				return err
			}
			return printJSON(cmd.OutOrStdout(), m)
		},
	}
}

func runnerRetryCommand(f *runnerFlags) *cobra.Command {
	return messageVerb(f, "retry", "is run next", &cobra.Command{
		Short: "Run a message now: one that waits for its next try, or a dead letter",
		Long: `Run a message now: one that waits for its time or for its next try waits no
longer, and a dead letter goes back to the tail of its queue, with fresh attempts. Of
the journal of a wamble server only dead letters are retried: see 'dead-letters'.`,
	})
}

func runnerDeleteCommand(f *runnerFlags) *cobra.Command {
	return messageVerb(f, "delete", "is deleted", &cobra.Command{
		Short: "Delete a message that does not run, for ever",
		Long: `Delete a message that waits, a scheduled one or a dead letter, for ever. Of the
journal of a wamble server only dead letters are deleted: see 'dead-letters'.`,
	})
}

// messageVerb sets up the command of a verb that changes one message.
func messageVerb(f *runnerFlags, verb, did string, c *cobra.Command) *cobra.Command {
	c.Use = verb + " QUEUE ID"
	c.Example = "  wamble runner " + verb + " mails order-9"
	c.Args = everyArg([]string{"a queue", "the id of a message"})
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return f.changeQueue(cmd, verb, runneradmin.Args{Queue: args[0], ID: args[1]}, strings.Join(args, " ")+" "+did)
	}
	return c
}

func runnerPauseCommand(f *runnerFlags) *cobra.Command {
	return queueVerb(f, "pause", "is paused", &cobra.Command{
		Short: "Run nothing more of a queue, until it is resumed",
		Long: `Run nothing more of a queue until 'wamble runner resume', after a restart too. What
runs is finished; posting goes on. The queue of a profile of a wamble server is what
goes to the database: players play on, as while the database is away.`,
	})
}

func runnerResumeCommand(f *runnerFlags) *cobra.Command {
	return queueVerb(f, "resume", "goes on", &cobra.Command{
		Short: "Let a queue that was paused go on",
		Long:  `Let a queue go on that 'wamble runner pause' or the page of the runner has paused.`,
	})
}

// queueVerb sets up the command of a verb that changes a queue.
func queueVerb(f *runnerFlags, verb, did string, c *cobra.Command) *cobra.Command {
	c.Use = verb + " QUEUE"
	c.Example = "  wamble runner " + verb + " mails"
	c.Args = oneArg("a queue")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return f.changeQueue(cmd, verb, runneradmin.Args{Queue: args[0]}, args[0]+" "+did)
	}
	return c
}

func (f *runnerFlags) changeQueue(cmd *cobra.Command, verb string, a runneradmin.Args, did string) error {
	var done runneradmin.Done
	if err := f.askQueues(cmd.Context(), verb, a, &done); err != nil {
		return err
	}
	if f.json {
		return printJSON(cmd.OutOrStdout(), done)
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), did)
	return err
}
