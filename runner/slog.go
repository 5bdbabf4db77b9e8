package runner

import (
	"context"
	"log/slog"
)

// logLevels are the levels of Slog for each kind of event: transient ones have a low level.
var logLevels = [...]slog.Level{
	LogRetryable: slog.LevelInfo, LogNonRetryable: slog.LevelWarn, LogRequeued: slog.LevelDebug,
	LogDeadLetter: slog.LevelError, LogWorkerError: slog.LevelError, LogOverdue: slog.LevelWarn,
	LogLoss: slog.LevelError, LogUndeclared: slog.LevelWarn,
}

// Slog returns a function for Sinks.Log that writes to l: the kind of an event is the message;
// queue, number, id, attempt and error are its attributes. A retry has another number and the
// same id.
func Slog(l *slog.Logger) func(LogEvent) {
	return func(ev LogEvent) {
		ctx, level := context.Background(), logLevels[ev.Kind]
		if !l.Enabled(ctx, level) {
			return
		}
		attrs := make([]slog.Attr, 0, 5)
		attrs = append(attrs, slog.Uint64("queue", uint64(ev.Worker)))
		if ev.Seq != 0 {
			attrs = append(attrs, slog.Uint64("number", ev.Seq))
		}
		if ev.ID != "" {
			attrs = append(attrs, slog.String("id", ev.ID), slog.Uint64("attempt", uint64(ev.Attempt)))
		}
		if ev.Err != nil {
			attrs = append(attrs, slog.Any("err", ev.Err))
		}
		l.LogAttrs(ctx, level, ev.Kind.String(), attrs...)
	}
}
