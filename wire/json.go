package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"wamble"
)

// The text form of a packet is one JSON object, for tools, tests and documents:
//
//	ctrl, code        name and number of the control code
//	flags, flags_raw  names of the flags, and the byte
//	version           of the protocol
//	token             32 hexadecimal digits
//	board_id, seq     numbers
//	payload           the message; null when the packet is a fragment
//	ext               list of {key, type, value}, in the order of the wire
//	fragment          the envelope and the chunk, only when it is a fragment
//	raw               all bytes, only when the rest does not say them all
//
// raw also has what the other keys lack: bytes that receivers ignore, flags that the payload
// contradicts, a version byte of 0 and the like.
//
// These keys are optional when parsing: code, flags_raw, version, token, board_id, seq, payload
// and ext.

// packetJSON has the keys in the order of the output.
type packetJSON struct {
	Ctrl     string          `json:"ctrl"`
	Code     *uint8          `json:"code"`
	Flags    []string        `json:"flags"`
	FlagsRaw *uint8          `json:"flags_raw"`
	Version  *uint8          `json:"version"`
	Token    Bytes           `json:"token"`
	Board    Uint64          `json:"board_id"`
	Seq      uint32          `json:"seq"`
	Payload  json.RawMessage `json:"payload"`
	Ext      []fieldJSON     `json:"ext"`
	Fragment *fragmentJSON   `json:"fragment,omitempty"`
	Raw      Bytes           `json:"raw,omitempty"`
}

type fieldJSON struct {
	Key   Text            `json:"key"`
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
}

type fragmentJSON struct {
	Version  *uint8 `json:"version"`
	Hash     *uint8 `json:"hash_algo"`
	Index    uint16 `json:"chunk_index"`
	Count    uint16 `json:"chunk_count"`
	Total    uint32 `json:"total_len"`
	Transfer uint32 `json:"transfer_id"`
	Digest   Key    `json:"hash"`
	Length   *int   `json:"chunk_len"`
	Chunk    Bytes  `json:"chunk"`
}

// FormatJSON decodes a packet and returns its text form on one line. It returns the errors of
// Packet.Decode.
func FormatJSON(packet []byte) ([]byte, error) {
	var p Packet
	if err := p.Decode(packet); err != nil {
		return nil, err
	}
	form, err := formOf(p.Header, p.Message, p.Ext)
	if err != nil {
		return nil, err
	}
	again, err := Append(nil, p.Header, p.Message, p.Ext...)
	if err != nil || !bytes.Equal(again, packet) {
		form.Raw = packet
	}
	return marshal(form)
}

// ParseJSON encodes a packet from its text form. For every valid packet, FormatJSON and then
// ParseJSON return the same bytes.
func ParseJSON(text []byte) ([]byte, error) {
	var form packetJSON
	if err := strict(text, &form); err != nil {
		return nil, err
	}
	h, m, ext, err := form.parts()
	if err != nil {
		return nil, err
	}
	if form.Raw == nil {
		return Append(nil, h, m, ext...)
	}
	same, err := describes(form.Raw, h, m, ext)
	if err != nil {
		return nil, fmt.Errorf("raw: %w", err)
	}
	if !same {
		return nil, errors.New("raw and the other keys describe different packets; remove raw to encode the others")
	}
	return form.Raw, nil
}

// describes reports whether raw is a packet with these parts.
func describes(raw []byte, h Header, m Message, ext Ext) (bool, error) {
	var p Packet
	if err := p.Decode(raw); err != nil {
		return false, err
	}
	var texts [2][]byte
	for i, of := range []Packet{{Header: p.Header, Message: p.Message, Ext: p.Ext}, {Header: h, Message: m, Ext: ext}} {
		form, err := formOf(of.Header, of.Message, of.Ext)
		if err != nil {
			return false, err
		}
		if texts[i], err = marshal(form); err != nil {
			return false, err
		}
	}
	return bytes.Equal(texts[0], texts[1]), nil
}

func formOf(h Header, m Message, ext Ext) (*packetJSON, error) {
	form := &packetJSON{
		Ctrl:     h.Ctrl.String(),
		Code:     new(uint8(h.Ctrl)),
		Flags:    h.Flags.Names(h.Ctrl),
		FlagsRaw: new(uint8(h.Flags)),
		Version:  new(h.Version),
		Token:    h.Token[:],
		Board:    Uint64(h.Board),
		Seq:      h.Seq,
		Payload:  json.RawMessage("null"),
		Ext:      []fieldJSON{},
	}
	if f, ok := m.(*Fragment); ok {
		form.Fragment = &fragmentJSON{new(uint8(fragmentVersion)), new(uint8(hashBLAKE2b256)),
			f.Index, f.Count, f.Total, f.Transfer, f.Hash, new(len(f.Chunk)), f.Chunk}
		return form, nil
	}
	var err error
	if form.Payload, err = marshal(m); err != nil {
		return nil, err
	}
	for _, f := range ext {
		value, err := marshal(f.value())
		if err != nil {
			return nil, err
		}
		form.Ext = append(form.Ext, fieldJSON{Text(f.Key), f.Type.String(), value})
	}
	return form, nil
}

