// Package admin lets an operator look after a runner while it runs: a page for
// browsers that needs no script, and the same as JSON.
//
//	mux.Handle("/jobs/", http.StripPrefix("/jobs", admin.New(r, admin.Options{Allow: mayAdmin})))
//
// A [Desk] carries out the [Verbs]. It is an http.Handler, which asks
// [Options.Allow] about every request, and has [Desk.Do] for other ways to it.
//
//	GET  /            the page; queue, state, number, id and from choose what it shows
//	POST /act/VERB    a form of the page
//	GET  /api/VERB    a verb that changes nothing, its arguments in the query
//	POST /api/VERB    one that changes something, its arguments as JSON
//
// Links of the page are relative: it can be mounted anywhere, at a path that ends
// with a slash.
package admin

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"wamble/runner"
)

// Options of New.
type Options struct {
	// Allow reports whether a request may look, or change something. Without it
	// everything is refused. Loopback is one for programs on a machine of one's own.
	Allow func(r *http.Request, changes bool) bool
	// Refuse, if set, says why a change is not for this runner; what it refuses is
	// not offered.
	Refuse func(verb string, a Args) error
	// Around, if set, carries changes out that came by HTTP: it calls do, and may
	// write them down.
	Around func(r *http.Request, verb string, a Args, do func(context.Context) (any, error)) (any, error)
	// Show, if set, makes text of a payload. By default it is shown as it is if it is
	// printable, else in hex.
	Show func(m *runner.MessageInfo) string
	// Title, if set, says more of a queue than its name.
	Title func(queue string) string
	// Back is where the page leads back to; empty: nowhere.
	Back string
}

// Args are the arguments of verbs. Each takes some of them.
type Args struct {
	Queue string `json:"queue,omitempty"` // its name, or its number in digits
	// ID names a message, or Number one of a list: the inbox, or by State the
	// scheduled, dead or finished ones. Bytes that are not text are hex:… . An id that
	// several dead letters have names none of them for retry and delete.
	ID     string `json:"id,omitempty"`
	State  string `json:"state,omitempty"`
	Number uint64 `json:"number,omitempty"`
	From   uint64 `json:"from,omitempty"`  // list: the first number
	Limit  int    `json:"limit,omitempty"` // list: at most so many; default 50, at most 500
	All    bool   `json:"all,omitempty"`   // retry, delete: all dead letters of the queue
}

// The bounds of a list.
const (
	pageSize = 50
	maxPage  = 500
	maxShown = 64 << 10 // bytes of a payload
	maxCell  = 200      // bytes of one in a list
)

// Verb is something that an operator can do.
type Verb struct {
	Name    string
	Changes bool
	Help    string
	do      func(ctx context.Context, d *Desk, a Args) (any, error)
}

// Verbs is the closed list.
var Verbs = []Verb{
	{"stats", false, "what is in the runner, and what its workers have done", func(_ context.Context, d *Desk, _ Args) (any, error) { return d.stats(), nil }},
	{"list", false, "messages of a queue, by state", func(_ context.Context, d *Desk, a Args) (any, error) { return d.list(a) }},
	{"show", false, "one message and its runs", func(_ context.Context, d *Desk, a Args) (any, error) { return d.show(a) }},
	{"retry", true, "run a message now: one that waits, or a dead letter", func(ctx context.Context, d *Desk, a Args) (any, error) { return d.retry(ctx, a) }},
	{"delete", true, "delete a message that does not run", func(ctx context.Context, d *Desk, a Args) (any, error) { return d.delete(ctx, a) }},
	{"pause", true, "run nothing more of a queue, over restarts too", func(ctx context.Context, d *Desk, a Args) (any, error) {
		return done(1, d.r.PauseQueue(ctx, a.Queue))
	}},
	{"resume", true, "end a pause", func(ctx context.Context, d *Desk, a Args) (any, error) {
		return done(1, d.r.ResumeQueue(ctx, a.Queue))
	}},
	{"drain", true, "take nothing new into a queue and work it off", func(_ context.Context, d *Desk, a Args) (any, error) {
		return done(1, d.r.DrainQueue(a.Queue, true))
	}},
	{"fill", true, "end a drain", func(_ context.Context, d *Desk, a Args) (any, error) {
		return done(1, d.r.DrainQueue(a.Queue, false))
	}},
}

// Done is the answer to a change.
type Done struct {
	Count int `json:"count"`
}

func done(n int, err error) (any, error) { return Done{n}, err }

// Desk looks after one runner.
type Desk struct {
	r *runner.Runner
	o Options
	http.Handler
}

// New returns the desk of r.
func New(r *runner.Runner, o Options) *Desk {
	d := &Desk{r: r, o: o}
	d.Handler = d.routes()
	return d
}

