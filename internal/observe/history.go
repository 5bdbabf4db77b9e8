package observe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	runtimemetrics "runtime/metrics"
	"sync"
	"time"

	"wamble/internal/loop"
)

// How long and how finely a server remembers how it did.
const (
	hourEvery  = 10 * time.Second
	hourPoints = 360
	daysEvery  = time.Minute
	daysPoints = 2 * 24 * 60
	saveEvery  = 10 * time.Minute
	maxHistory = 4 << 20 // bytes of the file
)

// History is how a server did, for the charts of its console: a point every ten
// seconds for an hour, and a point a minute for two days. It is kept in a file, so that
// it outlives a handoff and a restart.
type History struct {
	file string

	mu     sync.Mutex
	before map[string]reading // of the last look, by profile
	looked time.Time          // zero: never
	minute []Point            // of the hour that are not in the days yet
	hour   ring
	days   ring
}

// Point is how the server did in a span that ends at a time: all profiles together.
type Point struct {
	At      int64   // s since 1970
	Moves   float64 // per second
	Ended   float64 // games per minute
	Players float64 // present
	Boards  float64
	Lag     float64 // s that the database of a profile is behind, at most
	Memory  float64 // MB
}

// reading is what is read of a profile.
type reading struct {
	moves, ended    uint64 // since it began
	players, boards int
	lag             time.Duration
}

// Columns are points as the console draws them.
type Columns struct {
	Every   float64   `json:"every"` // s
	At      []int64   `json:"at"`
	Moves   []float64 `json:"moves"`
	Ended   []float64 `json:"ended"`
	Players []float64 `json:"players"`
	Boards  []float64 `json:"boards"`
	Lag     []float64 `json:"lag"`
	Memory  []float64 `json:"memory"`
}

// saved is the file.
type saved struct {
	Hour, Days []Point
}

// NewHistory returns one that is kept in a file.
func NewHistory(file string) *History {
	return &History{file: file, before: map[string]reading{}, hour: ring{size: hourPoints}, days: ring{size: daysPoints}}
}

// Keep reads the file, looks at the profiles again and again until the context ends, and
// writes the file. Warn is told what goes wrong with it, or nil.
func (h *History) Keep(ctx context.Context, profiles func() []*loop.Runtime, warn func(error)) {
	warn(h.read(time.Now()))
	tick := time.NewTicker(hourEvery)
	defer tick.Stop()
	for written := time.Now(); ; {
		h.look(ctx, profiles())
		select {
		case <-ctx.Done():
			warn(h.Save())
			return
		case now := <-tick.C:
			if now.Sub(written) >= saveEvery {
				written = now
				warn(h.Save())
			}
		}
	}
}

// look takes a point.
func (h *History) look(ctx context.Context, profiles []*loop.Runtime) {
	read := map[string]reading{}
	for _, rt := range profiles {
		f := rt.Look(ctx)
		read[rt.Name()] = reading{f.Stats.Moves, f.Stats.Finished, f.Gauges.LivePlayers, f.Gauges.Boards, f.Queue.OldestAge}
	}
	if ctx.Err() == nil {
		h.add(time.Now(), read, memory())
	}
}

// memory is what the process has of the system, in bytes.
func memory() uint64 {
	s := []runtimemetrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	runtimemetrics.Read(s)
	return s[0].Value.Uint64() - s[1].Value.Uint64()
}

// add takes the point of what was read. A counter that is lower than before has begun
// anew.
func (h *History) add(now time.Time, read map[string]reading, memory uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := Point{At: now.Unix(), Memory: round(float64(memory) / (1 << 20))}
	var moves, ended uint64
	for name, r := range read {
		before := h.before[name]
		if r.moves < before.moves || r.ended < before.ended {
			before = reading{}
		}
		moves, ended = moves+r.moves-before.moves, ended+r.ended-before.ended
		p.Players, p.Boards = p.Players+float64(r.players), p.Boards+float64(r.boards)
		p.Lag = max(p.Lag, round(r.lag.Seconds()))
	}
	span := now.Sub(h.looked).Seconds()
	first := h.looked.IsZero()
	h.before, h.looked = read, now
	if first || span <= 0 {
		return // there is nothing to compare with
	}
	p.Moves, p.Ended = round(float64(moves)/span), round(60*float64(ended)/span)
	h.hour.add(p)
	if len(h.minute) > 0 && h.minute[0].At/60 != p.At/60 {
		h.days.add(mean(h.minute))
		h.minute = h.minute[:0]
	}
	h.minute = append(h.minute, p)
}

