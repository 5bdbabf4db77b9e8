// Package admin lets an operator manage a running runner: by a page for browsers that needs no
// script, and by the same operations as JSON.
//
//	mux.Handle("/jobs/", http.StripPrefix("/jobs", admin.New(r, admin.Options{Allow: mayAdmin})))
//
// A [Handler] executes the [Verbs]. It is an http.Handler, which asks [Options.Allow] about every
// request, and has [Handler.Do] for other callers.
//
//	GET  /            the page; queue, state, number, id and from select its content
//	POST /act/VERB    a form of the page
//	GET  /api/VERB    a verb that changes nothing, with its arguments in the query
//	POST /api/VERB    a verb with changes, with its arguments as JSON
//
// Links of the page are relative: it can be mounted at any path that ends with a slash.
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
	// Allow reports whether a request may read, or change something. If it is nil, all requests
	// are refused. Loopback allows local programs.
	Allow func(r *http.Request, changes bool) bool
	// Refuse, if set, returns why a change is not possible in this runner; such changes are not
	// offered.
	Refuse func(verb string, a Args) error
	// Around, if set, wraps changes that come by HTTP: it calls do, and may log the change.
	Around func(r *http.Request, verb string, a Args, do func(context.Context) (any, error)) (any, error)
	// Show, if set, formats a payload. By default a printable payload is shown as text, any
	// other in hex.
	Show func(m *runner.MessageInfo) string
	// Title, if set, returns a longer description of a queue.
	Title func(queue string) string
	// Back is the target of the page's back link; empty for none.
	Back string
}

// Args are the arguments of verbs. Each verb uses some of them.
type Args struct {
	Queue string `json:"queue,omitempty"` // name, or number in decimal digits
	// ID or Number identifies a message. Number is one in the list that State selects: the
	// inbox, the scheduled, dead or finished messages. Bytes that are not text are written
	// hex:… . For retry and delete, an id that several dead letters have identifies none of
	// them.
	ID     string `json:"id,omitempty"`
	State  string `json:"state,omitempty"`
	Number uint64 `json:"number,omitempty"`
	From   uint64 `json:"from,omitempty"`  // list: the first number
	Limit  int    `json:"limit,omitempty"` // list: at most this many; default 50, at most 500
	All    bool   `json:"all,omitempty"`   // retry, delete: all dead letters of the queue
	// Find selects messages whose id, error or payload contains it, as they are shown: for list, and
	// for retry and delete with All.
	Find     string `json:"find,omitempty"`
	Schedule string `json:"schedule,omitempty"` // the name of a schedule
}

// The bounds of a list.
const (
	pageSize = 50
	maxPage  = 500
	maxShown = 64 << 10 // bytes of a shown payload
	maxCell  = 200      // bytes of a payload in a list
	maxLooks = 10_000   // messages that a list with Find looks at
	maxDead  = 1000     // dead letters of a queue that are counted
)

// Verb is an operation for an operator.
type Verb struct {
	Name    string
	Changes bool
	Help    string
	do      func(ctx context.Context, h *Handler, a Args) (any, error)
}

