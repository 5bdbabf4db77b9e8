package journal

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"wamble"
	"wamble/internal/intent"
)

// observer calls functions, which may be nil.
type observer struct {
	feedGrown func()
	wants     *bool // nil: it wants no events
	events    func(after, through uint64, list []Event)
	hold      func(until uint64, from time.Time)
}

func (o observer) WantsEvents(uint64) bool                    { return o.wants != nil && *o.wants }
func (o observer) Events(after, through uint64, list []Event) { o.events(after, through, list) }
func (o observer) HoldEvents(until uint64, from time.Time) {
	if o.hold != nil {
		o.hold(until, from)
	}
}
func (o observer) FeedGrown() {
	if o.feedGrown != nil {
		o.feedGrown()
	}
}

// TestObserversRecall: no event is sent while nobody observes; an observer who comes, after a
// start or a pause, is sent what was retained, and then every message once. If a batch is on
// its way just then, all of it is sent at once.
func TestObserversRecall(t *testing.T) {
	r, db := openRunner(t), &fakeStore{}
	keep := RetainOptions{Dir: t.TempDir(), Age: time.Hour, Bytes: 1 << 20}
	var told []uint64
	var through uint64
	calls, here := 0, false
	open := func() *Drain {
		d, _ := keeping(t, r, db, keep)
		d.o.Observer = observer{wants: &here, events: func(after, to uint64, list []Event) {
			calls++
			if len(told) > 0 && after != through {
				t.Errorf("told behind %d after %d", after, through)
			}
			through = to
			for _, h := range list {
				told = append(told, h.Seq)
			}
		}}
		return d
	}
	check := func(when string, want ...uint64) {
		t.Helper()
		if !slices.Equal(told, want) {
			t.Errorf("%s: told %v, want %v", when, told, want)
		}
		told = nil
	}
	d := open()
	ply := 0
	play := func(n int) {
		for range n {
			ply++
			post(t, r, d, move(1, ply))
			empty(t, d)
		}
	}
	play(3)
	check("nobody is there")
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = open()
	d.beginEvents()
	d.checkObserver(t.Context(), d.eventsBefore)
	check("nobody is there after a start")
	play(1)
	here = true
	d.checkObserver(t.Context(), d.eventsBefore)
	check("who comes in silence", 1, 2, 3, 4)
	d.checkObserver(t.Context(), d.eventsBefore)
	check("and stays")
	play(1)
	check("with the next move", 5)
	here = false
	play(1)
	check("the observer leaves")
	here, calls = true, 0
	play(1)
	check("who comes with a move", 1, 2, 3, 4, 5, 6, 7)
	if calls != 1 {
		t.Errorf("who comes with a move is told in %d parts: others may go on between them", calls)
	}
}

// TestOtherShardsWait: events of other shards wait before the store gets a batch, and when a
// drain starts with messages left, which the store may have.
func TestOtherShardsWait(t *testing.T) {
	r, db := openRunner(t), &fakeStore{}
	var steps []string
	open := func() *Drain {
		d, err := NewDrain(t.Context(), r, db, DrainOptions{
			Profile: "blue", Limits: Limits{Intents: 4, Bytes: 1 << 20},
			Observer: observer{wants: new(true),
				hold: func(until uint64, from time.Time) {
					at := "all"
					if !from.IsZero() {
						at = fmt.Sprint(from.Unix())
					}
					steps = append(steps, fmt.Sprintf("hold %s until %d, the store has %d", at, until, len(db.applied)))
				},
				events: func(_, through uint64, list []Event) {
					steps = append(steps, fmt.Sprintf("%d events until %d", len(list), through))
				},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	check := func(when string, want ...string) {
		t.Helper()
		if !slices.Equal(steps, want) {
			t.Errorf("%s: got %q, want %q", when, steps, want)
		}
		steps = nil
	}
	start := func(d *Drain) {
		d.beginEvents()
		d.checkObserver(t.Context(), d.eventsBefore)
	}
	at := func(ply int) intent.Intent {
		return &intent.RecordMove{Board: 1, Ply: ply, At: time.Unix(int64(ply), 0)}
	}
	d := open()
	start(d)
	check("an empty journal", "0 events until 0")
	post(t, r, d, at(7))
	post(t, r, d, at(8))
	empty(t, d)
	check("a batch", "hold 7 until 2, the store has 0", "2 events until 2")
	post(t, r, d, &intent.UpdateSessionLastSeen{Session: 1})
	empty(t, d)
	check("no events", "0 events until 3")
	post(t, r, d, at(9))
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = open()
	start(d)
	check("a start", "hold all until 4, the store has 3", "0 events until 3")
	empty(t, d)
	check("what was left", "hold 9 until 4, the store has 3", "1 events until 4")
}

// TestObserversRemembered: the events sent to observers are known to the journal's next
// holder, except those from before observers were away.
func TestObserversRemembered(t *testing.T) {
	r, db := openRunner(t), &fakeStore{refuse: map[string]bool{name(ended(3)): true}}
	type page struct {
		after, through uint64
		told           []uint64
	}
	var pages []page
	here := true
	open := func() *Drain {
		d, err := NewDrain(t.Context(), r, db, DrainOptions{
			Profile: "blue", Limits: Limits{Intents: 512, Bytes: 1 << 20}, RememberEvents: true,
			Observer: observer{wants: &here, events: func(after, through uint64, list []Event) {
				p := page{after: after, through: through}
				for _, h := range list {
					p.told = append(p.told, h.Seq)
				}
				pages = append(pages, p)
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		d.beginEvents()
		d.checkObserver(t.Context(), d.eventsBefore)
		return d
	}
	next := func(d *Drain) *Drain {
		t.Helper()
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		pages = nil
		return open()
	}
	check := func(when string, want ...page) {
		t.Helper()
		if fmt.Sprint(pages) != fmt.Sprint(want) {
			t.Errorf("%s: told %v, want %v", when, pages, want)
		}
	}
	d := open()
	for board := range wamble.BoardID(3) {
		post(t, r, d, move(board+1, 1), ended(board+1))
		empty(t, d)
	}
	d = next(d)
	check("the next one", page{0, 3, []uint64{1, 1, 2, 2, 3}})
	here = false
	post(t, r, d, move(9, 1))
	empty(t, d)
	here = true
	d = next(d)
	check("nobody has looked", page{4, 4, nil})
	post(t, r, d, move(9, 2))
	empty(t, d)
	d = next(d)
	check("after a hole", page{4, 5, []uint64{5}})
	for ply := range maxRecentEvents + 10 {
		if post(t, r, d, move(9, ply+3)); ply%1000 == 0 {
			empty(t, d)
		}
	}
	empty(t, d)
	d = next(d)
	if got := pages[0]; got.through != maxRecentEvents+15 || len(got.told) == 0 || len(got.told) > maxRecentEvents ||
		d.events != len(got.told) {
		t.Errorf("after many: told %d behind %d up to %d, and %d are remembered", len(got.told), got.after, got.through,
			d.events)
	}
}
