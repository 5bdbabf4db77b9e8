package journal

import (
	"encoding/hex"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/internal/intent"
)

var noon = time.Date(2026, 11, 15, 12, 0, 0, 123456000, time.UTC)

// filled returns an intent of the kind with every field set to something that
// is not its zero, so that a field which is not coded is noticed.
func filled(t *testing.T, k intent.Kind) intent.Intent {
	t.Helper()
	in := k.New()
	v := reflect.ValueOf(in).Elem()
	for i := range v.NumField() {
		f := v.Field(i)
		if _, ok := f.Interface().(time.Time); ok {
			f.Set(reflect.ValueOf(noon.Add(time.Duration(i) * time.Second)))
			continue
		}
		switch f.Kind() {
		case reflect.Int, reflect.Int64, reflect.Int16:
			f.SetInt(int64(100 + i))
		case reflect.Uint64:
			f.SetUint(uint64(1)<<63 + uint64(i))
		case reflect.Uint8:
			f.SetUint(2)
		case reflect.Float64:
			f.SetFloat(-1.25 * float64(i+1))
		case reflect.Bool:
			f.SetBool(true)
		case reflect.String:
			f.SetString(strings.Repeat("x", i+1))
		case reflect.Array:
			for j := range f.Len() {
				f.Index(j).SetUint(uint64(i + j + 1))
			}
		default:
			t.Fatalf("%v: field %s has kind %v, which this test cannot fill", k, v.Type().Field(i).Name, f.Kind())
		}
	}
	return in
}

// TestFrameKeepsEveryField codes every kind with every field set.
func TestFrameKeepsEveryField(t *testing.T) {
	var want []intent.Intent
	frame := Begin([]byte("before"))
	for _, k := range intent.Kinds() {
		in := filled(t, k)
		want = append(want, in, k.New())
		frame = Append(Append(frame, in), k.New())
	}
	got, err := Decode(frame[len("before"):])
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		for i := range want {
			if !reflect.DeepEqual(got[i], want[i]) {
				t.Errorf("%v: got %+v, want %+v", want[i].Kind(), got[i], want[i])
			}
		}
	}
}

// TestVisitorForgets: no field of one intent is left in the next of its kind.
func TestVisitorForgets(t *testing.T) {
	var v Visitor
	for _, k := range intent.Kinds() {
		want := []intent.Intent{filled(t, k), k.New(), filled(t, k)}
		frame := Begin(nil)
		for _, in := range want {
			frame = Append(frame, in)
		}
		n := 0
		v.Visit(frame, func(in intent.Intent) {
			if !reflect.DeepEqual(in, want[n]) {
				t.Errorf("%v, %d: got %+v, want %+v", k, n, in, want[n])
			}
			n++
		})
		if n != len(want) {
			t.Errorf("%v: %d intents were shown, want %d", k, n, len(want))
		}
	}
}

// TestFrameGolden pins the bytes of every kind: later versions read today's journals. A new
// kind adds its line.
func TestFrameGolden(t *testing.T) {
	file, err := os.ReadFile("testdata/frames.golden")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for line := range strings.Lines(string(file)) {
		name, frame, _ := strings.Cut(strings.TrimSpace(line), " ")
		want[name] = frame
	}
	for _, k := range intent.Kinds() {
		if got := hex.EncodeToString(Append(Begin(nil), filled(t, k))); got != want[k.String()] {
			t.Errorf("%v: got %s, want %q", k, got, want[k.String()])
		}
		delete(want, k.String())
	}
	if len(want) > 0 {
		t.Errorf("no kind has the lines %v", want)
	}
}