// Verbs are all verbs.
var Verbs = []Verb{
	{"stats", false, "what is in the runner, and what its workers have done", func(_ context.Context, h *Handler, _ Args) (any, error) { return h.stats(), nil }},
	{"list", false, "messages of a queue, by state", func(_ context.Context, h *Handler, a Args) (any, error) { return h.list(a) }},
	{"show", false, "one message and its runs", func(_ context.Context, h *Handler, a Args) (any, error) { return h.show(a) }},
	{"retry", true, "run a message now: one that waits, or a dead letter", func(ctx context.Context, h *Handler, a Args) (any, error) { return h.retry(ctx, a) }},
	{"delete", true, "delete a message that does not run", func(ctx context.Context, h *Handler, a Args) (any, error) { return h.delete(ctx, a) }},
	{"run-schedule", true, "post the message of a schedule now", func(ctx context.Context, h *Handler, a Args) (any, error) {
		return done(1, h.r.RunSchedule(ctx, a.Schedule))
	}},
	{"delete-schedule", true, "end a schedule", func(ctx context.Context, h *Handler, a Args) (any, error) {
		return done(1, h.r.DeleteSchedule(ctx, a.Schedule))
	}},
	{"pause", true, "run nothing more of a queue, over restarts too",
		func(ctx context.Context, h *Handler, a Args) (any, error) {
			return done(1, h.r.PauseQueue(ctx, a.Queue))
		}},
	{"resume", true, "end a pause", func(ctx context.Context, h *Handler, a Args) (any, error) {
		return done(1, h.r.ResumeQueue(ctx, a.Queue))
	}},
	{"drain", true, "take nothing new into a queue and work it off",
		func(_ context.Context, h *Handler, a Args) (any, error) {
			return done(1, h.r.DrainQueue(a.Queue, true))
		}},
	{"fill", true, "end a drain", func(_ context.Context, h *Handler, a Args) (any, error) {
		return done(1, h.r.DrainQueue(a.Queue, false))
	}},
}

// Done is the result of a change.
type Done struct {
	Count int `json:"count"`
}

func done(n int, err error) (any, error) { return Done{n}, err }

// Handler manages one runner.
type Handler struct {
	r *runner.Runner
	o Options
	http.Handler
}

// New returns a Handler for r.
func New(r *runner.Runner, o Options) *Handler {
	h := &Handler{r: r, o: o}
	h.Handler = h.routes()
	return h
}

// Do executes a verb. Errors are those of the runner, and runner.ErrInvalid for invalid
// arguments.
func (h *Handler) Do(ctx context.Context, verb string, a Args) (any, error) {
	i := slices.IndexFunc(Verbs, func(v Verb) bool { return v.Name == verb })
	if i < 0 {
		return nil, fmt.Errorf("there is no %q: %w", verb, runner.ErrInvalid)
	}
	v := &Verbs[i]
	if v.Changes {
		if a.Queue == "" && a.Schedule == "" {
			return nil, fmt.Errorf("name a queue: %w", runner.ErrInvalid)
		}
		if verb == "retry" || verb == "delete" {
			if err := h.identify(verb, &a); err != nil {
				return nil, err
			}
		}
		if err := h.refused(verb, a); err != nil {
			return nil, err
		}
	}
	return v.do(ctx, h, a)
}

func (h *Handler) refused(verb string, a Args) error {
	if h.o.Refuse == nil {
		return nil
	}
	return h.o.Refuse(verb, a)
}

// Stats is the result of "stats".
type Stats struct {
	State       string `json:"state"`
	Journal     string `json:"journal"`
	Starts      uint32 `json:"starts"`
	Timers      uint64 `json:"timers"`
	Outbox      uint64 `json:"outbox"`
	DeadLetters uint64 `json:"dead_letters"`
	// Lost is how many acknowledged writes were missing when the storage was opened.
	Lost   uint64  `json:"lost,omitempty"`
	Queues []Queue `json:"queues"`
	// Schedules are the schedules, see runner.Every.
	Schedules []Schedule `json:"schedules"`
}

// Schedule is a named schedule that posts messages. Skipped counts the times at which the last
// message still waited or ran.
type Schedule struct {
	Name     string    `json:"name"`
	Queue    string    `json:"queue"`
	Schedule string    `json:"schedule"`
	Next     time.Time `json:"next"`
	Last     time.Time `json:"last,omitzero"`
	Skipped  uint64    `json:"skipped"`
	// Declared says that the program has declared it since its start.
	Declared bool `json:"declared"`
}