// Do carries a verb out. Errors are those of the runner, and runner.ErrInvalid for
// arguments that make no sense.
func (d *Desk) Do(ctx context.Context, verb string, a Args) (any, error) {
	i := slices.IndexFunc(Verbs, func(v Verb) bool { return v.Name == verb })
	if i < 0 {
		return nil, fmt.Errorf("there is no %q: %w", verb, runner.ErrInvalid)
	}
	v := &Verbs[i]
	if v.Changes {
		if a.Queue == "" {
			return nil, fmt.Errorf("name a queue: %w", runner.ErrInvalid)
		}
		if verb == "retry" || verb == "delete" {
			if err := d.identify(verb, &a); err != nil {
				return nil, err
			}
		}
		if err := d.refused(verb, a); err != nil {
			return nil, err
		}
	}
	return v.do(ctx, d, a)
}

func (d *Desk) refused(verb string, a Args) error {
	if d.o.Refuse == nil {
		return nil
	}
	return d.o.Refuse(verb, a)
}

// Stats is the answer to "stats".
type Stats struct {
	State       string  `json:"state"`
	Journal     string  `json:"journal"`
	Starts      uint32  `json:"starts"`
	Timers      uint64  `json:"timers"`
	Outbox      uint64  `json:"outbox"`
	DeadLetters uint64  `json:"dead_letters"`
	Queues      []Queue `json:"queues"`
	// Schedules are what posts messages again and again; see runner.Every.
	Schedules []Schedule `json:"schedules"`
}

// Schedule is a name under which messages are posted at the times of Schedule. Skipped
// counts the times at which the last message still waited or ran.
type Schedule struct {
	Name     string    `json:"name"`
	Queue    string    `json:"queue"`
	Schedule string    `json:"schedule"`
	Next     time.Time `json:"next"`
	Last     time.Time `json:"last,omitzero"`
	Skipped  uint64    `json:"skipped"`
}

// Queue is a queue, and what its workers have done since the runner was opened.
type Queue struct {
	Name      string  `json:"name"`
	Title     string  `json:"title,omitempty"`
	Depth     uint64  `json:"depth"`
	Active    int     `json:"active"`
	Retrying  int     `json:"retrying"`
	Oldest    float64 `json:"oldest_seconds"`
	Paused    bool    `json:"paused"`
	Draining  bool    `json:"draining"`
	Successes uint64  `json:"successes"`
	Retries   uint64  `json:"retries"`
	Buried    uint64  `json:"dead_lettered"`
	Wait      float64 `json:"wait_mean_seconds"`
	Run       float64 `json:"run_mean_seconds"`
}

func (d *Desk) stats() Stats {
	s, metrics := d.r.Stats(), d.r.Metrics()
	v := Stats{
		State: s.State.String(), Journal: s.Journal.String(), Starts: s.Epoch, Timers: s.Timers,
		Outbox: s.Outbox, DeadLetters: s.DeadLetters, Queues: []Queue{}, Schedules: []Schedule{},
	}
	for _, x := range d.r.Schedules() {
		v.Schedules = append(v.Schedules, Schedule{x.Name, x.Queue, x.Schedule, x.Next, x.Last, x.Skipped})
	}
	for _, in := range s.Inboxes {
		m := metrics[in.Worker]
		q := Queue{
			Name: d.r.QueueName(in.Worker), Depth: in.Depth, Active: in.Leased, Retrying: in.Parked, Oldest: in.OldestAge.Seconds(),
			Paused: in.Paused, Draining: in.Draining, Successes: m.Successes, Retries: m.Requeues, Buried: m.DeadLetters,
			Wait: mean(&m.Waiting), Run: mean(&m.Latency),
		}
		if d.o.Title != nil {
			q.Title = d.o.Title(q.Name)
		}
		v.Queues = append(v.Queues, q)
	}
	return v
}

func mean(l *runner.Latency) float64 {
	if n := l.Count(); n > 0 {
		return l.Total.Seconds() / float64(n)
	}
	return 0
}

// Message is a message, without what is not known of it.
type Message struct {
	Queue    string    `json:"queue"`
	ID       string    `json:"id"`
	State    string    `json:"state"`
	Number   uint64    `json:"number"`
	High     bool      `json:"high,omitempty"`
	Attempts uint32    `json:"attempts"`
	Posted   time.Time `json:"posted,omitzero"`
	Due      time.Time `json:"due,omitzero"`
	Ended    time.Time `json:"ended,omitzero"`
	Error    string    `json:"error,omitempty"`
	Payload  string    `json:"payload,omitempty"`
	Result   string    `json:"result,omitempty"`
	Runs     []Run     `json:"runs,omitempty"`
}

// Run is a delivery that ended.
type Run struct {
	Ended time.Time `json:"ended"`
	Took  float64   `json:"took_seconds"`
	Error string    `json:"error,omitempty"`
}

