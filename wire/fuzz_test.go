package wire

import (
	"bytes"
	"encoding/binary"
	"testing"

	"golang.org/x/crypto/blake2b"
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

// FuzzExtension: trailers are read and written without loss, whatever comes
// before them.
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

// FuzzReassembler feeds a stream of fragments, of which the fuzzer chooses
// order and every byte. Memory stays within Max; a payload that comes out has
// the hash that was announced.
func FuzzReassembler(f *testing.F) {
	whole := func(payload []byte, id uint32) (stream []byte) {
		tr, err := NewTransfer(id, payload)
		if err != nil {
			f.Fatal(err)
		}
		for i := range tr.Chunks() {
			b, err := tr.Fragment(i).append(nil)
			if err != nil {
				f.Fatal(err)
			}
			stream = binary.BigEndian.AppendUint16(stream, uint16(len(b)))
			stream = append(stream, b...)
		}
		return stream
	}
	f.Add(whole(nil, 1))
	f.Add(whole([]byte("abc"), 1))
	f.Add(append(whole(alphabet(1300), 2), whole(alphabet(2400), 3)...))
	const limit = 8 * ChunkSize
	f.Fuzz(func(t *testing.T, stream []byte) {
		r := Reassembler{Max: limit}
		var fragment Fragment
		for len(stream) >= 2 {
			n := min(int(binary.BigEndian.Uint16(stream)), len(stream)-2)
			payload := stream[2 : 2+n]
			stream = stream[2+n:]
			if fragment.decode(payload) != nil {
				continue
			}
			got, err := r.Add(CtrlProfilesList, &fragment)
			if cap(r.payload) > limit || cap(r.seen) > 2*limit/ChunkSize {
				t.Fatalf("holds %d bytes and %d chunks", cap(r.payload), cap(r.seen))
			}
			if err == nil && got != nil && (len(got) != int(fragment.Total) || blake2b.Sum256(got) != fragment.Hash) {
				t.Fatalf("a payload of %d bytes with the wrong hash", len(got))
			}
		}
	})
}
