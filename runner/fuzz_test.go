package runner

import (
	"bytes"
	"testing"
	"time"
)

func msec(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

func FuzzDecodeMessage(f *testing.F) {
	for _, g := range frames(f) {
		f.Add(unhex(f, g[len(g)-1]))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := DecodeMessage(b)
		if err != nil {
			return
		}
		again, err := m.Append(nil)
		if err != nil {
			t.Fatalf("decodes but does not encode: %v", err)
		}
		if m.Flags&HasFrom == 0 { // its bytes are ignored, and written as 0
			copy(b[40:48], make([]byte, 8))
		}
		if !bytes.Equal(again, b) {
			t.Fatalf("got %x, want %x", again, b)
		}
	})
}

func FuzzDecodeIntent(f *testing.F) {
	for _, g := range frames(f) {
		f.Add(unhex(f, g[len(g)-1]))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		i, err := DecodeIntent(b)
		if err != nil {
			return
		}
		if again, err := i.Append(nil); err != nil || !bytes.Equal(again, b) {
			t.Fatalf("got %x, %v, want %x", again, err, b)
		}
	})
}

// values has a row for every kind of stored value: decode, and encode again.
var values = []struct {
	name  string
	again func(b []byte) ([]byte, error)
	seed  []byte
}{
	{"lease", func(b []byte) ([]byte, error) { v, err := decodeLease(b); return v.append(nil), err }, lease{7, 150, 1}.append(nil)},
	{"marker", func(b []byte) ([]byte, error) { v, err := decodeMarker(b); return v.appendMarker(nil), err }, Version{1, 2}.appendMarker(nil)},
	{"journal", func(b []byte) ([]byte, error) { v, err := decodeJournal(b); return v.append(nil), err }, JournalID{1}.append(nil)},
	{"boot", func(b []byte) ([]byte, error) { v, err := decodeBoot(b); return v.append(nil), err }, boot{1, 2}.append(nil)},
	{"counters", func(b []byte) ([]byte, error) { v, err := decodeCounters(b); return v.append(nil), err }, counters{1, 2, 3, 4, 5, 6, 7}.append(nil)},
	{"inbox", func(b []byte) ([]byte, error) { v, err := decodeInboxState(b); return v.append(nil), err }, inboxState{next: 1}.append(nil)},
	{"bundle", rebundle, bundleOf(4, 5)},
	{"dedupe", func(b []byte) ([]byte, error) { v, err := decodeDedupe(b); return v.append(nil), err }, dedupeRow{1, 2}.append(nil)},
	{"dead letter", func(b []byte) ([]byte, error) {
		v, err := decodeDead(b)
		if len(b) > 3 && string(b[:4]) == oldDeadMagic {
			return oldRecord(&v), err
		}
		return v.append(nil), err
	}, (&DeadLetter{Frame: []byte("f"), Reason: "r"}).append(nil)},
	{"row key", func(b []byte) ([]byte, error) { v, err := decodeRowKey(b); return appendRowKey(nil, v), err }, appendRowKey(nil, Row{1, 2})},
	{"timer key", func(b []byte) ([]byte, error) { v, err := decodeTimerKey(b); return appendTimerKey(nil, v), err }, appendTimerKey(nil, TimerID{-1, 2})},
	{"outbox key", func(b []byte) ([]byte, error) { v, err := decodeOutboxKey(b); return appendOutboxKey(nil, v), err }, appendOutboxKey(nil, 3)},
	{"expiry key", func(b []byte) ([]byte, error) {
		e, k, err := decodeExpiryKey(b)
		return appendExpiryKey(nil, e, k), err
	}, appendExpiryKey(nil, 5, make([]byte, dedupeKeyLen))},
}

// bundleOf packs messages with payloads of the sizes given.
func bundleOf(payloads ...int) []byte {
	c := commit{batch: &lastValue{}}
	in := newInbox(7)
	for i, n := range payloads {
		m := Message{To: 7, ID: []byte("id"), Payload: make([]byte, n)}
		frame, err := m.Append(nil)
		if err != nil {
			panic(err)
		}
		c.pack(in, uint64(i+1), frame)
	}
	c.seal(in)
	return c.batch.(*lastValue).value
}

// rebundle unpacks a bundle as a claim does and packs it again.
func rebundle(b []byte) ([]byte, error) {
	n := bundled(b)
	if n == 0 || len(b) > maxBundleBytes {
		return nil, ErrFormat // the latter can be read, but would not be packed again
	}
	var claimed batch
	claimed.addBundle(Row{7, 1}, b, n, n/2)
	c := commit{batch: &lastValue{}}
	in := newInbox(7)
	for i, d := range append(claimed.list, claimed.over...) {
		if d.Row.Seq != uint64(i+1) || int(d.nth) != i || int(d.of) != n {
			return nil, nil
		}
		c.pack(in, d.Row.Seq, d.Frame)
	}
	c.seal(in)
	return c.batch.(*lastValue).value, nil
}

// lastValue is a batch that keeps the last value that was set.
type lastValue struct{ value []byte }

func (b *lastValue) Set(_, value []byte) { b.value = bytes.Clone(value) }
func (b *lastValue) Delete([]byte)       {}
func (b *lastValue) Len() int            { return len(b.value) }
func (b *lastValue) Commit() error       { return nil }

func FuzzStoredValues(f *testing.F) {
	for i, v := range values {
		f.Add(byte(i), v.seed)
	}
	f.Fuzz(func(t *testing.T, which byte, b []byte) {
		v := values[int(which)%len(values)]
		again, err := v.again(b)
		if err == nil && !bytes.Equal(again, b) {
			t.Fatalf("%s: got %x, want %x", v.name, again, b)
		}
	})
}

// TestSeedsRoundTrip checks the table of values: each seed is accepted.
func TestSeedsRoundTrip(t *testing.T) {
	for _, v := range values {
		if again, err := v.again(v.seed); err != nil || !bytes.Equal(again, v.seed) {
			t.Errorf("%s: got %x, %v, want %x", v.name, again, err, v.seed)
		}
	}
}
