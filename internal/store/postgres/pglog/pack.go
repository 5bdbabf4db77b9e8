package pglog

import (
	"fmt"

	"wamble/runner"
)

// The first byte of a record in the database says how the rest is written.
const packedPlain = 0

// pack appends a record as it is stored.
func pack(dst, record []byte) []byte {
	return append(append(dst, packedPlain), record...)
}

// unpack appends the record that pack has stored.
func unpack(dst, b []byte) ([]byte, error) {
	if len(b) == 0 || b[0] != packedPlain {
		return nil, fmt.Errorf("a record of an unknown form: %w", runner.ErrDamaged)
	}
	return append(dst, b[1:]...), nil
}
