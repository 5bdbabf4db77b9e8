package link

import (
	"os"
	"testing"
	"time"

	"wamble"
	"wamble/internal/prooftest"
)

// seeds returns the seeds of a long proof: whole for make soak, part for make proof,
// a fifth of that for make test;
// only WAMBLE_SEED when it is set.
func seeds(t *testing.T, whole, part uint64) (from, to uint64) {
	if os.Getenv("WAMBLE_SEED") != "" {
		seed := prooftest.Seed(t)
		return seed, seed + 1
	}
	return 0, prooftest.Sized(part/5, part, whole)
}

// tally sums up the results of the simulated clients, which shows that the test has exercised
// something.
type tally struct{ asked, acked, lost, executed, answered, expected, rebinds, twice int }

// TestExactlyOnce lets clients send requests through a bad network, while NATs give them new
// addresses and they reconnect. One of three behaves as the original's client: it never
// acknowledges, and counts from 1 again when it reconnects. Then a late copy of a request
// can, very rarely, not be distinguished from a new one.
func TestExactlyOnce(t *testing.T) {
	from, to := seeds(t, 10_000, 500)
	t.Logf("seeds %d to %d", from, to-1)
	var sum tally
	for seed := from; seed < to; seed++ {
		simulate(t, seed, &sum)
		if t.Failed() {
			t.Fatalf("repeat with WAMBLE_SEED=%d", seed)
		}
	}
	t.Logf("%+v", sum)
	if sum.twice > 1+sum.asked/100_000 {
		t.Errorf("requests of old clients were executed twice %d times of %d", sum.twice, sum.asked)
	}
	if to-from > 1 && (sum.lost == 0 || sum.rebinds == 0 || sum.answered*10 < sum.expected*8) {
		t.Errorf("the network was too kind, or answers do not arrive: %+v", sum)
	}
}

func simulate(t *testing.T, seed uint64, sum *tally) {
	t.Helper()
	n := newNetwork(seed, 3)
	n.clients[2].old = true
	for i, c := range n.clients {
		n.after(0, c.sayHello)
		live(n, c, wamble.BoardID(1000*(i+1)))
	}
	n.run(2 * time.Minute)
	n.trouble = false
	n.run(10 * time.Minute) // everything expires
	for _, c := range n.clients {
		check(t, n, c, sum)
	}
	if got, want := n.server.Size(), (Size{}); got != want {
		t.Errorf("seed %d: after expiry the server still holds %+v", seed, got)
	}
	sum.rebinds += int(n.server.Stats().Rebinds)
}

// live plans a client's run: requests, now and then a new address from its NAT or a new
// connection.
func live(n *network, c *simClient, id wamble.BoardID) {
	requests := 0
	var step func()
	step = func() {
		if requests == 12 {
			return
		}
		switch r := n.rng.IntN(20); {
		case r == 0:
			c.addr = n.freshAddress()
		case r == 1 && !c.token.IsZero():
			c.reconnect()
		case c.greeted:
			id++
			requests++
			c.ask(id)
		case c.outcome[c.hello] != "":
			c.sayHello()
		}
		n.after(time.Duration(20+n.rng.IntN(1500))*time.Millisecond, step)
	}
	n.after(500*time.Millisecond, step)
}

func check(t *testing.T, n *network, c *simClient, sum *tally) {
	t.Helper()
	for _, f := range c.faults {
		t.Errorf("%s", f)
	}
	if c.link.Open() != 0 {
		t.Errorf("%d requests still wait for an ACK", c.link.Open())
	}
	for seq, id := range c.requests {
		sum.asked++
		executed, outcome, answers := n.app.executed[id], c.outcome[seq], c.answers[id]
		sum.executed += executed
		switch {
		case executed > 1 && c.old:
			sum.twice++
			continue
		case executed > 1:
			t.Errorf("request %d (%v) was executed %d times", id, outcome, executed)
		}
		if answers > 1 {
			t.Errorf("the answer of request %d arrived %d times", id, answers)
		}
		switch outcome {
		case "acked":
			sum.acked++
			if executed != 1 {
				t.Errorf("request %d was acknowledged, but executed %d times", id, executed)
			}
			// LOGOUT has no answer, and an old client gets no second chunk.
			if id%4 != 3 && !(c.old && id%4 == 1) {
				sum.expected++
				sum.answered += answers
			}
		case "lost":
			sum.lost++
		default:
			t.Errorf("nobody was told what became of request %d", id)
		}
	}
}
