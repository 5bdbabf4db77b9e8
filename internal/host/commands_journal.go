package host

// journalCommands has the commands about the journal.
var journalCommands = []Command{
	{
		Name: "dead-letters", Doors: Socket | Console, Patience: quick, Args: []Arg{worker, number, limit, partNumber},
		Help: Help{Via: "runner dead-letters list"},
		Doc:  Doc{Text: "the first 100 dead letters, without tokens"},
		Do:   listDead,
	},
	{
		Name: "dead-letter-page", Doors: Socket, Patience: quick, Args: []Arg{letter, from, filter, partNumber},
		Help: Help{Via: "runner dead-letters export"},
		Doc:  Doc{Text: "whole dead letters, with their frames; they hold tokens, so the console does not show them"},
		Do:   pageDead,
	},
	{
		Name: "dead-letter-replay", Doors: Socket | Console, Changes: true, Role: Operate, Patience: slow, Args: []Arg{worker, number, filter, partNumber},
		Help: Help{Via: "runner dead-letters replay"},
		Page: Page{Form: Own},
		Doc:  Doc{`{"worker": 1, "number": 5}`, "puts a dead letter back into its inbox"},
		Do:   replayDead,
	},
	{
		Name: "dead-letter-drop", Doors: Socket | Console, Changes: true, Role: Operate, Patience: slow, Args: []Arg{worker, number, filter, partNumber},
		Help: Help{Via: "runner dead-letters drop"},
		Page: Page{Form: Own},
		Doc:  Doc{`{"worker": 1, "number": 5}`, "deletes a dead letter for ever"},
		Do:   dropDead,
	},
	{
		Name: "runner-stats", Doors: Socket, Patience: quick, Args: []Arg{partNumber},
		Help: Help{Via: "runner stat"},
		Doc:  Doc{Text: "what is in the journal; for people the page at `/console/runner/`"},
		Do:   lookAtJournal,
	},
	{
		Name: "runner-inbox", Doors: Socket, Patience: quick, Args: []Arg{worker, from, limit, partNumber},
		Help: Help{Via: "runner inbox"},
		Doc:  Doc{Text: "whole messages that wait, with their frames; they hold tokens, so the console does not show them"},
		Do:   pageInbox,
	},
	{
		Name: "runner-timers", Doors: Socket, Patience: quick, Args: []Arg{after, limit, partNumber},
		Help: Help{Via: "runner timers"},
		Doc:  Doc{Text: "the armed timers, the earliest first"},
		Do:   pageTimers,
	},
	{
		Name: "runner-list", Doors: Socket, Patience: quick, Args: []Arg{queueName, listState, from, limit, partNumber},
		Help: Help{Via: "runner list"},
		Doc:  Doc{Body: `{"queue": "1"}`, Text: "messages of a queue, without tokens"},
		Do:   desk("list"),
	},
	{
		Name: "runner-show", Doors: Socket, Patience: quick, Args: []Arg{queueName, listState, number, messageID, partNumber},
		Help: Help{Via: "runner show"},
		Doc:  Doc{Body: `{"queue": "1", "id": "i"}`, Text: "a message, without tokens"},
		Do:   desk("show"),
	},
	{
		Name: "runner-checkpoint", Doors: Socket, Patience: slow, Args: []Arg{directory, partNumber},
		Help: Help{Via: "runner checkpoint"},
		Doc:  Doc{Text: "a copy of the journal in a directory that does not exist yet"},
		Do:   checkpoint,
	},
	{
		Name: "backup-hold", Doors: Socket, Patience: quick, Args: []Arg{holdSeconds},
		Help: Help{Via: "backup"},
		Doc:  Doc{Body: `{"seconds": 60}`, Text: "keeps what leaves the journal for so long, for a backup"},
		Do:   holdMessages,
	},
	{
		Name: "runner-retry", Doors: Socket | Console, Changes: true, Role: Operate, Patience: slow, Args: []Arg{queueName, listState, number, messageID, allOf, partNumber},
		Help: Help{Via: "runner retry"},
		Page: Page{Form: Own},
		Doc:  Doc{`{"queue": "1", "state": "dead", "number": 5}`, "puts a dead letter back into its queue; with `all` all of them"},
		Do:   desk("retry"),
	},
	{
		Name: "runner-delete", Doors: Socket | Console, Changes: true, Role: Operate, Patience: slow, Args: []Arg{queueName, listState, number, messageID, allOf, partNumber},
		Help: Help{Via: "runner delete"},
		Page: Page{Form: Own},
		Doc:  Doc{`{"queue": "1", "state": "dead", "number": 5}`, "deletes a dead letter for ever; with `all` all of them"},
		Do:   desk("delete"),
	},
	{
		Name: "runner-pause", Doors: Socket | Console, Changes: true, Role: Operate, Patience: quick, Args: []Arg{queueName, partNumber},
		Help: Help{Via: "runner pause"},
		Page: Page{Form: Own},
		Doc:  Doc{`{"queue": "1"}`, "nothing more of a queue goes to the database, after a restart too; players play on as while the database is away"},
		Do:   desk("pause"),
	},
	{
		Name: "runner-resume", Doors: Socket | Console, Changes: true, Role: Operate, Patience: quick, Args: []Arg{queueName, partNumber},
		Help: Help{Via: "runner resume"},
		Page: Page{Form: Own},
		Doc:  Doc{`{"queue": "1"}`, "ends a pause"},
		Do:   desk("resume"),
	},
}