// Queue is a queue, with the counters of its workers since the runner was opened. Waiting, Active
// and Retrying add up to Depth. Dead is the number of its dead letters, at most 1,000.
type Queue struct {
	Name      string  `json:"name"`
	Title     string  `json:"title,omitempty"`
	Depth     uint64  `json:"depth"`
	Waiting   int     `json:"waiting"`
	Active    int     `json:"active"`
	Retrying  int     `json:"retrying"`
	Oldest    float64 `json:"oldest_seconds"`
	Paused    bool    `json:"paused"`
	Draining  bool    `json:"draining"`
	Successes uint64  `json:"successes"`
	Retries   uint64  `json:"retries"`
	Dead      int     `json:"dead"`
	Buried    uint64  `json:"dead_lettered"`
	Wait      float64 `json:"wait_mean_seconds"`
	Run       float64 `json:"run_mean_seconds"`
}

func (h *Handler) stats() Stats {
	s, metrics := h.r.Stats(), h.r.Metrics()
	v := Stats{
		State: s.State.String(), Journal: s.Journal.String(), Starts: s.Epoch, Timers: s.Timers,
		Outbox: s.Outbox, DeadLetters: s.DeadLetters, Lost: s.Lost, Queues: []Queue{}, Schedules: []Schedule{},
	}
	for _, x := range h.r.Schedules() {
		v.Schedules = append(v.Schedules, Schedule{x.Name, x.Queue, x.Schedule, x.Next, x.Last, x.Skipped, x.Declared})
	}
	for _, in := range s.Inboxes {
		m := metrics[in.Worker]
		q := Queue{
			Name: h.r.QueueName(in.Worker), Depth: in.Depth, Active: in.Running, Retrying: in.Parked,
			Waiting: max(0, int(in.Depth)-in.Running-in.Parked), Dead: h.countDead(in.Worker),
			Oldest: in.OldestAge.Seconds(),
			Paused: in.Paused, Draining: in.Draining, Successes: m.Successes, Retries: m.Requeues,
			Buried: m.DeadLetters,
			Wait:   mean(&m.Waiting), Run: mean(&m.Latency),
		}
		if h.o.Title != nil {
			q.Title = h.o.Title(q.Name)
		}
		v.Queues = append(v.Queues, q)
	}
	return v
}

// countDead returns how many dead letters a queue has, at most maxDead.
func (h *Handler) countDead(queue uint64) (n int) {
	// An error occurs again when the dead letters are listed.
	_ = h.r.EachDeadLetter(runner.DeadFilter{Worker: queue, HasWorker: true}, runner.Row{},
		func(runner.DeadLetter) bool { n++; return n < maxDead })
	return n
}

func mean(l *runner.Latency) float64 {
	if n := l.Count(); n > 0 {
		return l.Total.Seconds() / float64(n)
	}
	return 0
}

// Message is a message; unknown fields are empty.
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

// Run is a delivery that has ended.
type Run struct {
	Ended time.Time `json:"ended"`
	Took  float64   `json:"took_seconds"`
	Error string    `json:"error,omitempty"`
}

// List is the result of "list". Next is the begin of the next page, 0 if there is none.
type List struct {
	Messages []Message `json:"messages"`
	Next     uint64    `json:"next,omitempty"`
	// More says that there are further messages without a page: of scheduled messages only the
	// earliest are listed.
	More bool `json:"more,omitempty"`
}

// lists are the lists of a queue; the first state of each identifies it.
var lists = []struct {
	state runner.MessageState
	title string
}{
	{runner.Waiting, "Waiting"}, {runner.Scheduled, "Scheduled"}, {runner.Dead, "Dead"}, {runner.Done, "Finished"},
}

// stateOf returns the list of a state; "" is the first list.
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

func (h *Handler) list(a Args) (List, error) {
	l := List{Messages: []Message{}}
	state, err := stateOf(a.State)
	if err != nil {
		return l, err
	}
	limit := min(max(a.Limit, 0), maxPage)
	if limit == 0 {
		limit = pageSize
	}
	found, next, err := h.search(a, state, limit+1)
	if err != nil {
		return l, err
	}
	l.Next = next
	if len(found) > limit {
		found = found[:limit]
		if l.More = state == runner.Scheduled; !l.More {
			l.Next = found[limit-1].Number + 1
		}
	}
	for i := range found {
		l.Messages = append(l.Messages, h.view(&found[i], maxCell))
	}
	return l, nil
}