// parts returns the parts of the form, ignoring its raw bytes.
func (form *packetJSON) parts() (h Header, m Message, ext Ext, err error) {
	if h, err = form.header(); err != nil {
		return h, nil, nil, err
	}
	if form.Fragment != nil {
		m, err = form.Fragment.message()
		return h, m, nil, err
	}
	m = &Unknown{}
	if info, ok := h.Ctrl.Info(); ok {
		m = info.New()
	}
	if len(form.Payload) > 0 {
		if err := strict(form.Payload, m); err != nil {
			return h, nil, nil, fmt.Errorf("payload of %v: %w", h.Ctrl, err)
		}
	}
	for i, f := range form.Ext {
		field, err := f.field()
		if err != nil {
			return h, nil, nil, fmt.Errorf("ext %d: %w", i, err)
		}
		ext = append(ext, field)
	}
	return h, m, ext, nil
}

func (form *packetJSON) header() (Header, error) {
	h := Header{Version: Version, Board: wamble.BoardID(form.Board), Seq: form.Seq}
	if form.Ctrl == "" {
		return h, fmt.Errorf("%w: \"ctrl\", the name of the control code, is missing", ErrInvalid)
	}
	var err error
	if h.Ctrl, err = ParseControl(form.Ctrl); err != nil {
		return h, err
	}
	if form.Code != nil && Control(*form.Code) != h.Ctrl {
		return h, fmt.Errorf("%w: ctrl %s is not code %d", ErrInvalid, form.Ctrl, *form.Code)
	}
	if h.Flags, err = ParseFlags(h.Ctrl, form.Flags); err != nil {
		return h, err
	}
	if form.FlagsRaw != nil {
		if form.Flags != nil && h.Flags != Flags(*form.FlagsRaw) {
			return h, fmt.Errorf("%w: flags are 0x%02X, flags_raw is 0x%02X", ErrInvalid, uint8(h.Flags),
				*form.FlagsRaw)
		}
		h.Flags = Flags(*form.FlagsRaw)
	}
	if form.Version != nil {
		h.Version = *form.Version
	}
	if form.Token != nil && len(form.Token) != len(h.Token) {
		return h, fmt.Errorf("%w: a token has 32 hexadecimal digits", ErrInvalid)
	}
	copy(h.Token[:], form.Token)
	return h, nil
}

func (f *fragmentJSON) message() (*Fragment, error) {
	if f.Version != nil && *f.Version != fragmentVersion {
		return nil, errFragmentVersion
	}
	if f.Hash != nil && *f.Hash != hashBLAKE2b256 {
		return nil, errFragmentHash
	}
	if f.Length != nil && *f.Length != len(f.Chunk) {
		return nil, errFragmentLen
	}
	return &Fragment{f.Index, f.Count, f.Total, f.Transfer, f.Digest, f.Chunk}, nil
}

// value returns the field's value for marshalling.
func (f Field) value() any {
	switch f.Type {
	case TypeInt:
		return int64JSON(int64(f.num))
	case TypeDouble:
		return Float(f.Double())
	case TypeBool:
		return f.Bool()
	}
	return Text(f.Text())
}

func (f *fieldJSON) field() (Field, error) {
	out := Field{Key: f.Key.String()}
	if f.Value == nil {
		return out, fmt.Errorf("%w: field %q has no value", ErrInvalid, out.Key)
	}
	var err error
	switch f.Type {
	case TypeString.String():
		var v Text
		err = v.UnmarshalJSON(f.Value)
		out = String(out.Key, v.String())
	case TypeInt.String():
		var v int64
		v, err = parseInt64JSON(f.Value)
		out = Int(out.Key, v)
	case TypeDouble.String():
		var v Float
		err = v.UnmarshalJSON(f.Value)
		out = Double(out.Key, float64(v))
	case TypeBool.String():
		var v bool
		err = json.Unmarshal(f.Value, &v)
		out = Bool(out.Key, v)
	default:
		err = fmt.Errorf("%w: unknown type %q", ErrInvalid, f.Type)
	}
	return out, err
}

// marshal returns JSON on one line, without the escapes for HTML.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// strict decodes one JSON value, and refuses keys that v does not have.
func strict(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if kind := (*json.UnmarshalTypeError)(nil); errors.As(err, &kind) {
		// The library's error would name Go types of this package.
		return fmt.Errorf("%w: a JSON %s does not fit %s", ErrInvalid, kind.Value, cmp.Or(kind.Field, "here"))
	}
	if err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("there is something after the JSON object")
	}
	return nil
}
