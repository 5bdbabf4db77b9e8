package tape

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"

	"wamble/internal/pack"
	"wamble/internal/profile"
)

// digest is a summary of the output of a step: enough to tell whether two outputs are equal, and in which
// part they differ.
type digest struct {
	packets, frames, other part
}

// part is the number of elements of one part of an output, and their hash.
type part struct {
	n    uint64
	hash [8]byte
}

func (d digest) append(b []byte) []byte {
	for _, p := range []part{d.packets, d.frames, d.other} {
		b = append(binary.AppendUvarint(b, p.n), p.hash[:]...)
	}
	return b
}

func readDigest(r *pack.Reader) digest {
	var d digest
	for _, p := range []*part{&d.packets, &d.frames, &d.other} {
		p.n = r.Uint()
		copy(p.hash[:], r.Take(8))
	}
	return d
}

// digester makes digests.
type digester struct {
	hash hash.Hash
	buf  pack.Writer
}

func newDigester() digester { return digester{hash: sha256.New()} }

func (g *digester) of(out *profile.Output) digest {
	var d digest
	for i := range out.Packets.Len() {
		to, packet := out.Packets.At(i)
		profile.PackPeer(&g.buf, to)
		g.buf.Bytes(packet)
		g.flush()
	}
	d.packets = g.part(out.Packets.Len())
	for i := range out.Frames.Len() {
		g.buf.Bytes(out.Frames.At(i))
		g.flush()
	}
	d.frames = g.part(out.Frames.Len())
	fmt.Fprintln(g.hash, out.DurableIndex, out.Loads, out.Leases, out.Next.UnixNano())
	d.other = g.part(len(out.Loads) + len(out.Leases))
	return d
}

// flush hashes the buffer and empties it.
func (g *digester) flush() {
	g.hash.Write(g.buf)
	g.buf = g.buf[:0]
}

// part ends the hash of n elements.
func (g *digester) part(n int) part {
	p := part{n: uint64(n)}
	copy(p.hash[:], g.hash.Sum(g.buf[:0]))
	g.hash.Reset()
	return p
}
