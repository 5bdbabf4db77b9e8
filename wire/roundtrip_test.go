package wire

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"wamble"
	"wamble/internal/prooftest"
)

// TestRandomRoundTrip encodes random messages of every type with random
// extensions and reads them again: in one packet, and in fragments.
func TestRandomRoundTrip(t *testing.T) {
	rounds := prooftest.Sized(100, 100, 20_000)
	r := prooftest.Random(t)
	var p Packet
	for range rounds {
		for _, c := range Controls() {
			info, _ := c.Info()
			m := info.New()
			randomize(r, reflect.ValueOf(m).Elem())
			ext := randomExt(r)
			if err := roundTrip(r, &p, m, ext); err != nil {
				t.Fatalf("%v %+v %v: %v", c, m, ext, err)
			}
		}
	}
}

func roundTrip(r *rand.Rand, p *Packet, m Message, ext Ext) error {
	h := Header{Ctrl: m.Control(), Flags: Flags(r.Uint32()) &^ (FlagExt | FlagFragment),
		Version: uint8(1 + r.IntN(255)),
		Board:   wamble.BoardID(r.Uint64()), Seq: r.Uint32()}
	randomBytes(r, h.Token[:])
	b, err := Append(nil, h, m, ext...)
	if err != nil {
		return throughFragments(p, h, m, ext)
	}
	if err := p.Decode(b); err != nil {
		return err
	}
	if got := p.Flags &^ FlagExt; got != h.Flags {
		return fmt.Errorf("flags %#02x, want %#02x", got, h.Flags)
	}
	p.Flags = h.Flags
	return same(p, h, m, ext)
}

// throughFragments is the way of a payload that is too long for a packet.
func throughFragments(p *Packet, h Header, m Message, ext Ext) error {
	payload, err := AppendPayload(nil, m, ext...)
	if err != nil {
		return err
	}
	transfer, err := NewTransfer(1, payload)
	if err != nil {
		return err
	}
	if transfer.Chunks() == 1 {
		return fmt.Errorf("a payload of %d bytes was refused", len(payload))
	}
	if !h.Ctrl.MayFragment() {
		return nil // the sender gets the error that it is too long
	}
	var join Reassembler
	var whole []byte
	for i := range transfer.Chunks() {
		b, err := Append(nil, h, transfer.Fragment(i))
		if err != nil {
			return err
		}
		if err := p.Decode(b); err != nil {
			return err
		}
		if whole, err = join.Add(p.Ctrl, p.Message.(*Fragment)); err != nil {
			return err
		}
	}
	if err := p.DecodePayload(h, whole); err != nil {
		return err
	}
	return same(p, h, m, ext)
}

func same(p *Packet, h Header, m Message, ext Ext) error {
	if p.Header != h {
		return fmt.Errorf("header %+v, want %+v", p.Header, h)
	}
	if !reflect.DeepEqual(p.Message, m) {
		return fmt.Errorf("message %+v", p.Message)
	}
	if !sameExt(p.Ext, ext) || len(p.Rest) != 0 {
		return fmt.Errorf("ext %v, rest %x", p.Ext, p.Rest)
	}
	return nil
}

func randomBytes(r *rand.Rand, b []byte) {
	for i := range b {
		b[i] = byte(r.Uint32())
	}
}

func randomExt(r *rand.Rand) Ext {
	var ext Ext
	for range r.IntN(MaxFields + 1) {
		key := KnownKeys[r.IntN(len(KnownKeys))].Key
		if r.IntN(4) == 0 {
			b := make([]byte, 1+r.IntN(MaxKey))
			randomBytes(r, b)
			key = string(b)
		}
		text := make([]byte, r.IntN(MaxString+1))
		randomBytes(r, text)
		ext = append(ext, []Field{Int(key, int64(r.Uint64())), Double(key, r.NormFloat64()), Bool(key, r.IntN(2) == 0),
			String(key, string(text)), textView(key, text)}[r.IntN(5)])
	}
	return ext
}

// randomize fills the exported fields of a message.
func randomize(r *rand.Rand, v reflect.Value) {
	switch x := v.Addr().Interface().(type) {
	case *UCI:
		b := make([]byte, r.IntN(maxUCI+1))
		randomBytes(r, b)
		*x, _ = MakeUCI(b)
		return
	case *Text:
		*x = make(Text, r.IntN(256))
		randomBytes(r, *x)
		return
	case *LoginRequest:
		randomBytes(r, x.PublicKey[:])
		if r.IntN(2) == 0 {
			randomBytes(r, x.proof[:])
			x.Signature = &x.proof
		}
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Float64:
		v.SetFloat(r.NormFloat64())
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(r.Uint64() & (1<<v.Type().Bits() - 1))
	case reflect.Array:
		for i := range v.Len() {
			randomize(r, v.Index(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), r.IntN(MaxRows+1), MaxRows))
		for i := range v.Len() {
			randomize(r, v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				randomize(r, v.Field(i))
			}
		}
	}
}
