package mesh

import (
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"golang.org/x/crypto/chacha20poly1305"
)

// Sizes of records. A record has whole frames.
const (
	recordHeader = 4
	maxRecord    = maxFrame // of its frames
	// fullRecord is when a record that has frames takes no more.
	fullRecord = 16 << 10
)

// ErrRecord is returned for a record that was not sealed by the other end, or not as
// the next one.
var ErrRecord = errors.New("not the next record")

// sealer seals the records of one direction, or opens them. The nonce is their count.
type sealer struct {
	aead  cipher.AEAD
	count uint64
}

func newSealer(key []byte) *sealer {
	aead, err := chacha20poly1305.New(key)
	if err != nil {
		panic(err) // a key of another size
	}
	return &sealer{aead: aead}
}

func (s *sealer) nonce() (n [chacha20poly1305.NonceSize]byte) {
	binary.BigEndian.PutUint64(n[4:], s.count)
	s.count++
	return n
}

// seal appends a record of frames to dst, which they are no part of.
func (s *sealer) seal(dst, frames []byte) []byte {
	at, nonce := len(dst), s.nonce()
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(frames)+s.aead.Overhead()))
	return s.aead.Seal(dst, nonce[:], frames, dst[at:at+recordHeader])
}

// sizeOf returns how many bytes follow the header of a record. Errors: ErrRecord.
func (s *sealer) sizeOf(header []byte) (int, error) {
	n := int(binary.BigEndian.Uint32(header))
	if n < s.aead.Overhead() || n > maxRecord+s.aead.Overhead() {
		return 0, fmt.Errorf("%w: it says that it has %d bytes", ErrRecord, n)
	}
	return n, nil
}

// open returns the frames of a record, in the memory of what was sealed.
func (s *sealer) open(header, sealed []byte) ([]byte, error) {
	nonce := s.nonce()
	frames, err := s.aead.Open(sealed[:0], nonce[:], sealed, header)
	if err != nil {
		return nil, ErrRecord
	}
	return frames, nil
}

// recordReader reads records, into a buffer that it keeps.
type recordReader struct {
	from   io.Reader
	sealer *sealer
	header [recordHeader]byte
	buffer []byte
}

// next returns the frames of the next record, which are good until the following call.
func (r *recordReader) next() ([]byte, error) {
	if _, err := io.ReadFull(r.from, r.header[:]); err != nil {
		return nil, err
	}
	n, err := r.sealer.sizeOf(r.header[:])
	if err != nil {
		return nil, err
	}
	if n > cap(r.buffer) {
		r.buffer = make([]byte, max(n, 2*fullRecord))
	}
	sealed := r.buffer[:n]
	if _, err := io.ReadFull(r.from, sealed); err != nil {
		return nil, err
	}
	return r.sealer.open(r.header[:], sealed)
}
