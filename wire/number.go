package wire

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Uint64 is a uint64 that JSON preserves: a number up to 2⁵³, above that a string of decimal
// digits, because many JSON parsers use float64.
type Uint64 uint64

// exact is the largest integer up to which all integers are exact in float64.
const exact = 1 << 53

// MarshalJSON writes a number, or a string above 2⁵³.
func (u Uint64) MarshalJSON() ([]byte, error) {
	s := strconv.FormatUint(uint64(u), 10)
	if u > exact {
		s = `"` + s + `"`
	}
	return []byte(s), nil
}

// UnmarshalJSON reads either form.
func (u *Uint64) UnmarshalJSON(b []byte) error {
	v, err := strconv.ParseUint(unquoted(b), 10, 64)
	*u = Uint64(v)
	return notWhole(b, err)
}

func notWhole(b []byte, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %s is not a whole number of 64 bits", ErrInvalid, b)
}

// int64JSON writes a signed number like Uint64.
func int64JSON(v int64) json.RawMessage {
	s := strconv.FormatInt(v, 10)
	if v > exact || v < -exact {
		s = `"` + s + `"`
	}
	return []byte(s)
}

func parseInt64JSON(b []byte) (int64, error) {
	v, err := strconv.ParseInt(unquoted(b), 10, 64)
	return v, notWhole(b, err)
}

func unquoted(b []byte) string {
	if len(b) >= 2 && b[0] == '"' && b[len(b)-1] == '"' {
		b = b[1 : len(b)-1]
	}
	return string(b)
}
