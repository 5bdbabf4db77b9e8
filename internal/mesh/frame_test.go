package mesh

import (
	"bytes"
	"encoding/hex"
	"errors"
	"net/netip"
	"reflect"
	"testing"

	"wamble"
	"wamble/wire"
)

var golden = []struct {
	frame Frame
	hex   string
}{
	{
		Frame{Kind: KindPacket, Name: []byte("main"), Part: 3,
			Client: wamble.Peer{Addr: netip.MustParseAddrPort("192.0.2.7:4000")}, Data: []byte{1, 2, 3}},
		"01000014" + "046d61696e" + "03" + "06c0000207a00f" + "00000000" + "010203",
	},
	{
		Frame{Kind: KindReply, Name: []byte("main"), Part: 0,
			Client: wamble.Peer{Addr: netip.MustParseAddrPort("[2001:db8::1]:80"), Route: 9}, Data: []byte{4}},
		"0200001e" + "046d61696e" + "00" + "1220010db80000000000000000000000015000" + "00000009" + "04",
	},
	{
		Frame{Kind: KindEnded, Name: []byte("m"), Part: 63,
			Client: wamble.Peer{Addr: netip.MustParseAddrPort("[fe80::1%eth0]:80"), Route: 258}},
		"0300001e" + "016d" + "3f" + "16fe800000000000000000000000000001" + "65746830" + "5000" + "00000102",
	},
	{Frame{Kind: KindSubscribe, Name: []byte("main")}, "04000005" + "046d61696e"},
	{Frame{Kind: KindUnsubscribe, Name: []byte("main")}, "05000005" + "046d61696e"},
	{Frame{Kind: KindEvent, Name: []byte("main"), ID: 77, Data: []byte("e")}, "0600000e" + "046d61696e" + "000000000000004d" + "65"},
	{Frame{Kind: KindRequest, Name: []byte("status"), ID: 1, Data: []byte("?")}, "07000010" + "06737461747573" + "0000000000000001" + "3f"},
	{Frame{Kind: KindAnswer, ID: 1, Data: []byte("!")}, "08000009" + "0000000000000001" + "21"},
	{
		Frame{Kind: KindHangUp, Name: []byte("m"), Part: 1,
			Client: wamble.Peer{Addr: netip.MustParseAddrPort("192.0.2.7:4000"), Route: 258}},
		"0a00000e" + "016d" + "01" + "06c0000207a00f" + "00000102",
	},
	{Frame{Kind: KindLook}, "0b000000"},
	{Frame{Kind: KindRefusal, ID: 2, Data: []byte("no")}, "0900000a" + "0000000000000002" + "6e6f"},
}

// TestFrameGolden: each kind has its bytes, which decode to the same frame.
func TestFrameGolden(t *testing.T) {
	seen := map[Kind]bool{}
	for _, g := range golden {
		seen[g.frame.Kind] = true
		b, err := g.frame.Append([]byte("before"))
		if err != nil {
			t.Fatalf("%v: %v", g.frame.Kind, err)
		}
		if got := hex.EncodeToString(b[len("before"):]); got != g.hex {
			t.Errorf("%v: got %s, want %s", g.frame.Kind, got, g.hex)
		}
		var f Frame
		if known, err := f.Decode(b[len("before"):]); !known || err != nil || !reflect.DeepEqual(f, g.frame) {
			t.Errorf("%v: got %+v (%v, %v), want %+v", g.frame.Kind, f, known, err, g.frame)
		}
		for n := range len(b) - len("before") {
			if _, err := f.Decode(b[len("before"):][:n]); !errors.Is(err, ErrFrame) {
				t.Errorf("%v cut to %d bytes: got %v, want ErrFrame", g.frame.Kind, n, err)
			}
		}
	}
	for k := range kinds {
		if k := Kind(k); k.info() != nil && !seen[k] {
			t.Errorf("%v has no golden", k)
		}
	}
}

