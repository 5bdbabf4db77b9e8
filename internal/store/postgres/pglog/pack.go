package pglog

import (
	"fmt"

	"wamble/runner"
)

// packedPlain is the first byte of a stored record, which says how the rest is encoded.
const packedPlain = 0

// pack appends a record in its stored form.
func pack(dst, record []byte) []byte {
	return append(append(dst, packedPlain), record...)
}

// unpack appends the record in the stored form b.
func unpack(dst, b []byte) ([]byte, error) {
	if len(b) == 0 || b[0] != packedPlain {
		return nil, fmt.Errorf("a record of an unknown form: %w", runner.ErrDamaged)
	}
	return append(dst, b[1:]...), nil
}
