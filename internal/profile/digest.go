package profile

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"wamble/internal/pack"
)

// digest is the output of a step, in short: enough to tell whether two are the
// same, and where they differ.
type digest struct {
	packets, frames, rest part
}

// part is one part of an output: how many there are, and a hash of them.
type part struct {
	n    uint64
	hash [8]byte
}

func (d digest) append(b []byte) []byte {
	for _, p := range []part{d.packets, d.frames, d.rest} {
		b = append(binary.AppendUvarint(b, p.n), p.hash[:]...)
	}
	return b
}

func readDigest(r *pack.Reader) digest {
	var d digest
	for _, p := range []*part{&d.packets, &d.frames, &d.rest} {
		p.n = r.Uint()
		copy(p.hash[:], r.Take(8))
	}
	return d
}

// digester makes digests.
type digester struct {
	hash hash.Hash
	buf  []byte
}

func newDigester() digester { return digester{hash: sha256.New()} }

func (g *digester) of(out *Output) digest {
	var d digest
	for i := range out.Packets.Len() {
		to, packet := out.Packets.At(i)
		w := pack.Writer(g.buf[:0])
		packPeer(&w, to)
		w.Bytes(packet)
		g.buf = w
		g.hash.Write(w)
	}
	d.packets = g.part(out.Packets.Len())
	for i := range out.Frames.Len() {
		w := pack.Writer(g.buf[:0])
		w.Bytes(out.Frames.At(i))
		g.buf = w
		g.hash.Write(w)
	}
	d.frames = g.part(out.Frames.Len())
	b := binary.AppendUvarint(g.buf[:0], out.Gate)
	for i := range out.Loads {
		b = out.Loads[i].append(b)
	}
	for _, l := range out.Leases {
		b = binary.AppendUvarint(append(b, byte(l.Sequence)), uint64(l.Count))
	}
	if !out.Next.IsZero() {
		b = binary.AppendVarint(b, out.Next.UnixNano())
	}
	g.buf = b
	g.hash.Write(b)
	d.rest = g.part(len(out.Loads) + len(out.Leases))
	return d
}

// part ends the hash of n things.
func (g *digester) part(n int) part {
	p := part{n: uint64(n)}
	g.buf = g.hash.Sum(g.buf[:0])
	copy(p.hash[:], g.buf)
	g.hash.Reset()
	return p
}
