package wire

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"wamble"
)

// Object is a packet as one JSON object, the format of /ws/json, for clients that do not handle
// bytes. It has the names of the text form (see FormatJSON), but fewer keys:
//
//	id        a number or a string of the caller's choice; the answers have it
//	ctrl      name of the control code
//	flags     names of the flags, but for EXT_PAYLOAD and FRAGMENT_PAYLOAD
//	token     32 hexadecimal digits, or the 22 characters that players see
//	board_id  number
//	seq       number
//	payload   the message
//	ext       an object of the extension fields; the key says the type
//
// Absent keys are zero or empty.
type Object struct {
	ID json.RawMessage // nil if absent
	Header
	// Named and Numbered say that a token and a sequence number were present.
	Named, Numbered bool
	Message         Message
	Ext             Ext
}

// The bounds of a parsed object.
const (
	MaxObjectDepth = 6  // nested objects and lists
	MaxObjectID    = 64 // bytes, as written
)

// objectJSON is an object as it is parsed.
type objectJSON struct {
	ID      json.RawMessage `json:"id"`
	Ctrl    string          `json:"ctrl"`
	Flags   []string        `json:"flags"`
	Token   *string         `json:"token"`
	Board   Uint64          `json:"board_id"`
	Seq     *uint32         `json:"seq"`
	Payload json.RawMessage `json:"payload"`
	Ext     fieldsJSON      `json:"ext"`
}

var (
	errDepth    = invalid("the object is nested too deeply")
	errObjectID = invalid("id is not a number or a string of at most 64 bytes")
	errNoCtrl   = invalid(`"ctrl", the name of the control code, is missing`)
	errNoToken  = invalid("a token has 32 hexadecimal digits, or 22 characters")
)

// ParseObject parses an object. The caller bounds its length. After an error only the ID is
// valid, if it could be parsed.
func ParseObject(text []byte) (o Object, err error) {
	if deeper(text, MaxObjectDepth) {
		return o, errDepth
	}
	var form objectJSON
	err = strict(text, &form)
	if len(form.ID) <= MaxObjectID && len(form.ID) > 0 && bytes.IndexByte([]byte(`"-0123456789`), form.ID[0]) >= 0 {
		o.ID = form.ID
	} else if err == nil && form.ID != nil && string(form.ID) != "null" {
		err = errObjectID
	}
	if err != nil {
		return o, err
	}
	if form.Ctrl == "" {
		return o, errNoCtrl
	}
	o.Header = Header{Version: Version, Board: wamble.BoardID(form.Board)}
	if o.Ctrl, err = ParseControl(form.Ctrl); err != nil {
		return o, err
	}
	if o.Flags, err = ParseFlags(o.Ctrl, form.Flags); err != nil {
		return o, err
	}
	if form.Seq != nil {
		o.Seq, o.Numbered = *form.Seq, true
	}
	if form.Token != nil {
		if o.Token, err = parseToken(*form.Token); err != nil {
			return o, err
		}
		o.Named = true
	}
	o.Message, o.Ext = Message(&Unknown{}), Ext(form.Ext)
	if info, ok := o.Ctrl.Info(); ok {
		o.Message = info.New()
	}
	if len(form.Payload) > 0 {
		if err := strict(form.Payload, o.Message); err != nil {
			return o, fmt.Errorf("payload of %v: %w", o.Ctrl, err)
		}
	}
	return o, nil
}

// parseToken parses either form of a token.
func parseToken(s string) (t wamble.Token, err error) {
	if len(s) == hex.EncodedLen(len(t)) {
		if _, err := hex.Decode(t[:], []byte(s)); err == nil {
			return t, nil
		}
	} else if t, err = wamble.ParseToken(s); err == nil {
		return t, nil
	}
	return wamble.Token{}, errNoToken
}

// deeper reports whether text has more than limit nested objects and lists. For invalid JSON
// either result is possible.
func deeper(text []byte, limit int) bool {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > limit {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// AppendObject appends a decoded packet as an object, on one line, with the id of the request
// that it answers, if there is one. A fragment has no object: join the transfer first.
func AppendObject(dst []byte, id []byte, p *Packet) ([]byte, error) {
	if isFragment(p.Message) {
		return dst, errIsFragment
	}
	payload, err := marshal(p.Message)
	if err != nil {
		return dst, err
	}
	start := len(dst)
	dst = append(dst, '{')
	if len(id) > 0 {
		dst = append(append(append(dst, `"id":`...), id...), ',')
	}
	dst = append(append(append(dst, `"ctrl":"`...), p.Ctrl.String()...), '"')
	if flags := p.Flags &^ (FlagExt | FlagFragment); flags != 0 {
		dst = append(dst, `,"flags":[`...)
		for i, name := range flags.Names(p.Ctrl) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(append(append(dst, '"'), name...), '"')
		}
		dst = append(dst, ']')
	}
	if !p.Token.IsZero() {
		dst = append(hex.AppendEncode(append(dst, `,"token":"`...), p.Token[:]), '"')
	}
	if p.Board != 0 {
		board, _ := Uint64(p.Board).MarshalJSON()
		dst = append(append(dst, `,"board_id":`...), board...)
	}
	if p.Seq != 0 {
		dst = strconv.AppendUint(append(dst, `,"seq":`...), uint64(p.Seq), 10)
	}
	if string(payload) != "{}" {
		dst = append(append(dst, `,"payload":`...), payload...)
	}
	if len(p.Ext) > 0 {
		ext, err := marshal(fieldsJSON(p.Ext))
		if err != nil {
			return dst[:start], err
		}
		dst = append(append(dst, `,"ext":`...), ext...)
	}
	return append(dst, '}'), nil
}

var errIsFragment = invalid("a fragment is not a whole message")

// fieldsJSON are extension fields as one JSON object, in the order of the packet. If a key
// occurs twice, the first field counts.
type fieldsJSON Ext

// MarshalJSON writes {"key": value, …}.
func (e fieldsJSON) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, f := range e {
		if slices.ContainsFunc(e[:i], func(before Field) bool { return before.Key == f.Key }) {
			continue
		}
		key, err := marshal(strings.ToValidUTF8(f.Key, "\uFFFD"))
		if err != nil {
			return nil, err
		}
		value, err := marshal(f.value())
		if err != nil {
			return nil, err
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(append(b, key...), ':'), value...)
	}
	return append(b, '}'), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (e *fieldsJSON) UnmarshalJSON(b []byte) error {
	*e = nil
	d := json.NewDecoder(bytes.NewReader(b))
	if first, err := d.Token(); err != nil || first != json.Delim('{') {
		return fmt.Errorf("%w: ext is not an object", ErrInvalid)
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		if len(*e) == MaxFields {
			return errManyFields
		}
		form := fieldJSON{Key: Text(key.(string)), Type: typeOf(key.(string), value).String(), Value: value}
		field, err := form.field()
		if err != nil {
			return fmt.Errorf("%w: ext %.63q: %v", ErrInvalid, key, err)
		}
		*e = append(*e, field)
	}
	if _, err := d.Token(); err != nil && err != io.EOF {
		return err
	}
	return nil
}

// typeOf returns the type of a key: that of the table or, for an unknown key, one that fits the
// value.
func typeOf(key string, value []byte) Type {
	for _, k := range KnownKeys {
		if k.Key == key {
			return k.Type
		}
	}
	switch {
	case string(value) == "true" || string(value) == "false":
		return TypeBool
	case len(value) > 0 && (value[0] == '"' || value[0] == '{'):
		return TypeString
	case bytes.ContainsAny(value, ".eE") || string(value) == "-0":
		return TypeDouble
	}
	return TypeInt
}
