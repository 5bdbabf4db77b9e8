//go:build proof && linux

package server

import (
	"fmt"
	"strings"
	"testing"

	"wamble"
	"wamble/internal/prooftest"
	"wamble/internal/store/postgres/pgtest"
)

// TestGoesHome: a client of ours whose session is served by another machine than the one it
// has dialled learns that, and connects there, over UDP and over a WebSocket: from then on
// none of its packets is forwarded. It plays meanwhile, and every move is made once.
func TestGoesHome(t *testing.T) {
	prooftest.Needs(t, "two addresses")
	t.Parallel()
	db := pgtest.Empty(t)
	port := freePorts(t, 1)[0]
	begin := func(node, ip string) *here {
		text := strings.Replace(placedConf(db, node), "(def port 0)", fmt.Sprintf("(def port %d)", port), 1)
		text = strings.Replace(text, `(def listen-address "127.0.0.1")`, fmt.Sprintf("(def listen-address %q)", ip), 1)
		return serve(t, Options{}, text+"(def cluster-endpoints \"127.0.0.61 127.0.0.62\")\n").ready()
	}
	a := begin("a", "127.0.0.61")
	b := begin("b", "127.0.0.62")
	sharing(t, a, b.dir)
	passed := func() (n uint64) {
		for _, l := range b.first().shards {
			n += l.runtime.Port().Shards()[l.index].UDP().Stats().Passed
		}
		return n
	}
	c := &crowd{}
	for _, address := range []string{a.address(), "ws://" + a.Addresses().HTTP.String() + "/ws"} {
		guest := join(t, b.address(), wamble.Token{})
		token := guest.c.Token()
		guest.c.Close()
		before := passed()
		p := join(t, address, token)
		if p.crowd = c; p.c.Token() != token {
			t.Fatalf("a player who came back through a is somebody else: %v instead of %v", p.c.Token(), token)
		}
		if passed() == before {
			t.Errorf("%s: the hello was not passed on", address)
		}
		c.players = append(c.players, p)
	}
	c.play()
	c.more(t, 20)
	until(t, "nothing is passed on", func() bool {
		before := passed()
		c.more(t, 20)
		return passed() == before
	})
	c.finish()
	if got := b.metrics(); !strings.Contains(got, "wamble_packets_passed_total{") {
		t.Error("the metrics do not say how much was passed on")
	}
	a.end()
	b.end()
	c.verify(t, openPostgres(t, db))
}
