package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"wamble/internal/journal"
	"wamble/internal/store"
	"wamble/runner"
	runneradmin "wamble/runner/admin"
)

// The host administers the journal of a running server by the commands below at the control
// socket, and on the runner's pages in the console.

// journalAdminPath is the console's path of the runner's pages.
const journalAdminPath = "/console/runner"

// journalAdminOf makes the handler of a partition of the journal; -1 if there is only one. A change on
// its pages is carried out as the command with the same name, and so recorded in the audit
// log.
func (h *Host) journalAdminOf(r *runner.Runner, part int) *runneradmin.Handler {
	refuse, show := keepOrder, showPayload
	if h.foreign {
		refuse, show = nil, nil
	}
	return runneradmin.New(r, runneradmin.Options{
		Allow: func(r *http.Request, changes bool) bool { // the console has checked the token
			return !changes || actorOf(r.Context()).Role >= Operate
		},
		Refuse: refuse, Show: show, Title: h.queueTitle(r, part), Back: "/console/",
		Around: func(r *http.Request, verb string, a runneradmin.Args, _ func(context.Context) (any, error)) (any,
			error) {
			c := h.command("runner-" + verb)
			if c == nil {
				return nil, fmt.Errorf("there is no command for %s: %w", verb, runneradmin.ErrRefused)
			}
			args, err := json.Marshal(struct {
				runneradmin.Args
				partitionChoice
			}{a, partitionChoice{partitionPointer(part)}})
			if err != nil {
				return nil, err
			}
			ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), c.Patience)
			defer cancel()
			return h.doAudited(ctx, c, Call{Args: args}, actorOf(r.Context()).from(r.RemoteAddr))
		},
	})
}

// keepOrder returns why the journal's handler refuses a verb: messages that are not dead
// letters keep their order, and the journal is not closed for new messages.
func keepOrder(verb string, a runneradmin.Args) error {
	switch {
	case verb == "drain" || verb == "fill":
		return fmt.Errorf("the journal takes what players do: 'wamble brownout read-only' stops that, a drain is %w",
			runneradmin.ErrRefused)
	case (verb == "retry" || verb == "delete") && a.State != runner.Dead.String():
		return fmt.Errorf("only dead letters leave the journal's order, a change of another message is %w",
			runneradmin.ErrRefused)
	}
	return nil
}

// showPayload returns the intents of a message as JSON, without tokens. Of a message that
// holds no intents it returns the size alone, because tokens may be in it.
func showPayload(m *runner.MessageInfo) string {
	views, err := journal.Show(&runner.Message{ID: []byte(m.ID), Payload: m.Payload})
	if err != nil {
		return fmt.Sprintf("%d bytes", len(m.Payload))
	}
	text, err := json.Marshal(views)
	if err != nil {
		return views.String()
	}
	return string(text)
}

// queueTitle returns a function that names the profile of a queue, and the shard if the
// journal has several of the profile.
func (h *Host) queueTitle(r *runner.Runner, part int) func(queue string) string {
	number := func(profile string, shard int) string {
		if n, ok := journal.NumberOf(r, store.ShardName(profile, shard)); ok {
			return fmt.Sprint(n)
		}
		return ""
	}
	return func(queue string) string {
		for _, p := range h.RunningProfiles() {
			several := part < 0 && number(p.Name, 1) != ""
			for shard := max(part, 0); ; shard++ {
				n := number(p.Name, shard)
				if n == queue && several {
					return fmt.Sprintf("profile %s, shard %d", p.Name, shard)
				}
				if n == queue {
					return "profile " + p.Name
				}
				if n == "" || part >= 0 {
					break
				}
			}
		}
		return ""
	}
}

// onJournal returns a Command.Do that decodes its arguments, and passes them on with the journal, or the partition of
// it, that they name. An error begins with what.
func onJournal[A any](what string,
	do func(context.Context, *Host, *runner.Runner, A) (any, error)) func(context.Context, *Host, *Call) (any, error) {
	return func(ctx context.Context, h *Host, c *Call) (any, error) {
		var a A
		if len(c.Args) > 0 {
			if err := json.Unmarshal(c.Args, &a); err != nil {
				return nil, fmt.Errorf("%s: %w", what, err)
			}
		}
		r, err := h.journal(c.Args)
		if err != nil {
			return nil, err
		}
		return do(ctx, h, r, a)
	}
}

// journalAdmin returns a Command.Do that carries out a verb of the handler.
func journalAdmin(verb string) func(context.Context, *Host, *Call) (any, error) {
	return onJournal("which message or queue",
		func(ctx context.Context, h *Host, r *runner.Runner, a runneradmin.Args) (any, error) {
			return h.journalAdminOf(r, -1).Do(ctx, verb, a)
		})
}