func TestFrameBounds(t *testing.T) {
	long := bytes.Repeat([]byte{'x'}, MaxName+1)
	client := wamble.Peer{Addr: netip.MustParseAddrPort("192.0.2.7:4000")}
	for name, f := range map[string]Frame{
		"no kind":      {},
		"unknown kind": {Kind: 200},
		"long name":    {Kind: KindSubscribe, Name: long},
		"long packet":  {Kind: KindPacket, Client: client, Data: make([]byte, wire.MaxPacket+1)},
		"no address":   {Kind: KindPacket},
		"data of none": {Kind: KindEnded, Client: client, Data: []byte{1}},
		"long request": {Kind: KindRequest, Data: make([]byte, MaxData+1)},
		"a long address": {Kind: KindEnded,
			Client: wamble.Peer{Addr: netip.AddrPortFrom(netip.MustParseAddr("fe80::1").WithZone(string(long)), 1)}},
	} {
		if b, err := f.Append([]byte{7}); !errors.Is(err, ErrFrame) || len(b) != 1 {
			t.Errorf("%s: got %d bytes and %v, want ErrFrame", name, len(b), err)
		}
	}
	for name, text := range map[string]string{
		"more than it has":      "04ffffff" + "046d61696e",
		"a longer name":         "04000002" + "ff6d",
		"rest":                  "04000006" + "046d61696e" + "00",
		"two frames":            "04000001" + "00" + "04000001" + "00",
		"an address in IPv6":    "03000019" + "00" + "00" + "1200000000000000000000ffffc0000207" + "a00f" + "00000000",
		"no address":            "03000009" + "00" + "00" + "020001" + "00000000",
		"an address of nothing": "03000007" + "00" + "00" + "00" + "00000000",
	} {
		b, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(name, err)
		}
		var f Frame
		if known, err := f.Decode(b); known || !errors.Is(err, ErrFrame) {
			t.Errorf("%s: got %+v and %v, want ErrFrame", name, f, err)
		}
	}
	var f Frame
	if known, err := f.Decode([]byte{99, 0, 0, 1, 5}); known || err != nil {
		t.Errorf("a kind of a newer node: got %v, %v; it is to be skipped", known, err)
	}
}

// TestAllocsFrame: a packet on its way costs no allocation.
func TestAllocsFrame(t *testing.T) {
	f := golden[0].frame
	var buffer []byte
	var back Frame
	if n := testing.AllocsPerRun(100, func() {
		buffer, _ = f.Append(buffer[:0])
		back.Decode(buffer)
	}); n != 0 {
		t.Errorf("got %v allocations for a packet, want none", n)
	}
}

func FuzzFrame(f *testing.F) {
	for _, g := range golden {
		b, _ := hex.DecodeString(g.hex)
		f.Add(b)
	}
	f.Add([]byte{99, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		var frame Frame
		known, err := frame.Decode(b)
		if err != nil || !known {
			return
		}
		again, err := frame.Append(nil)
		if err != nil {
			t.Fatalf("%+v was read, but cannot be written: %v", frame, err)
		}
		if !bytes.Equal(again, b) {
			t.Fatalf("got %x, want %x", again, b)
		}
	})
}

// FuzzRecord: for any record, a connection returns frames or ends.
func FuzzRecord(f *testing.F) {
	var all []byte
	for _, g := range golden {
		all, _ = g.frame.Append(all)
	}
	f.Add(all)
	f.Fuzz(func(t *testing.T, b []byte) {
		m := &Mesh{o: Options{Receive: func(_ uint32, frames []Frame) {
			if len(frames) == 0 {
				t.Error("nothing was received")
			}
		}}}
		c := newConn(m, nil, hello{}, secrets{}, true)
		c.node = &node{number: 7}
		for range maxPendingRequests { // no request is answered here
			c.requests.busy <- struct{}{}
		}
		c.dispatch(b)
		for i := range c.frames {
			if c.frames[i].Client.Node != 7 {
				t.Errorf("%v is of node %d", c.frames[i].Kind, c.frames[i].Client.Node)
			}
		}
	})
}
