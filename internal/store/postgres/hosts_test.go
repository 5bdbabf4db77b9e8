package postgres_test

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"wamble/internal/store/postgres"
	"wamble/internal/store/postgres/pgtest"
	"wamble/internal/watchtest"
)

// TestSilentHost: of two hosts the first does not answer, as one whose machine is lost. The
// second is reached long before the first is given up, by a store and by a connection of its
// own.
func TestSilentHost(t *testing.T) {
	t.Parallel()
	_, o := pgtest.NewProxy(t, pgtest.Migrated(t))
	silent, err := net.Listen("tcp", "127.0.0.1:0") // without Accept
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	o.Host = fmt.Sprintf("%s,127.0.0.1:%d", silent.Addr(), o.Port)
	o.ConnectTimeout = 2 * watchtest.Patience
	o.StatementTimeout = watchtest.Patience
	if got, err := open(t, o).Ask(t.Context(), `SELECT 'here'`); err != nil || got != "here" {
		t.Errorf("the store: got %q, %v", got, err)
	}
	c, err := postgres.Connect(t.Context(), o, postgres.Session{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestNoHostAnswers: the error has the error of each host.
func TestNoHostAnswers(t *testing.T) {
	t.Parallel()
	o := pgtest.Empty(t)
	o.Host = fmt.Sprintf("%s/nowhere,%s/nobody", t.TempDir(), t.TempDir())
	_, err := postgres.Connect(t.Context(), o, postgres.Session{})
	for _, host := range []string{"nowhere", "nobody"} {
		if err == nil || !strings.Contains(err.Error(), host) {
			t.Errorf("got %v, want what %s says", err, host)
		}
	}
}
