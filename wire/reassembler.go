package wire

import (
	"bytes"

	"golang.org/x/crypto/blake2b"
)

// Reassembler joins fragments, one transfer at a time: a fragment of another transfer drops the
// previous one. It holds at most one payload of Max bytes. The zero value is usable.
type Reassembler struct {
	// Max is the largest accepted payload in bytes; 0 means MaxTransfer.
	Max int

	of      transferKey
	payload []byte // nil if no transfer is in progress
	seen    []bool
	missing int
}

// transferKey has the fields that all fragments of a transfer share.
type transferKey struct {
	ctrl     Control
	count    uint16
	total    uint32
	transfer uint32
	hash     Key
}

var (
	errTransferLen   = invalid("transfer is longer than accepted")
	errTransferCount = invalid("transfer has not the number of chunks that its length needs")
	errChunkLen      = invalid("chunk has not the length that its place needs")
	errChunkChanged  = invalid("chunk differs from the one received before")
	errTransferHash  = invalid("transfer does not have the hash that it announced")
)

// Add takes a fragment of the control code c and returns the whole payload if the fragment was
// the last missing one, else nil. The payload belongs to the caller, who decodes it with
// Packet.DecodePayload. An empty payload is not nil.
//
// The chunk is copied. An error drops the transfer, unless the fragment cannot be part of any
// transfer.
func (r *Reassembler) Add(c Control, f *Fragment) ([]byte, error) {
	limit := r.Max
	if limit == 0 {
		limit = MaxTransfer
	}
	if uint64(f.Total) > uint64(limit) {
		return nil, errTransferLen
	}
	total, from := int(f.Total), int(f.Index)*ChunkSize
	// The original relies on the number of chunks; this code on the length.
	if int(f.Count) != chunks(total) || f.Index >= f.Count {
		return nil, errTransferCount
	}
	if len(f.Chunk) != min(ChunkSize, total-from) {
		return nil, errChunkLen
	}
	if of := (transferKey{c, f.Count, f.Total, f.Transfer, f.Hash}); r.payload == nil || of != r.of {
		r.begin(of)
	}
	if r.seen[f.Index] {
		if !bytes.Equal(r.payload[from:from+len(f.Chunk)], f.Chunk) {
			r.Reset()
			return nil, errChunkChanged
		}
		return nil, nil
	}
	copy(r.payload[from:], f.Chunk)
	r.seen[f.Index] = true
	if r.missing--; r.missing > 0 {
		return nil, nil
	}
	payload := r.payload
	r.Reset()
	if blake2b.Sum256(payload) != f.Hash {
		return nil, errTransferHash
	}
	return payload, nil
}

// Reset drops the transfer in progress.
func (r *Reassembler) Reset() { r.of, r.payload, r.seen, r.missing = transferKey{}, nil, r.seen[:0], 0 }

func (r *Reassembler) begin(of transferKey) {
	r.of = of
	r.payload = make([]byte, of.total)
	r.missing = int(of.count)
	r.seen = append(r.seen[:0], make([]bool, of.count)...)
}
