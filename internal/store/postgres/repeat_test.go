package postgres_test

import (
	"net"
	"strconv"
	"sync/atomic"
	"testing"

	"wamble/internal/store"
	"wamble/internal/store/postgres"
	"wamble/internal/store/postgres/pgtest"
	"wamble/internal/store/storetest"
)

// TestRepeatAsksOnce: messages that the store has already are compared with it in a few round
// trips, not in one for each move: players wait for that after a machine was lost.
func TestRepeatAsksOnce(t *testing.T) {
	t.Parallel()
	o := pgtest.Migrated(t)
	asked, s := counted(t, o)
	tr, start := storetest.NewTraffic(4, 1)
	b := tr.Batch(600)
	for _, b := range []store.Batch{start, b} {
		if err := s.Apply(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	before := asked.Load()
	rejected, err := s.Probe(t.Context(), b)
	if err != nil || len(rejected) > 0 {
		t.Fatalf("%d of what is stored are refused, %v", len(rejected), err)
	}
	if n := asked.Load() - before; n > 100 {
		t.Errorf("%d moves took %d round trips", len(b.Intents), n)
	}
	storetest.Holds(t, s, []store.Batch{start, b})
}

// counted is a store that is reached over something that counts how often the store
// asked after it was answered.
func counted(t *testing.T, o postgres.Options) (*atomic.Int64, *postgres.Store) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	asked, answered := new(atomic.Int64), new(atomic.Bool)
	server := net.JoinHostPort(o.Host, strconv.Itoa(o.Port))
	network := "tcp"
	if o.Host[0] == '/' {
		network, server = "unix", o.Host+"/.s.PGSQL."+strconv.Itoa(o.Port)
	}
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial(network, server)
			if err != nil {
				near.Close()
				continue
			}
			go pass(far, near, func() {
				if answered.Swap(false) {
					asked.Add(1)
				}
			})
			go pass(near, far, func() { answered.Store(true) })
		}
	}()
	o.Host, o.Port = "127.0.0.1", l.Addr().(*net.TCPAddr).Port
	return asked, open(t, o)
}

// pass copies from one connection to the other until one ends, and calls tell for each piece.
func pass(to, from net.Conn, tell func()) {
	defer to.Close()
	defer from.Close()
	for b := make([]byte, 64<<10); ; {
		n, err := from.Read(b)
		if n > 0 {
			tell()
			if _, err := to.Write(b[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
