package observe

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"wamble/internal/config"
)

// NewLog returns a log with the format and levels of a configuration. Lines with the attribute
// profile have that profile's level, all others that of the top level. Of a repeated message
// at most floodLines are written per floodTime, and then the number of those left out.
// Configure on its handler applies another configuration.
func NewLog(w io.Writer, c *config.Config) *slog.Logger {
	core := &logCore{w: w, flood: map[string]*flooded{}, now: time.Now}
	h := &logHandler{core: core}
	h.Configure(c)
	return slog.New(h)
}

// levels has the values of log-level. Nothing is logged above error, so that fatal is silent.
var levels = map[string]slog.Level{
	"fatal": slog.LevelError + 1, "error": slog.LevelError, "warn": slog.LevelWarn,
	"info": slog.LevelInfo, "debug": slog.LevelDebug,
}

// logCore is shared by all loggers of a process.
type logCore struct {
	w      io.Writer
	levels atomic.Pointer[map[string]slog.Level] // by profile; "" for all others
	format atomic.Pointer[slog.Handler]          // writes to w
	now    func() time.Time

	mu    sync.Mutex // guards flood
	flood map[string]*flooded
}

// flooded counts the lines of one message.
type flooded struct {
	since   time.Time
	written int
	left    int // lines left out
}

// The limits of floods: lines of one message per time, and messages that are counted.
const (
	floodLines  = 20
	floodTime   = 10 * time.Second
	floodKinds  = 512
	profileAttr = "profile"
)

// logHandler is a slog.Handler for the lines of a profile, or of none.
type logHandler struct {
	core    *logCore
	profile string
	with    []func(slog.Handler) slog.Handler // attributes and groups, in order
}

// Configure applies the format and the levels of a configuration.
func (h *logHandler) Configure(c *config.Config) {
	levelOf := map[string]slog.Level{"": levels[c.Default.Standing.LogLevel]}
	for _, p := range c.Running() {
		levelOf[p.Name] = levels[p.Standing.LogLevel]
	}
	o := &slog.HandlerOptions{Level: slog.LevelDebug}
	var format slog.Handler = slog.NewTextHandler(h.core.w, o)
	if c.Server.LogFormat == "json" {
		format = slog.NewJSONHandler(h.core.w, o)
	}
	h.core.levels.Store(&levelOf)
	h.core.format.Store(&format)
}

// Enabled implements slog.Handler.
func (h *logHandler) Enabled(_ context.Context, l slog.Level) bool {
	all := *h.core.levels.Load()
	level, ok := all[h.profile]
	if !ok {
		level = all[""]
	}
	return l >= level
}

// Handle implements slog.Handler.
func (h *logHandler) Handle(ctx context.Context, r slog.Record) error {
	write, left := h.core.sample(h.profile + "\x00" + r.Message)
	if !write {
		return nil
	}
	to := *h.core.format.Load()
	for _, with := range h.with {
		to = with(to)
	}
	if left > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int("left_out", left))
	}
	return to.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	n := *h
	for _, a := range attrs {
		if a.Key == profileAttr {
			n.profile = a.Value.String()
		}
	}
	n.with = append(h.with[:len(h.with):len(h.with)], func(to slog.Handler) slog.Handler { return to.WithAttrs(attrs) })
	return &n
}

// WithGroup implements slog.Handler.
func (h *logHandler) WithGroup(name string) slog.Handler {
	n := *h
	n.with = append(h.with[:len(h.with):len(h.with)], func(to slog.Handler) slog.Handler { return to.WithGroup(name) })
	return &n
}

// sample reports whether a line of this kind is written, and how many of its kind were left
// out before.
func (c *logCore) sample(kind string) (write bool, left int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	f := c.flood[kind]
	if f == nil {
		if len(c.flood) >= floodKinds {
			maps.DeleteFunc(c.flood, func(_ string, f *flooded) bool { return now.Sub(f.since) >= floodTime })
		}
		if len(c.flood) >= floodKinds {
			return false, 0 // a flood of different lines
		}
		f = &flooded{since: now}
		c.flood[kind] = f
	}
	if now.Sub(f.since) >= floodTime {
		left = f.left
		*f = flooded{since: now}
	}
	if f.written >= floodLines {
		f.left++
		return false, 0
	}
	f.written++
	return true, left
}
