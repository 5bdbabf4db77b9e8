package wire

import (
	"fmt"
	"math"
	"slices"
)

// Type is the type of an extension field.
type Type uint8

// The types.
const (
	TypeString Type = 1
	TypeInt    Type = 2
	TypeDouble Type = 3
	TypeBool   Type = 4
)

// String returns the name of t: string, int, double or bool.
func (t Type) String() string {
	names := [...]string{TypeString: "string", TypeInt: "int", TypeDouble: "double", TypeBool: "bool"}
	if t == 0 || int(t) >= len(names) {
		return fmt.Sprintf("type %d", uint8(t))
	}
	return names[t]
}

// Bounds of a trailer. Clients of the original from March to August 2026 drop a packet with more than
// OldMaxFields.
const (
	MaxFields    = 12
	OldMaxFields = 8
	MaxKey       = 63  // bytes
	MaxString    = 255 // bytes; a decoder truncates longer strings
	footerSize   = 4
)

const (
	extVersion = 1
	magic0     = 'W'
	magic1     = 'X'
)

// Field is one extension: a key with a typed value. Make it with String, Int,
// Double or Bool.
//
//	0    1  n, 1 to 63
//	1    n  key
//	1+n  1  type: 1 string, 2 int, 3 double, 4 bool
//	2+n     value: u16 length and bytes; int64; float64; u8 (0 = false)
//
// Numbers are big-endian.
type Field struct {
	Key  string
	Type Type
	num  uint64 // bits of the value, for all types but string
	str  string // value of a string made by String
	view []byte // value of a decoded string, else nil
}

// String returns a string field.
func String(key, value string) Field { return Field{Key: key, Type: TypeString, str: value} }

// Int returns an int field.
func Int(key string, value int64) Field { return Field{Key: key, Type: TypeInt, num: uint64(value)} }

// Double returns a double field.
func Double(key string, value float64) Field {
	return Field{Key: key, Type: TypeDouble, num: math.Float64bits(value)}
}

// Bool returns a bool field.
func Bool(key string, value bool) Field {
	return Field{Key: key, Type: TypeBool, num: uint64(oneIf(value))}
}

// Int returns the value of an int field, or 0.
func (f Field) Int() int64 {
	if f.Type != TypeInt {
		return 0
	}
	return int64(f.num)
}

// Double returns the value of a double field, or 0.
func (f Field) Double() float64 {
	if f.Type != TypeDouble {
		return 0
	}
	return math.Float64frombits(f.num)
}

// Bool returns the value of a bool field, or false.
func (f Field) Bool() bool { return f.Type == TypeBool && f.num != 0 }

// Text returns a copy of the value of a string field, or "".
func (f Field) Text() string {
	if f.view != nil {
		return string(f.view)
	}
	return f.str
}

// TextIs reports whether f is a string field with this value; it does not
// allocate.
func (f Field) TextIs(s string) bool {
	if f.view != nil {
		return string(f.view) == s
	}
	return f.Type == TypeString && f.str == s
}

// Size returns the number of bytes of f in a packet.
func (f *Field) Size() int {
	n := 2 + len(f.Key)
	switch f.Type {
	case TypeString:
		return n + 2 + f.textLen()
	case TypeBool:
		return n + 1
	}
	return n + 8
}

// AppendText appends the value of a string field to dst.
func (f *Field) AppendText(dst []byte) []byte {
	if f.view != nil {
		return append(dst, f.view...)
	}
	return append(dst, f.str...)
}

func (f *Field) textLen() int { return max(len(f.view), len(f.str)) }

// Ext is the list of fields of a packet, in the order of the packet. If a key occurs twice, the
// first field counts.
type Ext []Field

// AddInt adds an int field in place, which is cheaper than copying a Field: the server adds
// several to the answer of every move.
func (e *Ext) AddInt(key string, value int64) {
	f := e.add(key, TypeInt)
	f.num = uint64(value)
}

// AddString adds a string field in place.
func (e *Ext) AddString(key, value string) {
	f := e.add(key, TypeString)
	f.str = value
}

func (e *Ext) add(key string, t Type) *Field {
	*e = append(*e, Field{})
	f := &(*e)[len(*e)-1]
	f.Key, f.Type = key, t
	return f
}

// Lookup returns the first field with a key.
func (e Ext) Lookup(key string) (Field, bool) {
	for i := range e {
		if e[i].Key == key {
			return e[i], true
		}
	}
	return Field{}, false
}

// Int returns the value of the first field with a key, if it is an int.
func (e Ext) Int(key string) (int64, bool) {
	f, ok := e.Lookup(key)
	return f.Int(), ok && f.Type == TypeInt
}

// Double returns the value of the first field with a key, if it is a double.
func (e Ext) Double(key string) (float64, bool) {
	f, ok := e.Lookup(key)
	return f.Double(), ok && f.Type == TypeDouble
}

// View returns the value of the first field with a key, if it is a decoded string. It is a view
// into the packet.
func (e Ext) View(key string) []byte {
	for i := range e {
		if e[i].Key == key {
			return e[i].view
		}
	}
	return nil
}

// Text returns a copy of the value of the first field with a key, if it is a string.
func (e Ext) Text(key string) (string, bool) {
	f, ok := e.Lookup(key)
	return f.Text(), ok && f.Type == TypeString
}

// HasOurs reports whether a field has a key that the original lacks.
func (e Ext) HasOurs() bool {
	for i := range e {
		if ours[e[i].Key] {
			return true
		}
	}
	return false
}

// Shorten drops fields, in the memory of e, until at most n are left: first the number of the request and the
// player's own move, then other fields that the original lacks, the last first, and then the last ones.
func (e Ext) Shorten(n int) Ext {
	for _, key := range []string{KeyRequestSeq, KeyBoardOwnMove} {
		if len(e) > n {
			e = slices.DeleteFunc(e, func(f Field) bool { return f.Key == key })
		}
	}
	for i := len(e) - 1; i >= 0 && len(e) > n; i-- {
		if ours[e[i].Key] {
			e = slices.Delete(e, i, i+1)
		}
	}
	return e[:min(len(e), n)]
}
