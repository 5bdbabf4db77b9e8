package pack

import (
	"bytes"
	"math"
	"testing"
)

func TestRoundTrip(t *testing.T) {
	var w Writer
	w.Uint(0)
	w.Uint(math.MaxUint64)
	w.Int(math.MinInt64)
	w.Int(-1)
	w.Float(math.Copysign(0, -1))
	w.Raw(7, 8, 9)
	w.Text("e2e4")
	w.Bytes(nil)
	w.Uint(math.MaxUint32)
	w.Int(math.MinInt32)
	w.Uint(2) // a list of two bytes
	w.Raw(1, 2)

	r := NewReader(w)
	got := []any{
		r.Uint(), r.Uint(), r.Int(), r.Int(), math.Signbit(r.Float()), r.Octet(), string(r.Take(2)), string(r.Bytes()),
		len(r.Bytes()),
		r.Uint32(), r.Int32(), r.Count(), r.Remaining(), r.Ended(), r.Octet(), r.Octet(), r.Ended(), r.Bad(),
	}
	want := []any{
		uint64(0), uint64(math.MaxUint64), int64(math.MinInt64), int64(-1), true, byte(7), "\x08\x09", "e2e4", 0,
		uint32(math.MaxUint32), int32(math.MinInt32), 2, 2, false, byte(1), byte(2), true, false,
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("value %d: got %v, want %v", i, got[i], want[i])
		}
	}
}

// TestFaults: after the first error a reader returns errors only.
func TestFaults(t *testing.T) {
	var tooLarge Writer
	tooLarge.Uint(math.MaxUint32 + 1)
	tooLarge.Raw(1, 2, 3)
	for _, c := range []struct {
		name string
		in   []byte
		read func(*Reader)
	}{
		{"a number that does not end", []byte{0x80}, func(r *Reader) { r.Uint() }},
		{"a number in a longer form", []byte{0x81, 0, 1}, func(r *Reader) { r.Uint() }},
		{"a number of more than 64 bits", bytes.Repeat([]byte{0xff}, 11), func(r *Reader) { r.Int() }},
		{"no octet", nil, func(r *Reader) { r.Octet() }},
		{"more bytes than there are", []byte{1, 2}, func(r *Reader) { r.Take(3) }},
		{"fewer than no bytes", []byte{1, 2}, func(r *Reader) { r.Take(-1) }},
		{"a float cut off", []byte{1, 2, 3, 4, 5, 6, 7}, func(r *Reader) { r.Float() }},
		{"a list longer than its bytes", []byte{3, 1, 1}, func(r *Reader) { r.Count() }},
		{"a text longer than its bytes", []byte{2, 'a'}, func(r *Reader) { r.Bytes() }},
		{"33 bits", tooLarge, func(r *Reader) { r.Uint32() }},
		{"33 bits with a sign", tooLarge, func(r *Reader) { r.Int32() }},
		{"what its owner finds", []byte{1, 2, 3}, func(r *Reader) { r.Must(r.Octet() == 2) }},
	} {
		r := NewReader(c.in)
		c.read(&r)
		if !r.Bad() || r.Ended() || r.Remaining() != 0 {
			t.Errorf("%s: bad %v, ended %v, %d left", c.name, r.Bad(), r.Ended(), r.Remaining())
		}
		if got := []any{r.Uint(), r.Int(), r.Octet(), r.Float(), r.Count(), len(r.Bytes()),
			len(r.Take(0))}; got[0] != uint64(0) ||
			got[1] != int64(0) || got[2] != byte(0) || got[3] != 0.0 || got[4] != 0 || got[5] != 0 || got[6] != 0 {
			t.Errorf("%s: it goes on with %v", c.name, got)
		}
		if r.Must(true); !r.Bad() {
			t.Errorf("%s: it is good again", c.name)
		}
	}
}

// FuzzReader: arbitrary bytes that are read without an error are written as the same bytes.
func FuzzReader(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4}, []byte{0x80, 1, 3, 'a', 'b', 'c', 0xff, 1})
	f.Fuzz(func(t *testing.T, kinds, in []byte) {
		r, w := NewReader(in), Writer{}
		for _, k := range kinds {
			was := len(w)
			switch k % 5 {
			case 0:
				w.Uint(r.Uint())
			case 1:
				w.Int(r.Int())
			case 2:
				w.Raw(r.Octet())
			case 3:
				w.Bytes(r.Bytes())
			case 4:
				w.Raw(r.Take(3)...)
			}
			if r.Bad() {
				w = w[:was]
				break
			}
		}
		if !bytes.HasPrefix(in, w) || !r.Bad() && r.Remaining() != len(in)-len(w) {
			t.Errorf("read %x of %x, %d bytes left", []byte(w), in, r.Remaining())
		}
	})
}

func TestReaderIsFree(t *testing.T) {
	var w Writer
	w.Uint(1 << 40)
	w.Text("e2e4")
	w.Float(1)
	if got := testing.AllocsPerRun(100, func() {
		r := NewReader(w)
		r.Uint()
		r.Bytes()
		r.Float()
		if !r.Ended() {
			t.Fatal("it has not ended")
		}
	}); got != 0 {
		t.Errorf("got %v allocations, want 0", got)
	}
}