// List is the answer to "list". Next is where the next page begins, 0 if there is
// none.
type List struct {
	Messages []Message `json:"messages"`
	Next     uint64    `json:"next,omitempty"`
	// More says that others follow, and there is no page of them: of what is scheduled
	// only the next that are due are listed.
	More bool `json:"more,omitempty"`
}

// lists are the lists of a queue; the first state of each names it.
var lists = []struct {
	state runner.MessageState
	title string
}{
	{runner.Waiting, "Waiting"}, {runner.Scheduled, "Scheduled"}, {runner.Dead, "Dead"}, {runner.Done, "Finished"},
}

// stateOf is the list that a state names; none names the first.
func stateOf(name string) (runner.MessageState, error) {
	if name == "" {
		return runner.Waiting, nil
	}
	state, err := runner.ParseMessageState(name)
	switch state {
	case runner.Active, runner.Retrying:
		state = runner.Waiting
	case runner.Deleted:
		state = runner.Done
	}
	return state, err
}

func (d *Desk) list(a Args) (List, error) {
	l := List{Messages: []Message{}}
	state, err := stateOf(a.State)
	if err != nil {
		return l, err
	}
	limit := min(max(a.Limit, 0), maxPage)
	if limit == 0 {
		limit = pageSize
	}
	found, err := d.r.Messages(a.Queue, state, a.From, limit+1)
	if err != nil {
		return l, err
	}
	if len(found) > limit {
		found = found[:limit]
		if l.More = state == runner.Scheduled; !l.More {
			l.Next = found[limit-1].Number + 1
		}
	}
	for i := range found {
		l.Messages = append(l.Messages, d.view(&found[i], maxCell))
	}
	return l, nil
}

func (d *Desk) show(a Args) (Message, error) {
	m, err := d.find(a)
	if err != nil {
		return Message{}, err
	}
	return d.view(&m, maxShown), nil
}

// find returns the message that is named.
func (d *Desk) find(a Args) (runner.MessageInfo, error) {
	id, err := parseID(a.ID)
	if err != nil || a.Number == 0 && id == "" {
		return runner.MessageInfo{}, errors.Join(err, fmt.Errorf("name a message: %w", runner.ErrInvalid))
	}
	if a.Number == 0 {
		return d.r.Message(a.Queue, id)
	}
	state, err := stateOf(a.State)
	if err != nil {
		return runner.MessageInfo{}, err
	}
	from, limit := a.Number, 1
	if state == runner.Scheduled {
		from, limit = 0, maxPage
	}
	found, err := d.r.Messages(a.Queue, state, from, limit)
	if err != nil {
		return runner.MessageInfo{}, err
	}
	for _, m := range found {
		if m.Number != a.Number {
			continue
		}
		// A history knows more, if it is of this very message.
		if known, err := d.r.Message(a.Queue, m.ID); err == nil && len(known.Runs) > 0 && known.Number == m.Number && known.State == m.State {
			m = known
		}
		return m, nil
	}
	return runner.MessageInfo{}, fmt.Errorf("message %d of queue %s: %w", a.Number, a.Queue, runner.ErrNotFound)
}

func (d *Desk) view(m *runner.MessageInfo, most int) Message {
	v := Message{
		Queue: m.Queue, ID: text([]byte(m.ID), most), State: m.State.String(), Number: m.Number, High: m.High, Attempts: m.Attempts,
		Posted: known(m.Posted), Due: known(m.Due), Ended: known(m.Ended), Error: m.Error, Result: text(m.Result, most),
	}
	if d.o.Show != nil {
		v.Payload = cut(d.o.Show(m), most)
	} else {
		v.Payload = text(m.Payload, most)
	}
	for _, run := range m.Runs {
		v.Runs = append(v.Runs, Run{run.Ended.UTC(), run.Took.Seconds(), run.Error})
	}
	return v
}

// known is t in UTC, or zero for the beginning of 1970, which nobody noted.
func known(t time.Time) time.Time {
	if t.IsZero() || t.UnixMilli() == 0 {
		return time.Time{}
	}
	return t.UTC()
}

const hexMark = "hex:"

// text shows bytes: as they are if they are printable, else in hex. What is longer
// than most bytes is cut.
func text(b []byte, most int) string {
	if s := string(b); printable(s) && !strings.HasPrefix(s, hexMark) {
		return cut(s, most)
	}
	return cut(hexMark+hex.EncodeToString(b[:min(len(b), most)]), most)
}

// parseID is the reverse of text.
func parseID(s string) (string, error) {
	digits, ok := strings.CutPrefix(s, hexMark)
	if !ok {
		return s, nil
	}
	b, err := hex.DecodeString(digits)
	if err != nil {
		return "", fmt.Errorf("id %q: %w", s, runner.ErrInvalid)
	}
	return string(b), nil
}

func printable(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if !unicode.IsPrint(r) && r != '\n' && r != '\t' && r != '\r' {
			return false
		}
	}
	return true
}

// cut shortens s to most bytes, between two characters.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}
