package admin

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"wamble/runner"
)

//go:embed page.html
var pageText string

var pages = template.Must(template.New("page").Funcs(template.FuncMap{
	"seconds": showSeconds, "count": showCount, "at": showTime, "line": oneLine, "dict": dict,
}).Parse(pageText))

// view is the content of the page: all queues, a list of one, a message, or a problem.
type view struct {
	Stats   *Stats
	Queue   string
	Here    *Queue // the data of Queue, on a list page
	Tabs    []tab
	List    *List
	State   string
	Find    string
	Next    string
	First   string
	Message *Message
	Problem string
	Did     string
	Reload  string
	Back    string
	refused func(verb string, a Args) error
}

// MayQueue reports whether a change of the queue is offered.
func (v *view) MayQueue(verb string) bool { return v.refused(verb, Args{Queue: v.Queue}) == nil }

// May reports whether a change of a message is offered.
func (v *view) May(verb string, m *Message) bool {
	return v.refused(verb, Args{Queue: m.Queue, State: m.State, Number: m.Number, ID: m.ID}) == nil
}

// tab is a link to a list of a queue.
type tab struct {
	Title, Link string
	Here        bool
}

// Link returns the link to a list of a queue.
func (v *view) Link(queue, state string) string {
	return "?" + url.Values{"queue": {queue}, "state": {state}}.Encode()
}

// To returns the link to a message.
func (v *view) To(m *Message) string {
	return "?" + url.Values{"queue": {m.Queue}, "state": {m.State},
		"number": {strconv.FormatUint(m.Number, 10)}}.Encode()
}

// Ready reports whether the runner accepts and runs everything.
func (v *view) Ready() bool { return v.Stats.State == runner.Running.String() }

func (h *Handler) page(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	a, err := queryArgs(q)
	v := &view{Queue: a.Queue, State: a.State}
	for _, known := range Verbs {
		if known.Name == q.Get("did") {
			v.Did = known.Name
		}
	}
	if q.Get("reload") != "" {
		v.Reload = "5"
	}
	switch {
	case err != nil:
	case a.Queue == "":
		s := h.stats()
		v.Stats = &s
	case a.Number != 0 || a.ID != "":
		var m Message
		m, err = h.show(a)
		m.Payload, m.Result = indent(m.Payload), indent(m.Result)
		v.Message = &m
	default:
		err = h.listPage(v, a)
	}
	if err != nil {
		h.render(w, codeOf(err), &view{Problem: err.Error(), Queue: a.Queue})
		return
	}
	h.render(w, http.StatusOK, v)
}

func (h *Handler) listPage(v *view, a Args) error {
	state, err := stateOf(a.State)
	if err != nil {
		return err
	}
	l, err := h.list(a)
	if err != nil {
		return err
	}
	v.List, v.State, v.Find = &l, state.String(), a.Find
	for _, t := range lists {
		v.Tabs = append(v.Tabs, tab{t.title, v.Link(a.Queue, t.state.String()), t.state == state})
	}
	if l.Next != 0 {
		v.Next = v.Link(a.Queue, v.State) + "&" + url.Values{"find": {a.Find}}.Encode() + "&from=" + strconv.FormatUint(l.Next, 10)
	}
	if a.From != 0 {
		v.First = v.Link(a.Queue, v.State)
	}
	s := h.stats()
	for i := range s.Queues {
		if s.Queues[i].Name == a.Queue {
			v.Here = &s.Queues[i]
		}
	}
	if v.Here == nil {
		v.Here = &Queue{Name: a.Queue}
	}
	return nil
}

func (h *Handler) render(w http.ResponseWriter, code int, v *view) {
	v.Back, v.refused = h.o.Back, h.refused
	var page bytes.Buffer
	if err := pages.Execute(&page, v); err != nil {
		http.Error(w, "the page cannot be drawn: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	w.Write(page.Bytes())
}

func showSeconds(s float64) string {
	switch d := time.Duration(s * float64(time.Second)); {
	case d == 0:
		return "–"
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < time.Second:
		return d.Round(100 * time.Microsecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	case d < 48*time.Hour:
		return strings.TrimSuffix(d.Round(time.Second).String(), "0s")
	default:
		return fmt.Sprintf("%d days", int(d.Hours()/24))
	}
}

// showCount formats a number with thousands separators.
func showCount(n any) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return s
}

func showTime(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// dict returns the arguments of a template as a map, from names and values.
func dict(pairs ...any) map[string]any {
	m := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	return m
}

// oneLine returns s with all white space as single spaces.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// indent formats JSON.
func indent(s string) string {
	var b bytes.Buffer
	if !strings.HasPrefix(s, "{") && !strings.HasPrefix(s, "[") || json.Indent(&b, []byte(s), "", "  ") != nil {
		return s
	}
	return b.String()
}