// mean is one point for several: the largest lag, and the mean of the rest.
func mean(list []Point) Point {
	m := Point{At: list[len(list)-1].At}
	n := float64(len(list))
	for _, p := range list {
		m.Moves, m.Ended, m.Players = m.Moves+p.Moves/n, m.Ended+p.Ended/n, m.Players+p.Players/n
		m.Boards, m.Memory, m.Lag = m.Boards+p.Boards/n, m.Memory+p.Memory/n, max(m.Lag, p.Lag)
	}
	m.Moves, m.Ended, m.Players = round(m.Moves), round(m.Ended), round(m.Players)
	m.Boards, m.Memory = round(m.Boards), round(m.Memory)
	return m
}

// round keeps two digits, which is what a chart shows.
func round(x float64) float64 { return math.Round(100*x) / 100 }

// Hour returns the points of the last hour, Days those of the last days.
func (h *History) Hour() Columns { return h.columns(&h.hour, hourEvery) }

// Days returns the points of the last two days.
func (h *History) Days() Columns { return h.columns(&h.days, daysEvery) }

func (h *History) columns(r *ring, every time.Duration) Columns {
	h.mu.Lock()
	list := r.list()
	h.mu.Unlock()
	c := Columns{Every: every.Seconds(), At: []int64{}}
	for _, p := range list {
		c.At = append(c.At, p.At)
		c.Moves, c.Ended, c.Players = append(c.Moves, p.Moves), append(c.Ended, p.Ended), append(c.Players, p.Players)
		c.Boards, c.Lag, c.Memory = append(c.Boards, p.Boards), append(c.Lag, p.Lag), append(c.Memory, p.Memory)
	}
	return c
}

// Save writes the file.
func (h *History) Save() error {
	h.mu.Lock()
	s := saved{h.hour.list(), h.days.list()}
	h.mu.Unlock()
	text, err := json.Marshal(s)
	if err == nil {
		err = os.WriteFile(h.file+".new", text, 0o600)
	}
	if err == nil {
		err = os.Rename(h.file+".new", h.file)
	}
	if err != nil {
		return fmt.Errorf("the history for the charts: %w", err)
	}
	return nil
}

// read takes what the file has, unless it is too old for the charts. Without a file there
// is no history yet.
func (h *History) read(now time.Time) error {
	info, err := os.Stat(h.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && info.Size() > maxHistory {
		err = errors.New("the file is too large")
	}
	var s saved
	if err == nil {
		var text []byte
		if text, err = os.ReadFile(h.file); err == nil {
			err = json.Unmarshal(text, &s)
		}
	}
	if err != nil {
		return fmt.Errorf("the history for the charts: %w", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hour.take(s.Hour, now, hourPoints*hourEvery)
	h.days.take(s.Days, now, daysPoints*daysEvery)
	return nil
}

// ring keeps the last points.
type ring struct {
	size   int
	points []Point
	next   int // where the next one goes when it is full
}

func (r *ring) add(p Point) {
	if len(r.points) < r.size {
		r.points = append(r.points, p)
		return
	}
	r.points[r.next] = p
	r.next = (r.next + 1) % r.size
}

// list returns a copy, the oldest first.
func (r *ring) list() []Point {
	return append(append(make([]Point, 0, len(r.points)), r.points[r.next:]...), r.points[:r.next]...)
}

// take adds points in the order of time that lie within a span before now.
func (r *ring) take(list []Point, now time.Time, span time.Duration) {
	last := now.Add(-span).Unix()
	for _, p := range list {
		if p.At > last && p.At <= now.Unix() {
			r.add(p)
			last = p.At
		}
	}
}
