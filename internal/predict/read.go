package predict

import (
	"crypto/sha256"
	"encoding/binary"

	"wamble"
)

// Row is a prediction as readers see it, except Session: readers get the Pseudonym instead.
type Row struct {
	ID, Parent wamble.PredictionID
	Session    wamble.SessionID
	UCI        string
	Ply, Depth int
	Status     wamble.PredictionStatus
	Points     float64
}

// row returns the node at an index; the zero Row for none.
func (t *tree) row(place int32) Row {
	if place == none {
		return Row{}
	}
	n := &t.nodes[place]
	return Row{
		ID: n.id, Parent: t.parentID(n), Session: n.session, UCI: n.uci,
		Ply: int(n.ply), Depth: int(n.depth), Status: n.status, Points: n.points,
	}
}

// Read appends the predictions of a board down to a depth, oldest first and at most limit, and returns dst.
func (b *Table) Read(dst []Row, id wamble.BoardID, depth, limit int) []Row {
	t := b.trees[id]
	if t == nil {
		return dst
	}
	for i := range t.nodes {
		if limit == 0 {
			break
		}
		if int(t.nodes[i].depth) <= depth {
			dst = append(dst, t.row(int32(i)))
			limit--
		}
	}
	return dst
}

// Pseudonym returns the name under which a reader knows an author: always the same for these two, and
// different for every reader.
func (b *Table) Pseudonym(reader, author wamble.SessionID) (name [16]byte) {
	var text [32 + 8 + 8]byte
	copy(text[:], b.key[:])
	binary.LittleEndian.PutUint64(text[32:], uint64(reader))
	binary.LittleEndian.PutUint64(text[40:], uint64(author))
	sum := sha256.Sum256(text[:])
	copy(name[:], sum[:])
	return name
}
