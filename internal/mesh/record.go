package mesh

import (
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"golang.org/x/crypto/chacha20poly1305"
)

// The sizes of records in bytes. A record has complete frames.
const (
	recordHeader = 4
	maxRecord    = maxFrame // longest content
	// fullRecord bounds a record of several frames.
	fullRecord = 16 << 10
)

// ErrRecord is returned for a record that the other end has not sealed as its next one.
var ErrRecord = errors.New("not the next record")

// sealer seals or opens the records of one direction. Their count is the nonce.
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

// seal appends a sealed record of frames to dst. They must not overlap.
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

// open decrypts the frames of a record in place. Errors: ErrRecord.
func (s *sealer) open(header, sealed []byte) ([]byte, error) {
	nonce := s.nonce()
	frames, err := s.aead.Open(sealed[:0], nonce[:], sealed, header)
	if err != nil {
		return nil, ErrRecord
	}
	return frames, nil
}

// recordReader reads records into a buffer.
type recordReader struct {
	from   io.Reader
	sealer *sealer
	header [recordHeader]byte
	buffer []byte
}

// next returns the frames of the next record, which are valid until the following call.
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
