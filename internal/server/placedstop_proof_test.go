//go:build proof && linux

package server

import (
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"wamble/internal/prooftest"
	"wamble/internal/store/postgres/pglog"
	"wamble/internal/store/postgres/pgtest"
)

// longestWait runs do, and returns the longest time that a player waited until their next
// move was accepted. It returns when everybody has moved twice after that.
func (c *crowd) longestWait(t testing.TB, do func()) time.Duration {
	t.Helper()
	over, longest := make(chan struct{}), make(chan time.Duration, 1)
	end := sync.OnceFunc(func() { close(over) })
	defer end() // if it fails meanwhile
	go func() {
		var most time.Duration
		moves, since := make([]int64, len(c.players)), slices.Repeat([]time.Time{time.Now()}, len(c.players))
		for tick := time.NewTicker(5 * time.Millisecond); ; {
			for i, p := range c.players {
				if n := p.moves.Load(); n != moves[i] {
					moves[i], since[i] = n, time.Now()
				}
				most = max(most, time.Since(since[i]))
			}
			select {
			case <-tick.C:
			case <-over:
				tick.Stop()
				longest <- most
				return
			}
		}
	}()
	do()
	(&fleet{t: t, crowd: c}).moved()
	end()
	return <-longest
}

// TestPlacedStop: a machine that is told to stop gives its partitions to the other one before
// it ends anything else. Players of those partitions on the other machine hardly notice, even
// if the rest of the stop is slow: here half a request keeps HTTP open for seconds. Meanwhile
// players who write to the stopping machine are served by the other one.
func TestPlacedStop(t *testing.T) {
	p := prooftest.Needs(t, "a machine for itself")
	db := pgtest.Empty(t)
	a := serve(t, Options{Lease: pglog.DefaultLease}, placedConf(db, "a")).ready()
	b := serve(t, Options{Lease: pglog.DefaultLease}, placedConf(db, "b")).ready()
	untilShared(t, a.dir, b.dir)
	c := &crowd{}
	for _, first := range gather(t, a.address(), 4).players {
		token := first.c.Token()
		first.c.Close()
		p := join(t, b.address(), token)
		if !a.partitionOwners.Owner(p.c.Token().Shard(4)).Local {
			t.Fatalf("a player is in shard %d, which a does not have", p.c.Token().Shard(4))
		}
		p.crowd = c
		c.players = append(c.players, p)
	}
	c.play()
	c.more(t, 200)
	slow, err := net.Dial("tcp", a.Addresses().HTTP.String())
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	if _, err := io.WriteString(slow, "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Half: "); err != nil {
		t.Fatal(err)
	}
	if got := fetch(t, "http://"+a.Addresses().HTTP.String()+"/healthz"); got != "200 alive" {
		t.Fatalf("got %q", got)
	}
	through := gather(t, a.address(), 1)
	through.think = 10 * time.Millisecond
	through.play()
	began := time.Now()
	longest := c.longestWait(t, func() {
		a.stop()
		<-a.rebalancer.ended // from here on it ends everything else
		through.more(t, 4)
		through.finish()
		a.end()
	})
	t.Logf("measured: the stop took %v, and nobody waited for longer than %v", time.Since(began).Round(time.Millisecond), longest.Round(time.Millisecond))
	p.Bound("the longest wait of a player", longest, prooftest.Sized(30*time.Second, 30*time.Second, 4*time.Second))
	if got := len(held(t, b.dir)); got != 4 {
		t.Errorf("b has %d parts", got)
	}
	c.finish()
	b.end() // no other machine is left: it keeps its partitions
	all := &crowd{players: append(through.players, c.players...)}
	all.verify(t, openPostgres(t, db))
	if n := pgtest.Query[int](t, db, `SELECT count(*) FROM shards WHERE holder <> ''`); n > 0 {
		t.Errorf("%d parts are held by machines that have stopped", n)
	}
}
