package wire

import (
	"slices"
	"testing"

	"wamble"
)

func TestHeaderReadLeavesTheRest(t *testing.T) {
	want := Header{Ctrl: CtrlAck, Flags: FlagUnreliable, Version: 1, Token: wamble.Token{1}, Board: 2, Seq: 3}
	b, err := Append(nil, want, Ack{})
	if err != nil {
		t.Fatal(err)
	}
	h := want
	for _, bad := range [][]byte{nil, b[:33], slices.Concat(b[:3], []byte{1}, b[4:]),
		slices.Concat(b[:32], []byte{0, 1})} {
		if err := h.Read(bad); err == nil || h != want {
			t.Errorf("% x: %v, and the header is %+v", bad, err, h)
		}
	}
	var zero Header
	if err := zero.Read(b); err != nil || zero != want {
		t.Errorf("got %+v, %v", zero, err)
	}
}

func TestExtInPlace(t *testing.T) {
	var e Ext
	e = append(e, textView("old", []byte("view")), Bool("b", true))[:0] // memory with something in it
	e.AddInt("i", -5)
	e.AddString("s", "text")
	e = append(e, Double("d", 1.5), Bool("b", true), textView("v", []byte("view")), String("", ""))
	want := []Field{Int("i", -5), String("s", "text")}
	for i := range want {
		if !sameField(e[i], want[i]) || e[i].view != nil {
			t.Errorf("got %+v, want %+v", e[i], want[i])
		}
	}
	for i := range e[:5] {
		b, err := appendField(nil, &e[i])
		if err != nil || len(b) != e[i].Size() {
			t.Errorf("%s: Size %d, %d bytes, %v", e[i].Key, e[i].Size(), len(b), err)
		}
	}
}