// search returns up to limit messages that contain a.Find. next is where the next page begins if
// it has looked at maxLooks messages and there may be more.
func (h *Handler) search(a Args, state runner.MessageState, limit int) (found []runner.MessageInfo, next uint64,
	err error) {
	if a.Find == "" {
		found, err = h.r.Messages(a.Queue, state, a.From, limit)
		return found, 0, err
	}
	for looks, from := 0, a.From; ; {
		page, err := h.r.Messages(a.Queue, state, from, maxPage)
		for i := range page {
			if v := h.view(&page[i], maxShown); len(found) < limit && v.contains(a.Find) {
				found = append(found, page[i])
			}
		}
		looks += len(page)
		if err != nil || len(found) == limit || len(page) < maxPage || state == runner.Scheduled {
			return found, 0, err
		}
		if from = page[len(page)-1].Number + 1; looks >= maxLooks {
			return found, from, nil
		}
	}
}

// contains reports whether the id, the error or the payload has a text.
func (m *Message) contains(s string) bool {
	return strings.Contains(m.ID, s) || strings.Contains(m.Error, s) || strings.Contains(m.Payload, s)
}

func (h *Handler) show(a Args) (Message, error) {
	m, err := h.find(a)
	if err != nil {
		return Message{}, err
	}
	return h.view(&m, maxShown), nil
}

// find returns the message that the arguments identify.
func (h *Handler) find(a Args) (runner.MessageInfo, error) {
	id, err := parseID(a.ID)
	if err != nil || a.Number == 0 && id == "" {
		return runner.MessageInfo{}, errors.Join(err, fmt.Errorf("name a message: %w", runner.ErrInvalid))
	}
	if a.Number == 0 {
		return h.r.Message(a.Queue, id)
	}
	state, err := stateOf(a.State)
	if err != nil {
		return runner.MessageInfo{}, err
	}
	from, limit := a.Number, 1
	if state == runner.Scheduled {
		from, limit = 0, maxPage
	}
	found, err := h.r.Messages(a.Queue, state, from, limit)
	if err != nil {
		return runner.MessageInfo{}, err
	}
	for _, m := range found {
		if m.Number != a.Number {
			continue
		}
		// The history has more, if it is of this very message.
		if known, err := h.r.Message(a.Queue, m.ID); err == nil && len(known.Runs) > 0 && known.Number == m.Number &&
			known.State == m.State {
			m = known
		}
		return m, nil
	}
	return runner.MessageInfo{}, fmt.Errorf("message %d of queue %s: %w", a.Number, a.Queue, runner.ErrNotFound)
}

func (h *Handler) view(m *runner.MessageInfo, most int) Message {
	v := Message{
		Queue: m.Queue, ID: text([]byte(m.ID), most), State: m.State.String(), Number: m.Number, High: m.High,
		Attempts: m.Attempts,
		Posted:   known(m.Posted), Due: known(m.Due), Ended: known(m.Ended), Error: m.Error, Result: text(m.Result, most),
	}
	if h.o.Show != nil {
		v.Payload = cut(h.o.Show(m), most)
	} else {
		v.Payload = text(m.Payload, most)
	}
	for _, run := range m.Runs {
		v.Runs = append(v.Runs, Run{run.Ended.UTC(), run.Took.Seconds(), run.Error})
	}
	return v
}

// known returns t in UTC, or zero for the start of 1970, which means unknown.
func known(t time.Time) time.Time {
	if t.IsZero() || t.UnixMilli() == 0 {
		return time.Time{}
	}
	return t.UTC()
}

const hexMark = "hex:"

// text returns bytes as text if they are printable, else in hex, cut to most bytes.
func text(b []byte, most int) string {
	if s := string(b); printable(s) && !strings.HasPrefix(s, hexMark) {
		return cut(s, most)
	}
	return cut(hexMark+hex.EncodeToString(b[:min(len(b), most)]), most)
}

// parseID is the inverse of text.
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

// cut shortens s to at most most bytes, between two characters.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}
