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

// The interval and number of points, and the limits of the file.
const (
	hourEvery  = 10 * time.Second
	hourPoints = 360
	daysEvery  = time.Minute
	daysPoints = 2 * 24 * 60
	saveEvery  = 10 * time.Minute
	maxHistory = 4 << 20 // bytes of the file
)

// History has the points for the charts of the console: one every ten seconds for an hour,
// and one a minute for two days. It is kept in a file across handoffs and restarts.
type History struct {
	file string

	mu     sync.Mutex
	before map[string]reading // last readings, by shard
	looked time.Time          // time of the last readings; zero before the first
	minute []Point            // points of the current minute, which are not in days yet
	hour   ring
	days   ring
}

// Point has the figures of all profiles together, for the interval that ends at a time.
type Point struct {
	At      int64   // s since 1970
	Moves   float64 // per second
	Ended   float64 // games per minute
	Players float64 // present
	Boards  float64
	Lag     float64 // s, the largest of all profiles' databases
	Memory  float64 // MB
}

// reading has the figures of a shard.
type reading struct {
	moves, ended    uint64 // since its start
	players, boards int
	lag             time.Duration
}

// Columns has points by column, as the console reads them.
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

// saved is the content of the file.
type saved struct {
	Hour, Days []Point
}

// NewHistory returns an empty history with the name of its file.
func NewHistory(file string) *History {
	return &History{file: file, before: map[string]reading{}, hour: ring{size: hourPoints},
		days: ring{size: daysPoints}}
}

// Keep reads the file, adds points until ctx ends, and writes the file every saveEvery and at
// the end. Warn is called with the result of each read and write, which may be nil.
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

// look reads the figures of all shards and adds a point.
func (h *History) look(ctx context.Context, profiles []*loop.Runtime) {
	read := map[string]reading{}
	for _, rt := range profiles {
		f := rt.Figures(ctx)
		read[rt.Name()] = reading{f.Stats.Moves, f.Stats.Finished, f.Gauges.LivePlayers, f.Gauges.Boards,
			f.Queue.OldestAge}
	}
	if ctx.Err() == nil {
		h.add(time.Now(), read, memory())
	}
}

// memory returns how many bytes of memory the Go runtime has from the system.
func memory() uint64 {
	s := []runtimemetrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	runtimemetrics.Read(s)
	return s[0].Value.Uint64() - s[1].Value.Uint64()
}

// add adds a point for readings. A counter that is lower than before has restarted at 0.
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
		return // rates need two readings
	}
	p.Moves, p.Ended = round(float64(moves)/span), round(60*float64(ended)/span)
	h.hour.add(p)
	if len(h.minute) > 0 && h.minute[0].At/60 != p.At/60 {
		h.days.add(mean(h.minute))
		h.minute = h.minute[:0]
	}
	h.minute = append(h.minute, p)
}

// mean returns the mean of points, with the largest lag.
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

// round rounds to two digits, as charts show.
func round(x float64) float64 { return math.Round(100*x) / 100 }

// Hour returns the points of the last hour.
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

// read adds the points of the file that are not too old. A missing file is no error.
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

// ring has the last points.
type ring struct {
	size   int
	points []Point
	next   int // index of the oldest point when it is full
}

func (r *ring) add(p Point) {
	if len(r.points) < r.size {
		r.points = append(r.points, p)
		return
	}
	r.points[r.next] = p
	r.next = (r.next + 1) % r.size
}

// list returns a copy of the points, oldest first.
func (r *ring) list() []Point {
	return append(append(make([]Point, 0, len(r.points)), r.points[r.next:]...), r.points[:r.next]...)
}

// take adds the points that lie within a span before now, and skips those out of order.
func (r *ring) take(list []Point, now time.Time, span time.Duration) {
	last := now.Add(-span).Unix()
	for _, p := range list {
		if p.At > last && p.At <= now.Unix() {
			r.add(p)
			last = p.At
		}
	}
}
