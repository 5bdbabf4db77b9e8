package wire

import (
	"encoding/binary"

	"golang.org/x/crypto/blake2b"
)

// Sizes of a fragment, in bytes.
const (
	EnvelopeSize = 48
	ChunkSize    = MaxPayload - EnvelopeSize // 1152
	// MaxTransfer is the largest payload in fragments, in bytes.
	MaxTransfer = 1 << 20
)

const (
	fragmentVersion = 1
	hashBLAKE2b256  = 1
)

// Fragment is one chunk of a payload, in a packet with flag 0x10. The header
// has the control code of the payload, which includes its extension trailer.
//
//	 0   1  version, 1
//	 1   1  hash, 1 = BLAKE2b-256 without a key
//	 2   2  index of the chunk
//	 4   2  number of chunks, at least 1
//	 6   4  length of the whole payload
//	10   4  transfer
//	14  32  hash of the whole payload
//	46   2  n, at most 1152
//	48   n  chunk
//
// Numbers are big-endian. Every chunk but the last has 1152 bytes; an empty
// payload is one chunk of 0 bytes.
type Fragment struct {
	Index    uint16
	Count    uint16
	Total    uint32
	Transfer uint32
	Hash     Key
	Chunk    Bytes
}

// Control returns 0: only the header has the control code.
func (Fragment) Control() Control { return 0 }

var (
	errLongChunk       = tooLong("a chunk has at most 1152 bytes")
	errShortFragment   = invalid("a fragment has at least 48 bytes")
	errFragmentVersion = invalid("fragment has an unknown version")
	errFragmentHash    = invalid("fragment has an unknown hash")
	errFragmentIndex   = invalid("fragment is not one of its transfer's chunks")
	errFragmentLen     = invalid("fragment and its chunk differ in length")
)

func (f Fragment) append(dst []byte) ([]byte, error) {
	if len(f.Chunk) > ChunkSize {
		return dst, errLongChunk
	}
	if f.Index >= f.Count {
		return dst, errFragmentIndex
	}
	dst = append(dst, fragmentVersion, hashBLAKE2b256)
	dst = binary.BigEndian.AppendUint16(dst, f.Index)
	dst = binary.BigEndian.AppendUint16(dst, f.Count)
	dst = binary.BigEndian.AppendUint32(dst, f.Total)
	dst = binary.BigEndian.AppendUint32(dst, f.Transfer)
	dst = append(dst, f.Hash[:]...)
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(f.Chunk)))
	return append(dst, f.Chunk...), nil
}

func (f *Fragment) decode(payload []byte) error {
	if len(payload) < EnvelopeSize {
		return errShortFragment
	}
	if payload[0] != fragmentVersion {
		return errFragmentVersion
	}
	if payload[1] != hashBLAKE2b256 {
		return errFragmentHash
	}
	f.Index = binary.BigEndian.Uint16(payload[2:])
	f.Count = binary.BigEndian.Uint16(payload[4:])
	if f.Index >= f.Count {
		return errFragmentIndex
	}
	f.Total = binary.BigEndian.Uint32(payload[6:])
	f.Transfer = binary.BigEndian.Uint32(payload[10:])
	copy(f.Hash[:], payload[14:])
	n := int(binary.BigEndian.Uint16(payload[46:]))
	if n > ChunkSize || n != len(payload)-EnvelopeSize {
		return errFragmentLen
	}
	f.Chunk = payload[EnvelopeSize:]
	return nil
}

// Transfer is a payload that is split into fragments. Its hash is computed once.
type Transfer struct {
	id      uint32
	hash    Key
	payload []byte
}

var errLongTransfer = tooLong("a payload has at most 1 MiB")

// NewTransfer splits a payload, which must not change while its fragments are used. The id
// distinguishes the transfers of one listener; it can be a counter that skips 0. A payload over
// MaxTransfer returns ErrTooLong.
func NewTransfer(id uint32, payload []byte) (Transfer, error) {
	if len(payload) > MaxTransfer {
		return Transfer{}, errLongTransfer
	}
	return Transfer{id, blake2b.Sum256(payload), payload}, nil
}

// Chunks returns the number of fragments: at least 1.
func (t Transfer) Chunks() int { return chunks(len(t.payload)) }

// Fragment returns fragment i, with 0 ≤ i < Chunks. Its chunk is a view into
// the payload.
func (t Transfer) Fragment(i int) Fragment {
	from := i * ChunkSize
	return Fragment{
		Index:    uint16(i),
		Count:    uint16(t.Chunks()),
		Total:    uint32(len(t.payload)),
		Transfer: t.id,
		Hash:     t.hash,
		Chunk:    t.payload[from:min(from+ChunkSize, len(t.payload))],
	}
}

func chunks(n int) int { return max(1, (n+ChunkSize-1)/ChunkSize) }
