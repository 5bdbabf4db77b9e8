// Package otel traces the handlers of a runner with OpenTelemetry: an example of middleware, to
// be copied. It is a separate module, so that package runner needs no tracing library.
//
//	r, err := runner.Open(storage, runner.Options{Middleware: []runner.Middleware{otel.Trace(tracer)}})
//	…
//	m := &runner.Message{Queue: "mails", Payload: payload}
//	otel.Inject(ctx, m) // the handler's span is a child of the one in ctx
//	_, err = r.Post(ctx, m)
package otel

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"wamble/runner"
)

// Trace gives every run of a handler a span, with the error of the run.
func Trace(t trace.Tracer) runner.Middleware {
	return func(next runner.Handler) runner.Handler {
		return func(ctx context.Context, tx *runner.Tx, d *runner.Delivery) (err error) {
			ctx, span := t.Start(extract(ctx, d.Trace), "run", trace.WithSpanKind(trace.SpanKindConsumer),
				trace.WithAttributes(
					attribute.String("messaging.message.id", string(d.ID)),
					attribute.Int64("messaging.destination.partition.id", int64(d.To)),
					attribute.Int64("runner.attempt", int64(d.Attempts)),
				))
			defer span.End() // also if the handler panics
			if err = next(ctx, tx, d); err != nil {
				span.RecordError(err)
				span.SetStatus(codes.Error, err.Error())
			}
			return err
		}
	}
}

// traceparent is the header of W3C trace context that a message carries.
const traceparent = "traceparent"

var w3c propagation.TraceContext

// Inject stores the span of ctx in m, if there is one.
func Inject(ctx context.Context, m *runner.Message) {
	carrier := propagation.MapCarrier{}
	w3c.Inject(ctx, carrier)
	if text := carrier[traceparent]; text != "" {
		m.Trace, m.Flags = []byte(text), m.Flags|runner.HasTrace
	}
}

func extract(ctx context.Context, parent []byte) context.Context {
	return w3c.Extract(ctx, propagation.MapCarrier{traceparent: string(parent)})
}