// TestFrameFromAnOlderBinary: fields that held tokens themselves are read as their hashes,
// and an erasure is that of a key, whichever player has it.
func TestFrameFromAnOlderBinary(t *testing.T) {
	token := wamble.Token{2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}
	var key wamble.PublicKey
	for i := range key {
		key[i] = byte(i + 1)
	}
	for frame, want := range map[string]intent.Intent{
		"0116a880000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f2080d2b2eaec93b006": &intent.ErasePlayer{Key: key, At: noon.Add(time.Second)},
		"01079c8000c80102030405060708090a0b0c0d0e0f1011cc0180e4a6ecec93b006":                         &intent.CreateSession{Session: 100, Token: token.Hash(), Player: 102, At: noon.Add(3 * time.Second)},
		"01179e8000c80102030405060708090a0b0c0d0e0f10110378787880e4a6ecec93b006":                     &intent.RenewToken{Session: 100, Token: token.Hash(), Host: "xxx", At: noon.Add(3 * time.Second)},
	} {
		b, _ := hex.DecodeString(frame)
		got, err := Decode(b)
		if err != nil || len(got) != 1 || !reflect.DeepEqual(got[0], want) {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	}
}

func TestFrameFromANewerBinary(t *testing.T) {
	frame := Append(Begin(nil), &intent.UnlinkSession{Session: 5, At: noon})
	longer := append([]byte{}, frame...)
	longer = append(longer, 0xff, 0xff)
	longer[2] += 2 // the record's length is two bytes more
	got, err := Decode(longer)
	if err != nil {
		t.Fatal(err)
	}
	want := []intent.Intent{&intent.UnlinkSession{Session: 5, At: noon}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got[0], want[0])
	}
}

func TestFrameRefused(t *testing.T) {
	good := Append(Begin(nil), &intent.RecordMove{Board: 1, UCI: "e2e4"})
	for _, tc := range []struct {
		name  string
		frame []byte
	}{
		{"empty", nil},
		{"unknown version", []byte{9}},
		{"unknown kind", []byte{1, 250, 0}},
		{"cut off", good[:len(good)-1]},
		{"length without end", []byte{1, 11, 0x80, 0x80}},
		{"text longer than the record", []byte{1, 11, 3, 1, 2, 200}},
		{"too many", append(Begin(nil), []byte(strings.Repeat("\x04\x02\x01\x00", MaxIntents+1))...)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got, err := Decode(tc.frame); !errors.Is(err, ErrFrame) {
				t.Errorf("got %v, %v, want ErrFrame", got, err)
			}
		})
	}
}

func TestAllocsAppend(t *testing.T) {
	buf := make([]byte, 0, 1024)
	for _, k := range intent.Kinds() {
		in := filled(t, k)
		if n := testing.AllocsPerRun(100, func() { buf = Append(Begin(buf[:0]), in) }); n != 0 {
			t.Errorf("%v: got %v allocations, want 0", k, n)
		}
	}
}

func FuzzFrame(f *testing.F) {
	for _, k := range intent.Kinds() {
		f.Add(Append(Begin(nil), k.New()))
	}
	f.Add([]byte{1, 11, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1})
	f.Fuzz(func(t *testing.T, frame []byte) {
		intents, err := Decode(frame)
		if err != nil {
			return
		}
		again := Begin(nil)
		for _, in := range intents {
			again = Append(again, in)
		}
		m, err := MakeMessage(1, frame)
		if err != nil {
			t.Fatal(err)
		}
		if plan, _, err := new(Planner).Make([]Message{m}, wide); err != nil || len(plan.Intents) > len(intents) ||
			len(plan.Intents) == 0 && len(intents) > 0 {
			t.Fatalf("got a plan of %d of %d intents, %v", len(plan.Intents), len(intents), err)
		}
		back, err := Decode(again)
		if err != nil {
			t.Fatalf("what was read cannot be read again: %v", err)
		}
		third := Begin(nil)
		for _, in := range back {
			third = Append(third, in)
		}
		if string(again) != string(third) {
			t.Errorf("got %x, want %x", third, again)
		}
	})
}

func BenchmarkAppendMove(b *testing.B) {
	buf := make([]byte, 0, 4096)
	move := &intent.RecordMove{Board: 123456, Session: 654321, UCI: "e2e4", Ply: 31, At: noon}
	b.ReportAllocs()
	for b.Loop() {
		buf = Append(Begin(buf[:0]), move)
	}
}
