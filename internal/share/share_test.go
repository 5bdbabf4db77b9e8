package share

import (
	"math/rand/v2"
	"net/netip"
	"testing"
)

type thing struct {
	name string
	Holding[thing]
}

func hostAt(n byte) Host { return HostOf(netip.AddrFrom4([4]byte{192, 0, 2, n})) }

// The host that holds most yields its idlest place; a host that would hold most itself yields
// its own.
func TestYield(t *testing.T) {
	var table Table[thing]
	things := map[string]*thing{}
	add := func(name string, host byte) {
		things[name] = &thing{name: name}
		table.Add(&things[name].Holding, things[name], hostAt(host))
	}
	yields := func(host byte, want string) {
		t.Helper()
		got := ""
		if v := table.Yield(hostAt(host)); v != nil {
			got = v.name
		}
		if got != want {
			t.Errorf("for host %d: %q yields, want %q", host, got, want)
		}
	}
	yields(1, "")
	add("a", 1)
	add("b", 2)
	yields(3, "")
	add("a2", 1)
	yields(3, "a")
	table.Touch(&things["a"].Holding)
	yields(3, "a2")
	add("b2", 2)
	yields(2, "b") // as many as 1: its own
	table.Touch(&things["a"].Holding)
	yields(3, "b") // of two that hold as much, the idler
	table.Remove(&things["b"].Holding)
	yields(2, "a2")
	table.Add(&things["a"].Holding, things["a"], 0)
	yields(3, "")
	if n := table.Count(hostAt(1)); n != 1 {
		t.Errorf("host 1 holds %d, want 1", n)
	}
}

// After any sequence, the counts are right, and nobody holds more than the one that yields.
func TestYieldRandomly(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var table Table[thing]
	things := make([]thing, 64)
	for range 20_000 {
		v := &things[rng.IntN(len(things))]
		switch rng.IntN(4) {
		case 0:
			table.Remove(&v.Holding)
		case 1:
			table.Touch(&v.Holding)
		default:
			table.Add(&v.Holding, v, hostAt(byte(rng.IntN(9))))
		}
		held := map[Host]int{}
		most := 0
		for i := range things {
			if host := things[i].Host(); host != 0 {
				held[host]++
				most = max(most, held[host])
			}
		}
		for host, n := range held {
			if table.Count(host) != n {
				t.Fatalf("%v holds %d, counted %d", host, n, table.Count(host))
			}
		}
		victim := table.Yield(hostAt(200))
		if (victim == nil) != (most < 2) || victim != nil && held[victim.Host()] != most {
			t.Fatalf("%v yields, the most is %d of %v", victim, most, held)
		}
	}
}