// AskJournal carries out a command about a journal that this process has opened. Ask does the
// same for the journal of a running server.
func AskJournal(ctx context.Context, r *runner.Runner, command string, args, result any) error {
	i := slices.IndexFunc(journalCommands, func(c Command) bool { return c.Name == command })
	if i < 0 {
		return fmt.Errorf("there is no command %s", command)
	}
	text, err := json.Marshal(args)
	if err != nil {
		return err
	}
	h := &Host{foreign: !journal.Used(r), API: API{
		Runner: r, Log: slog.New(slog.DiscardHandler), RunningProfiles: func() []RunningProfile { return nil },
	}}
	answer, err := journalCommands[i].Do(ctx, h, &Call{Args: text})
	if err != nil {
		return err
	}
	if text, err = json.Marshal(answer); err != nil {
		return err
	}
	return json.Unmarshal(text, result)
}

// InboxPage asks for rows of a worker's inbox from a number on, or for timers after
// another one.
type InboxPage struct {
	Worker uint64 `json:"worker"`
	From   uint64 `json:"from,omitempty"`
	Limit  int    `json:"limit,omitempty"` // most rows; 1000 if 0

	After runner.TimerID `json:"after,omitzero"` // only for timers
}

// CheckpointTo asks for a copy of the journal. The directory must not exist yet.
type CheckpointTo struct {
	Dir string `json:"dir"`
}

// The arguments of commands about the journal.
var (
	queueName = Arg{Name: "queue", Kind: Text}
	messageID = Arg{Name: "id", Kind: Text}
	listState = Arg{Name: "state", Kind: Text}
	allRows   = Arg{Name: "all", Kind: Switch}
	directory = Arg{Name: "dir", Kind: Text}
	after     = Arg{Name: "after", Kind: Object}

	pinSeconds = Arg{Name: "seconds", Kind: Number}
)

func pageInbox(_ context.Context, _ *Host, r *runner.Runner, p InboxPage) (any, error) {
	rows, err := r.Inbox(p.Worker, p.From, p.limit())
	return firstBytes(rows, func(row *runner.InboxRow) []byte { return row.Frame }), err
}

func pageTimers(_ context.Context, _ *Host, r *runner.Runner, p InboxPage) (any, error) {
	timers, err := r.Timers(p.After, p.limit())
	return firstBytes(timers, func(t *runner.ArmedTimer) []byte { return t.Frame }), err
}

func (p InboxPage) limit() int {
	if p.Limit <= 0 {
		return mostDead
	}
	return min(p.Limit, mostDead)
}

// firstBytes returns the first rows, at least one, whose frames have at most mostDeadBytes.
func firstBytes[T any](rows []T, frame func(*T) []byte) []T {
	size := 0
	for i := range rows {
		if size += len(frame(&rows[i])); size > mostDeadBytes && i > 0 {
			return rows[:i]
		}
	}
	return rows
}

func checkpoint(_ context.Context, h *Host, r *runner.Runner, to CheckpointTo) (any, error) {
	if !filepath.IsAbs(to.Dir) {
		return nil, fmt.Errorf("the directory of a checkpoint is named from the root on, not %q", to.Dir)
	}
	h.Log.Info("a checkpoint of the journal", "dir", to.Dir)
	if err := r.Checkpoint(to.Dir); errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("%w\nThe server makes the copy, as its own user: name a directory where that one may "+
			"write, such as %s", err, filepath.Join(h.Dir, "checkpoint"))
	} else if err != nil {
		return nil, err
	}
	return journalStats(r), nil
}

// PinFor asks a server to keep messages that leave the journal for some time.
type PinFor struct {
	Seconds int `json:"seconds"` // 1 to 3600
}

func pinMessages(_ context.Context, h *Host, c *Call) (any, error) {
	var f PinFor
	if err := json.Unmarshal(c.Args, &f); err != nil || f.Seconds < 1 || f.Seconds > 3600 {
		return nil, fmt.Errorf("messages are kept for 1 to 3600 seconds, not %d", f.Seconds)
	}
	h.PinMessages(time.Now().Add(time.Duration(f.Seconds) * time.Second))
	return struct{}{}, nil
}

// journalStats returns the statistics of a journal. A due time that JSON cannot encode is
// left out.
func journalStats(r *runner.Runner) runner.Stats {
	s := r.Stats()
	if year := s.NextDue.Year(); year < 0 || year > 9999 {
		s.NextDue = time.Time{}
	}
	return s
}
