package link

import (
	"testing"

	"wamble/wire"
)

// A client that has sent a key of ours gets all fields, also from the next process; another one gets eight.
func TestFieldsOfOldClients(t *testing.T) {
	ten := []wire.Field{wire.Int(wire.KeyRequestSeq, 1)}
	for _, key := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		ten = append(ten, wire.Int(key, 1))
	}
	ten = append(ten, wire.String(wire.KeyBoardOwnMove, "e2e4"))
	for name, want := range map[string]int{wire.KeyHelloBot: 10, wire.KeyStatsRequestID: 8} {
		r := newRig(t, Config{})
		r.send(alice, encode(wire.Header{Token: tokenA, Seq: 1}, wire.ClientHello{}, wire.Int(name, 1)))
		r.send(alice, move(tokenA, 2))
		if got := r.s.ReadsAll(tokenA); got != (want == 10) {
			t.Errorf("after %s: reads all: %t", name, got)
		}
		state, err := r.s.Snapshot(r.now, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.s, err = Restore(Config{}, r.now, state); err != nil {
			t.Fatal(err)
		}
		r.took()
		r.handler = func(id Request, p *wire.Packet) {
			fields := append([]wire.Field(nil), ten...)
			if err := Answer(r.s, id, wire.Header{Token: p.Token}, wire.BoardUpdate{}, fields...); err != nil {
				t.Fatal(err)
			}
			r.s.Finish(id, r.gate)
		}
		r.send(alice, move(tokenA, 3))
		var p wire.Packet
		if _, b := r.out.At(1); p.Decode(b) != nil || len(p.Ext) != want {
			t.Errorf("after %s: %d fields, want %d", name, len(p.Ext), want)
		}
	}
}
