package wire

import "encoding/binary"

// The extension trailer is the end of a payload:
//
//	0    1  version, 1
//	1    1  number of fields, at most 12
//	2       Field …
//	n    2  "WX"
//	n+2  2  n, the length of what comes before "WX", big-endian

var (
	errMagic      = invalid("extension trailer does not end in WX and its length")
	errExtLen     = invalid("extension trailer has an impossible length")
	errExtVersion = invalid("extension trailer has an unknown version")
	errExtCount   = invalid("extension trailer has more than 12 fields")
	errExtField   = invalid("extension field is cut off")
	errExtKey     = invalid("extension key is not 1 to 63 bytes long")
	errExtType    = invalid("extension field has an unknown type")
	errExtLeft    = invalid("extension trailer has bytes after its last field")
)

// decodeTrailer decodes a trailer, even if the header does not announce one. It returns the
// payload without it, and the fields in the memory of dst. Only an announced trailer can be an
// error; otherwise the whole payload is the message.
func decodeTrailer(dst Ext, payload []byte, announced bool) (base []byte, ext Ext, err error) {
	dst = dst[:0]
	if len(payload) < footerSize {
		return payload, dst, nil
	}
	body, err := trailerBody(payload)
	if err == nil {
		ext, err = decodeFields(dst, body)
	}
	if err == nil {
		return payload[:len(payload)-footerSize-len(body)], ext, nil
	}
	if announced {
		return nil, dst, err
	}
	return payload, dst, nil
}

func trailerBody(payload []byte) ([]byte, error) {
	end := len(payload) - footerSize
	footer := payload[end:]
	if footer[0] != magic0 || footer[1] != magic1 {
		return nil, errMagic
	}
	n := int(binary.BigEndian.Uint16(footer[2:]))
	if n < 2 || n > end {
		return nil, errExtLen
	}
	return payload[end-n : end], nil
}

func decodeFields(dst Ext, body []byte) (Ext, error) {
	if body[0] != extVersion {
		return dst, errExtVersion
	}
	n := int(body[1])
	if n > MaxFields {
		return dst, errExtCount
	}
	body = body[2:]
	for range n {
		dst = append(dst, Field{})
		rest, err := dst[len(dst)-1].decode(body)
		if err != nil {
			return dst, err
		}
		body = rest
	}
	if len(body) != 0 {
		return dst, errExtLeft
	}
	return dst, nil
}

// decode decodes a field into f, which must be zero, and returns the bytes after it.
func (f *Field) decode(b []byte) (rest []byte, err error) {
	if len(b) == 0 {
		return nil, errExtField
	}
	n := int(b[0])
	// The original copies longer keys beyond the end of a 64-byte array.
	if n == 0 || n > MaxKey {
		return nil, errExtKey
	}
	if len(b) < 1+n+1 {
		return nil, errExtField
	}
	f.Key, f.Type = internKey(b[1:1+n]), Type(b[1+n])
	b = b[2+n:]
	size, err := valueSize(f.Type, b)
	if err != nil {
		return nil, err
	}
	if len(b) < size {
		return nil, errExtField
	}
	switch f.Type {
	case TypeString:
		f.view = b[2:min(size, 2+MaxString)]
	case TypeInt, TypeDouble:
		f.num = binary.BigEndian.Uint64(b)
	case TypeBool:
		f.num = uint64(oneIf(b[0] != 0))
	}
	return b[size:], nil
}

// valueSize returns the number of bytes of the value at the start of b.
func valueSize(t Type, b []byte) (int, error) {
	switch t {
	case TypeString:
		if len(b) < 2 {
			return 0, errExtField
		}
		return 2 + int(binary.BigEndian.Uint16(b)), nil
	case TypeInt, TypeDouble:
		return 8, nil
	case TypeBool:
		return 1, nil
	}
	return 0, errExtType
}

var (
	errManyFields  = tooLong("a packet has at most 12 extension fields")
	errLongKey     = tooLong("an extension key has 1 to 63 bytes")
	errLongString  = tooLong("an extension string has at most 255 bytes")
	errUnknownType = invalid("a field is made by String, Int, Double or Bool")
)

// appendTrailer appends the trailer of ext to a base payload that begins at
// start, and reports whether there is one. Without fields there is none, unless
// the base itself looks like one: then an empty trailer protects it.
func appendTrailer(dst []byte, start int, ext Ext) ([]byte, bool, error) {
	if len(ext) == 0 && !looksLikeTrailer(dst[start:]) {
		return dst, false, nil
	}
	if len(ext) > MaxFields {
		return dst, false, errManyFields
	}
	body := len(dst)
	dst = append(dst, extVersion, byte(len(ext)))
	for i := range ext {
		var err error
		if dst, err = appendField(dst, &ext[i]); err != nil {
			return dst, false, err
		}
	}
	n := len(dst) - body
	return append(dst, magic0, magic1, byte(n>>8), byte(n)), true, nil
}

// looksLikeTrailer reports whether a receiver would take the end of base for a
// trailer.
func looksLikeTrailer(base []byte) bool {
	if len(base) < footerSize {
		return false
	}
	body, err := trailerBody(base)
	if err != nil {
		return false
	}
	var fields [MaxFields]Field
	_, err = decodeFields(fields[:0], body)
	return err == nil
}

func appendField(dst []byte, f *Field) ([]byte, error) {
	if f.Key == "" || len(f.Key) > MaxKey {
		return dst, errLongKey
	}
	dst = append(append(append(dst, byte(len(f.Key))), f.Key...), byte(f.Type))
	switch f.Type {
	case TypeString:
		n := f.textLen()
		if n > MaxString {
			return dst, errLongString
		}
		return f.AppendText(append(dst, 0, byte(n))), nil
	case TypeInt, TypeDouble:
		return binary.BigEndian.AppendUint64(dst, f.num), nil
	case TypeBool:
		return append(dst, byte(f.num)), nil
	}
	return dst, errUnknownType
}
