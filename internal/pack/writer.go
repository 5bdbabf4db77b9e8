package pack

import (
	"encoding/binary"
	"math"
)

// Writer is the bytes written so far.
type Writer []byte

// Uint writes a number.
func (w *Writer) Uint(n uint64) { *w = binary.AppendUvarint(*w, n) }

// Int writes a number that may be negative.
func (w *Writer) Int(n int64) { *w = binary.AppendVarint(*w, n) }

// Float writes a number in 8 bytes, little endian.
func (w *Writer) Float(f float64) { *w = binary.LittleEndian.AppendUint64(*w, math.Float64bits(f)) }

// Raw writes bytes whose number the reader knows.
func (w *Writer) Raw(b ...byte) { *w = append(*w, b...) }

// Bytes writes bytes with their length.
func (w *Writer) Bytes(b []byte) {
	w.Uint(uint64(len(b)))
	*w = append(*w, b...)
}

// Text writes a text with its length.
func (w *Writer) Text(s string) {
	w.Uint(uint64(len(s)))
	*w = append(*w, s...)
}
