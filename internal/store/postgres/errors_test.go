package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"wamble/internal/intent"
	"wamble/internal/store"
	"wamble/internal/store/schema"
)

func TestClassify(t *testing.T) {
	code := func(c string) error { return &pgconn.PgError{Code: c} }
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name      string
		ctx       context.Context
		err       error
		transient bool
	}{
		{"connection refused", t.Context(), &pgconn.ConnectError{}, true},
		{"connection cut", t.Context(), io.ErrUnexpectedEOF, true},
		{"connection failure", t.Context(), code("08006"), true},
		{"serialization failure", t.Context(), code("40001"), true},
		{"deadlock", t.Context(), code("40P01"), true},
		{"read-only transaction", t.Context(), code("25006"), true},
		{"disk full", t.Context(), code("53100"), true},
		{"too many connections", t.Context(), code("53300"), true},
		{"lock not available", t.Context(), code("55P03"), true},
		{"statement timeout", t.Context(), code("57014"), true},
		{"administrator's shutdown", t.Context(), code("57P01"), true},
		{"crash shutdown", t.Context(), code("57P02"), true},
		{"starting up", t.Context(), code("57P03"), true},
		{"missing table", t.Context(), code("42P01"), true},
		{"missing privilege", t.Context(), code("42501"), true},
		{"a statement that a pooler lost", t.Context(), code("26000"), true},
		{"canceled by the caller", canceled, code("57014"), true},
		{"unique violation", t.Context(), code("23505"), false},
		{"foreign key violation", t.Context(), code("23503"), false},
		{"check violation", t.Context(), code("23514"), false},
		{"value too long", t.Context(), code("22001"), false},
		{"bad UTF-8", t.Context(), code("22021"), false},
		{"row named twice", t.Context(), code("21000"), false},
		{"raised by a trigger", t.Context(), code("P0001"), false},
		{"our own finding", t.Context(), schema.Badf("x"), false},
		{"a violation", t.Context(), &intent.Violation{}, false},
		{"a newer database", t.Context(), &schema.Newer{}, false},
	} {
		got := classify(c.ctx, "test", c.err)
		if errors.Is(got, store.ErrTransient) != c.transient {
			t.Errorf("%s: got %v, want transient %v", c.name, got, c.transient)
		}
		if c.ctx == canceled && !errors.Is(got, context.Canceled) {
			t.Errorf("%s: got %v, want context.Canceled in it", c.name, got)
		}
	}
	if got := classify(t.Context(), "test", context.DeadlineExceeded); errors.Is(got, context.DeadlineExceeded) ||
		!errors.Is(got, store.ErrTransient) {
		t.Errorf("our own limit: got %v, want a transient error that is not the caller's deadline", got)
	}
	if classify(canceled, "test", nil) != nil {
		t.Error("no error became one")
	}
}

// TestAdviceWhileStarting: a server that starts or stops is away, and nothing is to be
// mended, whatever errors the other attempts to connect had.
func TestAdviceWhileStarting(t *testing.T) {
	noTLS := errors.New("tls error: server refused TLS connection")
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"only TLS", errors.Join(noTLS, noTLS), "Switch on ssl in the server, or check db-sslmode"},
		{"no TLS, then starting", errors.Join(noTLS, &pgconn.PgError{Code: "57P03"}), ""},
		{"a wrong user at one, the other stops", errors.Join(&pgconn.PgError{Code: "28000"}, &pgconn.PgError{Code: "57P01"}), ""},
		{"no TLS, then cut", errors.Join(noTLS, io.ErrUnexpectedEOF), ""},
		{"no TLS, then a wrong user", errors.Join(noTLS, &pgconn.PgError{Code: "28000"}), advice["28000"]},
	} {
		got := classify(t.Context(), "connect", fmt.Errorf("failed to connect: %w", c.err))
		text := ""
		var wrong *store.Unusable
		if errors.As(got, &wrong) {
			text = wrong.Advice
		}
		if text != c.want {
			t.Errorf("%s: got the advice %q, want %q", c.name, text, c.want)
		}
	}
}
