package journal

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"wamble/internal/intent"

	"wamble"
)

// appendUvarint writes what the standard library writes, for every length.
func TestAppendUvarint(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	check := func(v uint64) {
		t.Helper()
		got, want := appendUvarint([]byte("x"), v), binary.AppendUvarint([]byte("x"), v)
		if !bytes.Equal(got, want) {
			t.Fatalf("%#x is % x, want % x", v, got, want)
		}
	}
	for bit := range 64 {
		for _, v := range []uint64{1 << bit, 1<<bit - 1, 1<<bit + 1, math.MaxUint64 >> bit} {
			check(v)
		}
		for range 1000 {
			check(rng.Uint64() >> bit)
		}
	}
	check(0)
	check(math.MaxUint64)
}

// What quick writes is what coder writes, and every kind that quick knows is
// tried.
func TestQuick(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	number := func() int64 { return rng.Int64() >> rng.IntN(64) * int64(1-2*rng.IntN(2)) }
	moment := func() time.Time {
		if rng.IntN(8) == 0 {
			return time.Time{}
		}
		return time.UnixMicro(number() >> 8).UTC()
	}
	text := func() string { return strings.Repeat("x", rng.IntN(300)) }
	tried := map[intent.Kind]int{}
	for range 20000 {
		board, session := wamble.BoardID(number()), wamble.SessionID(number())
		for _, in := range []intent.Intent{
			&intent.RecordMove{Board: board, Session: session, UCI: text(), Ply: int(int32(number())), First: rng.IntN(2) == 0, At: moment()},
			&intent.UpdateBoard{Board: board, FEN: text(), Status: wamble.BoardStatus(rng.IntN(256)), Version: uint64(number()), At: moment()},
			&intent.RemoveReservation{Board: board, At: moment()},
			&intent.UpdateBoardAssignmentTime{Board: board, At: moment()},
			&intent.CreateReservation{Board: board, Session: session, White: rng.IntN(2) == 0, At: moment(), Expires: moment()},
		} {
			got, ok := quick(nil, in)
			c := coder{}
			c.intent(in)
			if !ok || !bytes.Equal(got, c.buf) {
				t.Fatalf("%+v is % x, want % x", in, got, c.buf)
			}
			tried[in.Kind()]++
		}
	}
	for _, k := range intent.Kinds() {
		if _, ok := quick(nil, k.New()); ok != (tried[k] > 0) {
			t.Errorf("%v: quick %v, tried %d times", k, ok, tried[k])
		}
	}
}
