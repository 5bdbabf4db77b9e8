package wire

import (
	"bytes"
	"testing"
)

// FuzzPacket: no panic; what is decoded can be encoded, and decodes to the same;
// the text form gives the same bytes.
func FuzzPacket(f *testing.F) {
	for _, name := range goldenFiles {
		for _, g := range readGolden(f, name) {
			f.Add(g.Bytes)
		}
	}
	var p, q Packet
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := p.Decode(b); err != nil {
			if p.Message != nil {
				t.Fatalf("refused, but there is a message: %v", p.Message)
			}
			return
		}
		form, err := FormatJSON(b)
		if err != nil {
			t.Fatal(err)
		}
		packet, err := ParseJSON(form)
		if err != nil || !bytes.Equal(packet, b) {
			t.Fatalf("text form %s\ngives %x (%v)\n want %x", form, packet, err, b)
		}
		again, err := Append(nil, p.Header, p.Message, p.Ext...)
		if err != nil {
			// Only a message that grows when it is written in full may not fit.
			if size, _ := Size(b); size < MaxPacket-4 {
				t.Fatal(err)
			}
			return
		}
		if err := q.Decode(again); err != nil {
			t.Fatalf("%x encodes to %x: %v", b, again, err)
		}
		last, err := Append(nil, q.Header, q.Message, q.Ext...)
		if err != nil || !bytes.Equal(again, last) {
			t.Fatalf("not stable: %x, then %x (%v)", again, last, err)
		}
	})
}

// FuzzText: ParseJSON does not panic, and what it accepts is a packet that
// Append could have made or that raw spells out.
func FuzzText(f *testing.F) {
	for _, g := range everyGolden(f) {
		f.Add([]byte(g.JSON))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		b, err := ParseJSON(text)
		if err != nil {
			return
		}
		if len(b) < HeaderSize {
			t.Fatalf("%s is a packet of %d bytes", text, len(b))
		}
	})
}

// FuzzExtension: trailers are read and written without loss, after any payload.
func FuzzExtension(f *testing.F) {
	for _, g := range everyGolden(f) {
		if size, err := Size(g.Bytes); err == nil {
			f.Add(g.Bytes[HeaderSize:size], true)
		}
	}
	f.Fuzz(func(t *testing.T, payload []byte, announced bool) {
		base, ext, err := decodeTrailer(nil, payload, announced)
		if err != nil {
			if !announced {
				t.Fatalf("a trailer that nobody announced is wrong: %v", err)
			}
			return
		}
		if len(ext) > MaxFields || !bytes.HasPrefix(payload, base) {
			t.Fatalf("%d fields, base %x", len(ext), base)
		}
		out, has, err := appendTrailer(bytes.Clone(base), 0, ext)
		if err != nil {
			t.Fatal(err)
		}
		base2, ext2, err := decodeTrailer(nil, out, has)
		if err != nil || !bytes.Equal(base2, base) || !sameExt(ext2, ext) {
			t.Fatalf("%x %v became %x %v (%v)", base, ext, base2, ext2, err)
		}
	})
}

// FuzzReassembler sends chunks of two transfers in the order that the fuzzer
// chooses, some of them damaged: each step is a chunk's number, which field is
// damaged, and how. Memory stays within Max, and only a whole and unchanged
// payload comes out.
func FuzzReassembler(f *testing.F) {
	f.Add(uint16(0), []byte{0, 0, 0})
	f.Add(uint16(1300), []byte{0, 0, 0, 2, 0, 0, 0, 0, 0, 2, 0, 0})
	f.Add(uint16(9000), []byte{0, 0, 0, 1, 0, 0, 3, 3, 9, 2, 0, 0, 2, 7, 1})
	const limit = 8 * ChunkSize
	f.Fuzz(func(t *testing.T, size uint16, steps []byte) {
		payload := alphabet(int(size) % (limit + 2*ChunkSize))
		steps = steps[:min(len(steps), 300)] // more of the same only costs time
		var transfers [2]Transfer
		for i := range transfers {
			var err error
			if transfers[i], err = NewTransfer(uint32(i), payload[:len(payload)/(i+1)]); err != nil {
				t.Fatal(err)
			}
		}
		r := Reassembler{Max: limit}
		for ; len(steps) >= 3; steps = steps[3:] {
			tr := transfers[steps[0]&1]
			fragment := tr.Fragment(int(steps[0]>>1) % tr.Chunks())
			damage(&fragment, steps[1], steps[2])
			got, err := r.Add(CtrlProfilesList, &fragment)
			if cap(r.payload) > limit || cap(r.seen) > 2*limit/ChunkSize {
				t.Fatalf("holds %d bytes and %d chunks", cap(r.payload), cap(r.seen))
			}
			if got != nil && (err != nil || !bytes.Equal(got, payload) && !bytes.Equal(got, payload[:len(payload)/2])) {
				t.Fatalf("a payload of %d bytes that nobody sent (%v)", len(got), err)
			}
		}
	})
}

// damage changes the field of f that which names; most values name none.
func damage(f *Fragment, which, by byte) {
	switch which {
	case 1:
		f.Index += uint16(by)
	case 2:
		f.Count += uint16(by) << 3
	case 3:
		f.Total += uint32(by) << 5
	case 4:
		f.Transfer += uint32(by)
	case 5:
		f.Hash[int(by)%len(f.Hash)] ^= by
	case 6:
		f.Chunk = f.Chunk[:len(f.Chunk)*int(by)/255]
	case 7:
		if f.Chunk = bytes.Clone(f.Chunk); len(f.Chunk) > 0 {
			f.Chunk[int(by)%len(f.Chunk)] ^= by
		}
	}
}
