package wire

import (
	"bytes"
	"encoding/json"
)

// strict reads JSON that may have only the keys of v.
func strict(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	return d.Decode(v)
}
