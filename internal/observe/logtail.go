package observe

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"sync"

	"wamble/internal/config"
)

// tailLines is how many lines of the log the console shows.
const tailLines = 400

// Tail is a slog.Handler that also keeps the last lines of the log in memory.
type Tail struct {
	slog.Handler
	text  slog.Handler // writes to lines
	lines *lastLines
}

// NewTail returns a handler that also passes all records on to h.
func NewTail(h slog.Handler) *Tail {
	lines := &lastLines{}
	return &Tail{Handler: h, lines: lines,
		text: slog.NewTextHandler(lines, &slog.HandlerOptions{Level: slog.LevelDebug})}
}

// Handle implements slog.Handler.
func (t *Tail) Handle(ctx context.Context, r slog.Record) error {
	t.text.Handle(ctx, r)
	return t.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (t *Tail) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &Tail{Handler: t.Handler.WithAttrs(attrs), text: t.text.WithAttrs(attrs), lines: t.lines}
}

// WithGroup implements slog.Handler.
func (t *Tail) WithGroup(name string) slog.Handler {
	return &Tail{Handler: t.Handler.WithGroup(name), text: t.text.WithGroup(name), lines: t.lines}
}

// Configure applies a configuration to the wrapped handler, if it supports that.
func (t *Tail) Configure(c *config.Config) { Configure(t.Handler, c) }

// Configure applies a configuration to a handler, if it supports that.
func Configure(h slog.Handler, c *config.Config) {
	if h, ok := h.(interface{ Configure(*config.Config) }); ok {
		h.Configure(c)
	}
}

// Lines returns the last lines of the log, oldest first.
func (t *Tail) Lines() []string { return t.lines.all() }

// lastLines is a ring of lines. A text handler writes one line at a time.
type lastLines struct {
	mu   sync.Mutex
	list []string
	next int
}

func (l *lastLines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := string(bytes.TrimRight(line, "\n"))
	if len(l.list) < tailLines {
		l.list = append(l.list, text)
	} else {
		l.list[l.next] = text
	}
	l.next = (l.next + 1) % tailLines
	return len(line), nil
}

// all returns the lines, oldest first. It is never nil, so that JSON has a list.
func (l *lastLines) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) < tailLines {
		return append([]string{}, l.list...)
	}
	return slices.Concat(l.list[l.next:], l.list[:l.next])
}
