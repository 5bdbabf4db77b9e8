package runner

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatalf("bad hex %q: %v", s, err)
	}
	return b
}

var verdicts = map[string]error{"ok": nil, "truncated": ErrTruncated, "format": ErrFormat, "version": ErrVersion}

// frames reads testdata/frames.txt and returns the fields of each line.
func frames(t testing.TB) [][]string {
	t.Helper()
	data, err := os.ReadFile("testdata/frames.txt")
	if err != nil {
		t.Fatal(err)
	}
	var out [][]string
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(strings.TrimRight(line, "\n"), "|")
		for i := range fields {
			fields[i] = strings.TrimSpace(fields[i])
		}
		out = append(out, fields)
	}
	return out
}

func number(t *testing.T, s string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(s, 0, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestGoldenFrames(t *testing.T) {
	messages, intents := 0, 0
	for _, f := range frames(t) {
		t.Run(f[0], func(t *testing.T) {
			frame := unhex(t, f[len(f)-1])
			if f[0][0] == 'M' {
				messages++
				goldenMessage(t, f, frame)
				return
			}
			intents++
			goldenIntent(t, f, frame)
		})
	}
	if messages != 25 || intents != 15 {
		t.Errorf("got %d messages and %d intents, want 25 and 15", messages, intents)
	}
}

func goldenMessage(t *testing.T, f []string, frame []byte) {
	m, err := DecodeMessage(frame)
	if want := verdicts[f[1]]; !errors.Is(err, want) || (want == nil) != (err == nil) {
		t.Fatalf("got %v, want %v", err, want)
	}
	if err != nil {
		return
	}
	want := Message{
		Kind: Kind(number(t, f[2])), Flags: Flags(number(t, f[3])), To: uint64(number(t, f[4])),
		RouteWorker: uint64(number(t, f[5])), RouteTime: timeOf(number(t, f[6])), From: uint64(number(t, f[7])),
	}
	got := m
	got.ID, got.Trace, got.Payload = nil, nil, nil
	if got.Kind != want.Kind || got.Flags != want.Flags || got.To != want.To ||
		got.RouteWorker != want.RouteWorker || got.RouteTime != want.RouteTime || got.From != want.From {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for i, part := range [][]byte{m.ID, m.Trace, m.Payload} {
		if want := unhex(t, f[8+i]); !bytes.Equal(part, want) {
			t.Errorf("part %d: got %x, want %x", i, part, want)
		}
	}
	again, err := m.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	// M07 carries a sender without its flag, which no encoder writes.
	if !bytes.Equal(again, frame) != (f[0] == "M07") {
		t.Errorf("encoded again: got %x, want %x", again, frame)
	}
}

func goldenIntent(t *testing.T, f []string, frame []byte) {
	i, err := DecodeIntent(frame)
	if want := verdicts[f[1]]; !errors.Is(err, want) || (want == nil) != (err == nil) {
		t.Fatalf("got %v, want %v", err, want)
	}
	if err != nil {
		return
	}
	if int64(i.Kind) != number(t, f[2]) || i.HasDue != (number(t, f[3]) == 1) || msOf(i.Due) != number(t, f[4]) ||
		int64(len(i.Message)) != number(t, f[5]) {
		t.Errorf("got %+v, want %v", i, f)
	}
	again, err := i.Append(nil)
	if err != nil || !bytes.Equal(again, frame) {
		t.Errorf("encoded again: got %x, %v, want %x", again, err, frame)
	}
}

func TestEncoderRefusals(t *testing.T) {
	m02 := Message{To: 7, RouteWorker: 7, RouteTime: time.UnixMilli(123), ID: []byte("m1"), Payload: []byte("ok")}
	with := func(f func(*Message)) Message { m := m02; f(&m); return m }
	for _, c := range []struct {
		id   string
		m    Message
		want error
	}{
		{"N01", m02, nil},
		{"N04", with(func(m *Message) { m.Kind = 3 }), ErrInvalid},
		{"N05", with(func(m *Message) { m.Flags = 0x40 }), ErrInvalid},
		{"N06", with(func(m *Message) { m.ID = nil }), ErrInvalid},
		{"N07", with(func(m *Message) { m.Trace = []byte("t") }), ErrInvalid},
		{"N08", with(func(m *Message) { m.From = 1 }), ErrInvalid},
	} {
		if b, err := c.m.Append(nil); !errors.Is(err, c.want) || (len(b) == 0) != (err != nil) {
			t.Errorf("%s: got %d bytes, %v, want %v", c.id, len(b), err, c.want)
		}
	}
	for _, c := range []struct {
		id string
		i  Intent
	}{
		{"N09", Intent{Kind: OutboxEmit, HasDue: true, Message: []byte("x")}},
		{"N10", Intent{Kind: TimerArm, Message: []byte("x")}},
		{"N11", Intent{Kind: OutboxEmit, Due: time.UnixMilli(1), Message: []byte("x")}},
		{"N12", Intent{Kind: OutboxEmit}},
		{"kind 2", Intent{Kind: 2, Message: []byte("x")}},
	} {
		if b, err := c.i.Append(nil); !errors.Is(err, ErrInvalid) || len(b) != 0 {
			t.Errorf("%s: got %d bytes, %v, want %v", c.id, len(b), err, ErrInvalid)
		}
	}
}

func TestGoldenKeys(t *testing.T) {
	row := func(w, s uint64) []byte { return appendRowKey(nil, Row{w, s}) }
	timer := func(due int64, s uint64) []byte { return appendTimerKey(nil, TimerID{due, s}) }
	outbox := func(s uint64) []byte { return appendOutboxKey(nil, s) }
	for _, c := range []struct {
		id, want string
		got      []byte
	}{
		{"K01", "00000000000000070000000000000063", row(7, 99)},
		{"K02", "00000000000000000000000000000000", row(0, 0)},
		{"K03", "00000000000000010000000000000100", row(1, 256)},
		{"K04", "00000000ffffffff0000000000000001", row(4294967295, 1)},
		{"K05", "ffffffffffffffffffffffffffffffff", row(math.MaxUint64, math.MaxUint64)},
		{"K10", "0000000000000001", outbox(1)},
		{"K11", "0000000000000100", outbox(256)},
		{"K12", "ffffffffffffffff", outbox(math.MaxUint64)},
		{"K20", "00000000000000000000000000000001", timer(0, 1)},
		{"K21", "000000000000005a0000000000000001", timer(90, 1)},
		{"K22", "00000000000000640000000000000002", timer(100, 2)},
		{"K23", "ffffffffffffffff0000000000000001", timer(-1, 1)},
		{"K25", "80000000000000000000000000000000", timer(math.MinInt64, 0)},
		{"K27", "0000018bcfe568000000000000000003", timer(1700000000000, 3)},
	} {
		if got := hex.EncodeToString(c.got); got != c.want {
			t.Errorf("%s: got %s, want %s", c.id, got, c.want)
		}
	}
	if r, err := decodeRowKey(row(7, 99)); err != nil || r != (Row{7, 99}) {
		t.Errorf("K01 decodes to %v, %v", r, err)
	}
	if id, err := decodeTimerKey(timer(-5, 9)); err != nil || id != (TimerID{-5, 9}) {
		t.Errorf("timer key decodes to %v, %v", id, err)
	}
	if _, err := decodeRowKey(make([]byte, 15)); !errors.Is(err, ErrFormat) {
		t.Errorf("K30: got %v", err)
	}
	if _, err := decodeTimerKey(make([]byte, 17)); !errors.Is(err, ErrFormat) {
		t.Errorf("K31: got %v", err)
	}
	if _, err := decodeOutboxKey(make([]byte, 9)); !errors.Is(err, ErrFormat) {
		t.Errorf("outbox key of 9 bytes: got %v", err)
	}
	keys := [][]byte{row(7, 99), row(1, 256), row(4294967295, 1), row(0, 0)}
	slices.SortFunc(keys, bytes.Compare)
	if want := [][]byte{row(0, 0), row(1, 256), row(7, 99), row(4294967295, 1)}; !slices.EqualFunc(keys, want,
		bytes.Equal) {
		t.Errorf("row order: got %x, want %x", keys, want)
	}
}

// oldRecord is a dead letter as the original writes it.
func oldRecord(d *DeadLetter) []byte {
	b := append([]byte(nil), oldDeadMagic...)
	for _, v := range []uint32{uint32(d.Code), d.Attempts, uint32(len(d.Frame))} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return append(b, d.Frame...)
}

func TestGoldenValues(t *testing.T) {
	m02 := "4c4d5347000000004000000000000000070000000000000007000000000000007b00000000000000000000000000000002000000ffffffff020000006d316f6b"
	v01, v02 := lease{7, 150, 1}, lease{8, 260, 2}
	dead := DeadLetter{Code: 7, Attempts: 4, Frame: unhex(t, m02)}
	junk := DeadLetter{Code: -3, Frame: []byte("junk")}
	for _, c := range []struct {
		id, want string
		got      []byte
	}{
		{"V01", "4c5345300700000000000000960000000000000001000000", v01.append(nil)},
		{"V02", "4c5345300800000000000000040100000000000002000000", v02.append(nil)},
		{"V10", "444c5130070000000400000040000000" + m02, oldRecord(&dead)},
		{"V11", "444c5130fdffffff00000000040000006a756e6b", oldRecord(&junk)},
		{"V20 key", "72756e6e65722e736368656d612e76657273696f6e", []byte(markerKey)},
		{"V20", "5253563000000000", Version{}.appendMarker(nil)},
		{"V21", "5253563001000200", Version{1, 2}.appendMarker(nil)},
	} {
		if got := hex.EncodeToString(c.got); got != c.want {
			t.Errorf("%s: got %s, want %s", c.id, got, c.want)
		}
	}
	if l, err := decodeLease(unhex(t, "4c5345300800000000000000040100000000000002000000")); err != nil || l != v02 {
		t.Errorf("V02 decodes to %v, %v", l, err)
	}
	if d, err := decodeDead(unhex(t, "444c5130070000000400000040000000"+m02)); err != nil || d.Code != 7 ||
		d.Attempts != 4 || !bytes.Equal(d.Frame, dead.Frame) {
		t.Errorf("V10 decodes to %v, %v", d, err)
	}
	for id, bad := range map[string]string{
		"V12": "584c5130fdffffff00000000040000006a756e6b", "V13": "444c5130fdffffff00000000040000006a756e",
		"V14": "444c5130fdffffff0000000000000000", "V15": "444c5130fdffffff00000000000000",
	} {
		if _, err := decodeDead(unhex(t, bad)); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: got %v, want ErrFormat", id, err)
		}
	}
	for id, bad := range map[string]string{
		"V04": "4c5345310700000000000000960000000000000001000000",
		"V05": "4c53453007000000000000009600000000000000010000",
	} {
		if _, err := decodeLease(unhex(t, bad)); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: got %v, want ErrFormat", id, err)
		}
	}
	for id, bad := range map[string]string{"V22": "52535630010002", "V23": "5253563101000200"} {
		if _, err := decodeMarker(unhex(t, bad)); !errors.Is(err, ErrSchema) {
			t.Errorf("%s: got %v, want ErrSchema", id, err)
		}
	}
}

// TestOwnValues pins the bytes of the values that the original does not have.
func TestOwnValues(t *testing.T) {
	d := DeadLetter{Cause: CauseBudget, Attempts: 4, Time: time.UnixMilli(1), Source: Row{7, 9}, Timer: TimerID{-1, 2},
		FromTimer: true, Reason: "no", Frame: []byte("f")}
	for _, c := range []struct {
		name, want string
		got        []byte
	}{
		{"dead letter", "444c5131" + "01" + "01" + "0200" + "04000000" + "01000000" + "0100000000000000" +
			"0700000000000000" +
			"0900000000000000" + "ffffffffffffffff" + "0200000000000000" + "66" + "6e6f", d.append(nil)},
		{"journal", "4a494430000102030405060708090a0b0c0d0e0f", JournalID{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}.append(nil)},
		{"boot", "424f4f300300000002000000", boot{3, 2}.append(nil)},
		{"dedupe", "4444503001000000000000000200000000000000", dedupeRow{1, 2}.append(nil)},
		{"inbox", "494e4230010000000000000002000000000000000300000000000000040000000000000005000000000000000600000000000000",
			inboxState{next: 1, count: 2, frontier: [bandCount]uint64{3, 4, 5}, leaseHead: 6}.append(nil)},
		{"counters", "434e543001000000000000000200000000000000030000000000000004000000000000000500000000000000060000000000000007000000" + "00000000",
			counters{1, 2, 3, 4, 5, 6, 7}.append(nil)},
		{"bundle of two", "4c4d5342" + "02000000" +
			"4c4d534700000000" + "3f000000" + "00000000" + "0700000000000000" + "0000000000000000" +
			"0000000000000000" + "0000000000000000" +
			"02000000" + "ffffffff" + "01000000" + "6964" + "00" +
			"4c4d534700000000" + "3e000000" + "00000000" + "0700000000000000" + "0000000000000000" +
			"0000000000000000" + "0000000000000000" +
			"02000000" + "ffffffff" + "00000000" + "6964", bundleOf(1, 0)},
		{"one message is no bundle", "4c4d534700000000" + "3e000000" + "00000000" + "0700000000000000" +
			"0000000000000000" + "0000000000000000" +
			"0000000000000000" + "02000000" + "ffffffff" + "00000000" + "6964", bundleOf(0)},
		{"expiry key", "7fffffffffffffff6b", appendExpiryKey(nil, -1, []byte("k"))},
	} {
		if got := hex.EncodeToString(c.got); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
	back, err := decodeDead(d.append(nil))
	if err != nil || back.Reason != "no" || back.Source != d.Source || back.Timer != d.Timer || !back.FromTimer ||
		back.Cause != CauseBudget {
		t.Errorf("dead letter decodes to %+v, %v", back, err)
	}
}

func TestSleepUntil(t *testing.T) {
	for _, c := range []struct{ now, next, limit, want int64 }{
		{100, 150, 1000, 50}, {100, 100, 1000, 0}, {100, 90, 1000, 0}, {100, 5000, 200, 200},
		{0, 10000000000, 0, 4294967295}, {100, 101, 0, 1}, {-100, -50, 1000, 50},
		{math.MinInt64, 0, 1000, 1000}, {math.MinInt64, math.MaxInt64, 0, 4294967295},
	} {
		if got := sleepUntil(c.now, c.next, msec(c.limit)).Milliseconds(); got != c.want {
			t.Errorf("at %d until %d, at most %d: got %d, want %d", c.now, c.next, c.limit, got, c.want)
		}
	}
}
