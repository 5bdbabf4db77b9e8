package mesh

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"net/netip"
	"reflect"
	"testing"
	"testing/iotest"

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
		"00000015" + "01" + "03" + "046d61696e" + "06c0000207a00f" + "00000000" + "010203",
	},
	{
		Frame{Kind: KindEnded, Name: []byte("m"), Part: 63, Data: []byte{},
			Client: wamble.Peer{Addr: netip.MustParseAddrPort("[fe80::1%eth0]:80"), Route: 258}},
		"0000001f" + "02" + "3f" + "016d" + "16fe800000000000000000000000000001" + "65746830" + "5000" + "00000102",
	},
	{Frame{Kind: KindLook, Name: []byte{}, Data: []byte{}}, "0000000a" + "03" + "00" + "00" + "020000" + "00000000"},
	{
		Frame{Kind: KindReply, Name: []byte("main"), Part: 0,
			Client: wamble.Peer{Addr: netip.MustParseAddrPort("[2001:db8::1]:80"), Route: 9}, Data: []byte{4}},
		"0000001f" + "04" + "00" + "046d61696e" + "1220010db80000000000000000000000015000" + "00000009" + "04",
	},
	{
		Frame{Kind: KindHangUp, Name: []byte("m"), Part: 1, Data: []byte{},
			Client: wamble.Peer{Addr: netip.MustParseAddrPort("192.0.2.7:4000"), Route: 258}},
		"0000000f" + "05" + "01" + "016d" + "06c0000207a00f" + "00000102",
	},
}

// TestFrameGolden: each kind has its bytes, which decode to the same frame, in however many reads they
// arrive.
func TestFrameGolden(t *testing.T) {
	t.Parallel()
	seen := map[Kind]bool{}
	for _, g := range golden {
		seen[g.frame.Kind] = true
		b, err := g.frame.Append([]byte("before"))
		if err != nil {
			t.Fatalf("%d: %v", g.frame.Kind, err)
		}
		if got := hex.EncodeToString(b[len("before"):]); got != g.hex {
			t.Errorf("%d: got %s, want %s", g.frame.Kind, got, g.hex)
		}
		b = b[len("before"):]
		var f Frame
		if n, err := f.next(b); n != len(b) || err != nil || !reflect.DeepEqual(f, g.frame) {
			t.Errorf("%d: got %+v of %d bytes (%v), want %+v", g.frame.Kind, f, n, err, g.frame)
		}
		if err := readFrames(iotest.OneByteReader(bytes.NewReader(b)), 7, func(frames []Frame) {
			if len(frames) != 1 || frames[0].Client.Node != 7 || !bytes.Equal(frames[0].Data, g.frame.Data) {
				t.Errorf("byte by byte: got %+v, want %+v of node 7", frames, g.frame)
			}
		}); err != io.EOF {
			t.Errorf("byte by byte: %v", err)
		}
		for n := range b {
			if got, err := f.next(b[:n]); got != 0 || err != nil {
				t.Errorf("%d cut to %d bytes: got %d, %v, want that it is not complete", g.frame.Kind, n, got, err)
			}
		}
	}
	for k := KindPacket; k <= KindHangUp; k++ {
		if !seen[k] {
			t.Errorf("kind %d has no golden", k)
		}
	}
}

// TestFrameBounds: a frame with a field that is too long is not written, and bytes that are no frame are
// an error.
func TestFrameBounds(t *testing.T) {
	t.Parallel()
	long := bytes.Repeat([]byte{'x'}, MaxName+1)
	for name, f := range map[string]Frame{
		"long name":   {Kind: KindEnded, Name: long},
		"long packet": {Kind: KindPacket, Data: make([]byte, wire.MaxPacket+1)},
		"long address": {Kind: KindEnded,
			Client: wamble.Peer{Addr: netip.AddrPortFrom(netip.MustParseAddr("fe80::1").WithZone(string(long)), 1)}},
	} {
		if b, err := f.Append([]byte{7}); !errors.Is(err, ErrFrame) || len(b) != 1 {
			t.Errorf("%s: got %d bytes and %v, want ErrFrame", name, len(b), err)
		}
	}
	for name, text := range map[string]string{
		"longer than any":          "ffffffff",
		"empty":                    "00000000",
		"a name longer than it is": "00000004" + "0100ff6d",
		"a name longer than any":   "0000004a" + "0300" + "40" + hex.EncodeToString(long) + "020000" + "00000000",
		"no address":               "0000000a" + "01" + "00" + "00" + "020000" + "00000000",
		"an address of nothing":    "00000008" + "01" + "00" + "00" + "00" + "00000000",
		"an address in IPv6":       "0000001a" + "0200" + "00" + "1200000000000000000000ffffc0000207" + "a00f" + "00000000",
	} {
		b, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(name, err)
		}
		var f Frame
		if n, err := f.next(b); n != 0 || !errors.Is(err, ErrFrame) {
			t.Errorf("%s: got %+v and %v, want ErrFrame", name, f, err)
		}
	}
}

// TestAllocsFrame: a packet on its way costs no allocation.
func TestAllocsFrame(t *testing.T) {
	f := golden[0].frame
	var buffer []byte
	var back Frame
	if n := testing.AllocsPerRun(100, func() {
		buffer, _ = f.Append(buffer[:0])
		back.next(buffer)
	}); n != 0 {
		t.Errorf("got %v allocations for a packet, want none", n)
	}
}

func FuzzFrame(f *testing.F) {
	for _, g := range golden {
		b, _ := hex.DecodeString(g.hex)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		readFrames(bytes.NewReader(b), 7, func(frames []Frame) {
			var again []byte
			for i := range frames {
				var err error
				if again, err = frames[i].Append(again); err != nil {
					t.Fatalf("%+v was read, but cannot be written: %v", frames[i], err)
				}
			}
			if len(b) <= readBuffer && !bytes.HasPrefix(b, again) {
				t.Fatalf("got %x, want %x", again, b)
			}
		})
	})
}
