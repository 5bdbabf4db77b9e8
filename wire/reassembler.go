package wire

import (
	"bytes"

	"golang.org/x/crypto/blake2b"
)

// Reassembler joins fragments, one transfer at a time: a fragment of another
// transfer forgets what came before. It holds at most one payload of Max bytes.
// The zero value is ready.
type Reassembler struct {
	// Max is the largest payload to accept, in bytes; 0 means MaxTransfer.
	Max int

	of      transferKey
	payload []byte // nil while no transfer is under way
	seen    []bool
	missing int
}

// transferKey is what all fragments of a transfer have in common.
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

// Add takes a fragment of the control code c and returns the whole payload when
// it was the last one missing, else nil. The payload belongs to the caller; read
// it with Packet.DecodePayload. It is not nil even when it is empty.
//
// The chunk is copied. An error forgets the transfer, except when a fragment
// could never have been part of it.
func (r *Reassembler) Add(c Control, f *Fragment) ([]byte, error) {
	limit := r.Max
	if limit == 0 {
		limit = MaxTransfer
	}
	if uint64(f.Total) > uint64(limit) {
		return nil, errTransferLen
	}
	total, from := int(f.Total), int(f.Index)*ChunkSize
	// The original trusts the number of chunks; here the length decides.
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

// Reset forgets the transfer under way.
func (r *Reassembler) Reset() { r.of, r.payload, r.seen, r.missing = transferKey{}, nil, r.seen[:0], 0 }

func (r *Reassembler) begin(of transferKey) {
	r.of = of
	r.payload = make([]byte, of.total)
	r.missing = int(of.count)
	r.seen = append(r.seen[:0], make([]bool, of.count)...)
}
