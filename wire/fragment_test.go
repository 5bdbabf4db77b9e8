package wire

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"testing"

	"golang.org/x/crypto/blake2b"
)

// alphabet is the payload of the golden transfer: a to z again and again.
func alphabet(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = 'a' + byte(i%26)
	}
	return b
}

func TestHashVectors(t *testing.T) {
	for _, tt := range []struct {
		name    string
		payload []byte
		want    string
	}{
		{"nothing", nil, "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8"},
		{"terms", []byte("Be nice."), "a987a28e82eb46647eb8660ff61846fd1d2f20b46ffb441868b99787b2c0651b"},
		{"alphabet", alphabet(1300), "1e2e0a5deb53ef9d7dec72ef71c8afb725174b7d3915e0550cf3222b6b27e8d5"},
	} {
		tr, err := NewTransfer(1, tt.payload)
		if err != nil {
			t.Fatal(err)
		}
		if got := hex.EncodeToString(tr.hash[:]); got != tt.want {
			t.Errorf("hash of %s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// TestTransferGolden cuts the payloads of the golden fragments and compares the
// packets.
func TestTransferGolden(t *testing.T) {
	packets := map[string][]byte{}
	for _, name := range []string{"original", "ours"} {
		for _, g := range readGolden(t, name) {
			packets[g.ID] = g.Bytes
		}
	}
	terms, err := AppendPayload(nil, ProfileTOSData{Text("Be nice.")}, String(KeyProfileName, "open"),
		Int(KeyRequestSeq, 20))
	if err != nil {
		t.Fatal(err)
	}
	none, err := AppendPayload(nil, ActiveReservationsData{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		id      string
		ctrl    Control
		payload []byte
		index   int
	}{
		{"G46", CtrlProfileTOSData, terms, 0},
		{"G47", CtrlProfilesList, alphabet(1300), 0},
		{"W12", CtrlProfilesList, alphabet(1300), 1},
		{"G52", CtrlActiveReservationsData, none, 0},
	} {
		h, err := Peek(packets[tt.id])
		if err != nil {
			t.Fatal(tt.id, err)
		}
		var p Packet
		if err := p.Decode(packets[tt.id]); err != nil {
			t.Fatal(tt.id, err)
		}
		tr, err := NewTransfer(p.Message.(*Fragment).Transfer, tt.payload)
		if err != nil {
			t.Fatal(tt.id, err)
		}
		h.Flags = 0
		got, err := Append(nil, h, tr.Fragment(tt.index))
		if err != nil {
			t.Fatal(tt.id, err)
		}
		if !bytes.Equal(got, packets[tt.id]) {
			t.Errorf("%s\n got %x\nwant %x", tt.id, got, packets[tt.id])
		}
	}
}

func TestReassemble(t *testing.T) {
	for _, size := range []int{0, 1, 1151, 1152, 1153, 2304, 2305, 100_000, MaxTransfer} {
		payload := alphabet(size)
		tr, err := NewTransfer(7, payload)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := tr.Chunks(), max(1, (size+1151)/1152); got != want {
			t.Errorf("%d bytes are %d chunks, want %d", size, got, want)
		}
		order := rand.New(rand.NewPCG(1, uint64(size))).Perm(tr.Chunks())
		var r Reassembler
		for i, index := range order {
			f := tr.Fragment(index)
			if len(order) > 1 && i > 0 { // a repeated chunk changes nothing
				again := tr.Fragment(order[i-1])
				if got, err := r.Add(CtrlProfilesList, &again); got != nil || err != nil {
					t.Fatalf("%d bytes, repeated chunk: %d bytes, %v", size, len(got), err)
				}
			}
			got, err := r.Add(CtrlProfilesList, &f)
			if err != nil {
				t.Fatal(err)
			}
			if last := i == len(order)-1; (got != nil) != last {
				t.Fatalf("%d bytes: chunk %d of %d gives a payload: %v", size, i, len(order), got != nil)
			} else if last && !bytes.Equal(got, payload) {
				t.Fatalf("%d bytes: the payload differs", size)
			}
		}
	}
	if _, err := NewTransfer(1, make([]byte, MaxTransfer+1)); !errors.Is(err, ErrTooLong) {
		t.Errorf("over a MiB: %v", err)
	}
}

func TestReassemblerRefuses(t *testing.T) {
	tr, err := NewTransfer(7, alphabet(3000))
	if err != nil {
		t.Fatal(err)
	}
	change := func(index int, f func(*Fragment)) Fragment {
		fragment := tr.Fragment(index)
		f(&fragment)
		return fragment
	}
	for _, tt := range []struct {
		name string
		max  int
		bad  Fragment
	}{
		{"longer than a MiB", 0, change(0, func(f *Fragment) { f.Total = 1<<20 + 1; f.Count = 911 })},
		{"longer than Max", 2999, tr.Fragment(0)},
		{"4 GiB", 0, change(0, func(f *Fragment) { f.Total = 1<<32 - 1; f.Count = 65535 })},
		{"more chunks than the length needs", 0, change(0, func(f *Fragment) { f.Count = 65535 })},
		{"fewer chunks than the length needs", 0, change(0, func(f *Fragment) { f.Count = 2 })},
		{"index outside", 0, change(0, func(f *Fragment) { f.Index = 3 })},
		{"short chunk in the middle", 0, change(1, func(f *Fragment) { f.Chunk = f.Chunk[:1151] })},
		{"short last chunk", 0, change(2, func(f *Fragment) { f.Chunk = f.Chunk[:1] })},
		{"chunk that differs from the first copy", 0, change(0, func(f *Fragment) { f.Chunk = alphabet(1153)[1:] })},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := Reassembler{Max: tt.max}
			first := tr.Fragment(0)
			if _, err := r.Add(CtrlProfilesList, &first); err != nil && tt.max == 0 {
				t.Fatal(err)
			}
			if got, err := r.Add(CtrlProfilesList, &tt.bad); !errors.Is(err, ErrInvalid) || got != nil {
				t.Errorf("error %v, %d bytes", err, len(got))
			}
		})
	}
}

func TestReassemblerChecksTheHash(t *testing.T) {
	f := Fragment{Count: 1, Total: 3, Chunk: Bytes("abc"), Hash: blake2b.Sum256([]byte("abd"))}
	var r Reassembler
	if got, err := r.Add(CtrlError, &f); !errors.Is(err, ErrInvalid) || got != nil {
		t.Errorf("error %v, payload %q", err, got)
	}
	f.Hash = blake2b.Sum256([]byte("abc"))
	if got, err := r.Add(CtrlError, &f); err != nil || string(got) != "abc" {
		t.Errorf("afterwards: error %v, payload %q", err, got)
	}
}

// TestReassemblerHoldsOneTransfer: any difference in what fragments have in
// common begins a new transfer.
func TestReassemblerHoldsOneTransfer(t *testing.T) {
	payload := alphabet(2000)
	tr, err := NewTransfer(7, payload)
	if err != nil {
		t.Fatal(err)
	}
	first, second := tr.Fragment(0), tr.Fragment(1)
	for _, tt := range []struct {
		name  string
		ctrl  Control
		other Fragment
	}{
		{"control code", CtrlError, second},
		{"transfer", CtrlProfilesList, func(f Fragment) Fragment { f.Transfer = 8; return f }(second)},
		{"hash", CtrlProfilesList, func(f Fragment) Fragment { f.Hash[0]++; return f }(second)},
		{"length", CtrlProfilesList, func(f Fragment) Fragment { f.Total++; f.Chunk = alphabet(849); return f }(second)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var r Reassembler
			for _, step := range []struct {
				c Control
				f Fragment
			}{{CtrlProfilesList, first}, {tt.ctrl, tt.other}, {CtrlProfilesList, second}} {
				if got, err := r.Add(step.c, &step.f); err != nil || got != nil {
					t.Fatalf("%d bytes, %v", len(got), err)
				}
			}
			if got, err := r.Add(CtrlProfilesList, &first); err != nil || !bytes.Equal(got, payload) {
				t.Errorf("both chunks again: %d bytes, %v", len(got), err)
			}
		})
	}
}

// TestReassembledPayload reads the extensions from inside the envelope.
func TestReassembledPayload(t *testing.T) {
	for _, g := range readGolden(t, "original") {
		if g.ID != "G46" {
			continue
		}
		var p Packet
		if err := p.Decode(g.Bytes); err != nil {
			t.Fatal(err)
		}
		var r Reassembler
		payload, err := r.Add(p.Ctrl, p.Message.(*Fragment))
		if err != nil {
			t.Fatal(err)
		}
		if err := p.DecodePayload(p.Header, payload); err != nil {
			t.Fatal(err)
		}
		name, _ := p.Ext.Text(KeyProfileName)
		seq, _ := p.Ext.Int(KeyRequestSeq)
		if got := p.Message.(*ProfileTOSData).Terms.String(); got != "Be nice." || name != "open" || seq != 20 {
			t.Errorf("terms %q of %q, request %d", got, name, seq)
		}
		return
	}
	t.Fatal("no G46")
}
