package admin

import (
	"context"

	"wamble/runner"
)

// journalCommands has the commands about the journal.
var journalCommands = []Command{
	{
		Name: "dead-letters", Channels: Socket | Console, Patience: quick,
		Args: []Arg{worker, number, limit, partitionNumber},
		Help: Help{Via: "runner dead-letters list"},
		Doc:  Doc{Text: "the first 100 dead letters, without tokens"},
		Do:   listDead,
	},
	{
		Name: "dead-letter-page", Channels: Socket, Patience: quick, Args: []Arg{letter, from, filter, partitionNumber},
		Help: Help{Via: "runner dead-letters export"},
		Doc:  Doc{Text: "whole dead letters, with their frames; they hold tokens, so the console does not show them"},
		Do:   onJournal("which dead letters", pageDead),
	},
	{
		Name: "dead-letter-replay", Channels: Socket | Console, Changes: true, Role: Operate, Patience: slow,
		Args: []Arg{worker, number, filter, partitionNumber},
		Help: Help{Via: "runner dead-letters replay"},
		Page: Page{Form: Own},
		Doc:  Doc{`{"worker": 1, "number": 5}`, "puts a dead letter back into its inbox"},
		Do:   onJournal("which dead letter", replayDead),
	},
	{
		Name: "dead-letter-drop", Channels: Socket | Console, Changes: true, Role: Operate, Patience: slow,
		Args: []Arg{worker, number, filter, partitionNumber},
		Help: Help{Via: "runner dead-letters drop"},
		Page: Page{Form: Own},
		Doc:  Doc{`{"worker": 1, "number": 5}`, "deletes a dead letter for ever"},
		Do:   onJournal("which dead letter", dropDead),
	},
	{
		Name: "runner-stats", Channels: Socket, Patience: quick, Args: []Arg{partitionNumber},
		Help: Help{Via: "runner stat"},
		Doc:  Doc{Text: "what is in the journal; for people the page at `/console/runner/`"},
		Do: onJournal("which journal", func(_ context.Context, _ *Host, r *runner.Runner, _ struct{}) (any, error) {
			return journalStats(r), nil
		}),
	},
	{
		Name: "runner-inbox", Channels: Socket, Patience: quick, Args: []Arg{worker, from, limit, partitionNumber},
		Help: Help{Via: "runner inbox"},
		Doc: Doc{Text: "whole messages that wait, with their frames; they hold tokens, so the console does not show " +
			"them"},
		Do: onJournal("which inbox", pageInbox),
	},
	{
		Name: "runner-timers", Channels: Socket, Patience: quick, Args: []Arg{after, limit, partitionNumber},
		Help: Help{Via: "runner timers"},
		Doc:  Doc{Text: "the armed timers, the earliest first"},
		Do:   onJournal("how many timers", pageTimers),
	},
	{
		Name: "runner-list", Channels: Socket, Patience: quick,
		Args: []Arg{queueName, listState, from, limit, partitionNumber},
		Help: Help{Via: "runner list"},
		Doc:  Doc{Body: `{"queue": "1"}`, Text: "messages of a queue, without tokens"},
		Do:   journalAdmin("list"),
	},
	{
		Name: "runner-show", Channels: Socket, Patience: quick,
		Args: []Arg{queueName, listState, number, messageID, partitionNumber},
		Help: Help{Via: "runner show"},
		Doc:  Doc{Body: `{"queue": "1", "id": "i"}`, Text: "a message, without tokens"},
		Do:   journalAdmin("show"),
	},
	{
		Name: "runner-checkpoint", Channels: Socket, Patience: slow, Args: []Arg{directory, partitionNumber},
		Help: Help{Via: "runner checkpoint"},
		Doc:  Doc{Text: "a copy of the journal in a directory that does not exist yet"},
		Do:   onJournal("where to", checkpoint),
	},
	{
		Name: "backup-hold", Channels: Socket, Patience: quick, Args: []Arg{pinSeconds},
		Help: Help{Via: "backup"},
		Doc:  Doc{Body: `{"seconds": 60}`, Text: "keeps what leaves the journal for so long, for a backup"},
		Do:   pinMessages,
	},
	{
		Name: "runner-retry", Channels: Socket | Console, Changes: true, Role: Operate, Patience: slow,
		Args: []Arg{queueName, listState, number, messageID, allRows, partitionNumber},
		Help: Help{Via: "runner retry"},
		Page: Page{Form: Own},
		Doc: Doc{
			`{"queue": "1", "state": "dead", "number": 5}`,
			"puts a dead letter back into its queue; with `all` all of them",
		},
		Do: journalAdmin("retry"),
	},
	{
		Name: "runner-delete", Channels: Socket | Console, Changes: true, Role: Operate, Patience: slow,
		Args: []Arg{queueName, listState, number, messageID, allRows, partitionNumber},
		Help: Help{Via: "runner delete"},
		Page: Page{Form: Own},
		Doc: Doc{
			`{"queue": "1", "state": "dead", "number": 5}`, "deletes a dead letter for ever; with `all` all of them",
		},
		Do: journalAdmin("delete"),
	},
	{
		Name: "runner-pause", Channels: Socket | Console, Changes: true, Role: Operate, Patience: quick,
		Args: []Arg{queueName, partitionNumber},
		Help: Help{Via: "runner pause"},
		Page: Page{Form: Own},
		Doc: Doc{`{"queue": "1"}`, "nothing more of a queue goes to the database, after a restart too; players play " +
			"on as while the database is away"},
		Do: journalAdmin("pause"),
	},
	{
		Name: "runner-resume", Channels: Socket | Console, Changes: true, Role: Operate, Patience: quick,
		Args: []Arg{queueName, partitionNumber},
		Help: Help{Via: "runner resume"},
		Page: Page{Form: Own},
		Doc:  Doc{`{"queue": "1"}`, "ends a pause"},
		Do:   journalAdmin("resume"),
	},
}
