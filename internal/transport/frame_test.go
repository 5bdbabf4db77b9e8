package transport

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"testing"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Every row of the table of frames from clients. Masks are zero so that the
// payload can be read.
func TestFramesOfClients(t *testing.T) {
	big := strings.Repeat("61", 4096)
	cases := []struct {
		name, bytes string
		want        string // "op:payload" of each, then "end" or the close code
	}{
		{"binary", "82 81 00000000 41", "2:A end"},
		{"binary, masked", "82 83 01020304 404040", "2:ABC end"},
		{"empty binary", "82 80 00000000", "2: end"},
		{"two frames", "82 81 00000000 41 82 81 00000000 42", "2:A 2:B end"},
		{"unmasked", "82 01 41", "1002"},
		{"RSV1", "c2 81 00000000 41", "1002"},
		{"RSV3", "92 81 00000000 41", "1002"},
		{"text", "81 81 00000000 41", "1002"},
		{"opcode 3", "83 80 00000000", "1002"},
		{"opcode 7", "87 80 00000000", "1002"},
		{"opcode B", "8b 80 00000000", "1002"},
		{"opcode F", "8f 80 00000000", "1002"},
		{"continuation first", "80 81 00000000 41", "1002"},
		{"fragments", "02 81 00000000 41 00 81 00000000 42 80 81 00000000 43", "2:ABC end"},
		{"empty last fragment", "02 81 00000000 41 80 80 00000000", "2:A end"},
		{"new message within fragments", "02 81 00000000 41 82 81 00000000 42", "1002"},
		{"ping between fragments", "02 81 00000000 41 89 81 00000000 70 80 81 00000000 42", "9:p 2:AB end"},
		{"ping", "89 82 00000000 6869", "9:hi end"},
		{"pong", "8a 80 00000000", "10: end"},
		{"close", "88 82 00000000 03e8", "8:\x03\xe8 end"},
		{"ping of 125", "89 fd 00000000" + strings.Repeat("70", 125), "9:" + strings.Repeat("p", 125) + " end"},
		{"ping fragmented", "09 80 00000000", "1002"},
		{"ping with 16-bit length", "89 fe 0001 00000000 70", "1002"},
		{"ping with 64-bit length", "89 ff 0000000000000001 00000000 70", "1002"},
		{"16-bit length with small value", "82 fe 0001 00000000 41", "2:A end"},
		{"64-bit length with small value", "82 ff 0000000000000001 00000000 41", "2:A end"},
		{"4096 bytes", "82 fe 1000 00000000" + big, "2:" + strings.Repeat("a", 4096) + " end"},
		{"4097 bytes", "82 fe 1001 00000000", "1009"},
		{"2^63 bytes", "82 ff 8000000000000000 00000000", "1009"},
		{"4097 bytes in fragments", "02 fe 1000 00000000" + big + "80 81 00000000", "1009"},
		{"4096 bytes in fragments", "02 fe 0fff 00000000" + big[2:] + "80 81 00000000 61", "2:" + strings.Repeat("a", 4096) + " end"},
		{"cut in header", "82", "cut"},
		{"cut in mask", "82 81 0000", "cut"},
		{"cut in payload", "82 82 00000000 41", "cut"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := readAll(newFrameReader(bytes.NewReader(unhex(t, c.bytes)), true)); got != c.want {
				t.Errorf("got %.60q, want %.60q", got, c.want)
			}
		})
	}
}

// readAll describes what a reader returns until its end.
func readAll(f *frameReader) string {
	var out []string
	for {
		op, payload, err := f.next()
		var closed *CloseError
		switch {
		case err == nil:
			out = append(out, map[opcode]string{opBinary: "2:", opClose: "8:", opPing: "9:",
				opPong: "10:"}[op]+string(payload))
			continue
		case err == io.EOF:
			out = append(out, "end")
		case errors.Is(err, io.ErrUnexpectedEOF):
			out = append(out, "cut")
		case errors.As(err, &closed):
			out = append(out, map[uint16]string{CloseProtocol: "1002", CloseTooBig: "1009"}[closed.Code])
		default:
			out = append(out, err.Error())
		}
		return strings.Join(out, " ")
	}
}

func TestFramesOfServers(t *testing.T) {
	if got := readAll(newFrameReader(bytes.NewReader(unhex(t, "82 01 41")), false)); got != "2:A end" {
		t.Errorf("unmasked: %q", got)
	}
	if got := readAll(newFrameReader(bytes.NewReader(unhex(t, "82 81 00000000 41")), false)); got != "1002" {
		t.Errorf("masked: %q, a server must not mask", got)
	}
}

func TestAppendFrame(t *testing.T) {
	key := maskKey{1, 2, 3, 4}
	cases := []struct {
		name    string
		op      opcode
		payload int
		key     *maskKey
		head    string
	}{
		{"empty", opPing, 0, nil, "8900"},
		{"125", opBinary, 125, nil, "827d"},
		{"126", opBinary, 126, nil, "827e007e"},
		{"4096", opBinary, 4096, nil, "827e1000"},
		{"65536", opBinary, 65536, nil, "827f0000000000010000"},
		{"masked", opBinary, 5, &key, "828501020304"},
		{"masked 126", opBinary, 126, &key, "82fe007e01020304"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			payload := bytes.Repeat([]byte{'x'}, c.payload)
			b := appendFrame(nil, c.op, payload, c.key)
			head := unhex(t, c.head)
			if !bytes.HasPrefix(b, head) || len(b) != len(head)+c.payload {
				t.Fatalf("%d bytes, % x…; want head % x", len(b), b[:min(len(b), 14)], head)
			}
			body := b[len(head):]
			if c.key != nil {
				c.key.apply(body, 0)
			}
			if !bytes.Equal(body, payload) {
				t.Error("payload is not restored")
			}
		})
	}
}

func TestParseClose(t *testing.T) {
	cases := []struct {
		payload string
		code    uint16
		reason  string
		fail    uint16
	}{
		{"", closeNoStatus, "", 0},
		{"\x03\xe8", 1000, "", 0},
		{"\x03\xe9bye", 1001, "bye", 0},
		{"\x0b\xb8", 3000, "", 0},
		{"\x13\x87", 4999, "", 0},
		{"\x03", 0, "", CloseProtocol},
		{"\x03\xe7", 0, "", CloseProtocol}, // 999
		{"\x03\xec", 0, "", CloseProtocol}, // 1004
		{"\x03\xed", 0, "", CloseProtocol}, // 1005
		{"\x03\xee", 0, "", CloseProtocol}, // 1006
		{"\x03\xf7", 0, "", CloseProtocol}, // 1015
		{"\x13\x88", 0, "", CloseProtocol}, // 5000
		{"\x03\xe8\xff", 0, "", CloseBadText},
	}
	for _, c := range cases {
		code, reason, err := parseClose([]byte(c.payload))
		var closed *CloseError
		if errors.As(err, &closed) != (c.fail != 0) || (closed != nil && closed.Code != c.fail) {
			t.Errorf("%q: %v, want failure %d", c.payload, err, c.fail)
		}
		if code != c.code || reason != c.reason {
			t.Errorf("%q: %d %q, want %d %q", c.payload, code, reason, c.code, c.reason)
		}
	}
}

func TestAllocsFrameReader(t *testing.T) {
	var stream []byte
	for range 8 {
		stream = appendFrame(stream, opBinary, make([]byte, 300), &maskKey{9, 8, 7, 6})
		stream = appendFrame(stream, opPing, []byte("hi"), &maskKey{9, 8, 7, 6})
	}
	r := bytes.NewReader(stream)
	f := newFrameReader(r, true)
	if got := testing.AllocsPerRun(100, func() {
		r.Reset(stream)
		for range 16 {
			if _, _, err := f.next(); err != nil {
				t.Fatal(err)
			}
		}
	}); got != 0 {
		t.Errorf("%v allocations, want 0", got)
	}
}

// For any input, the reader neither panics nor returns more than was sent, and an accepted
// frame can be framed again and read to the same.
func FuzzFrame(f *testing.F) {
	for _, s := range []string{
		"8281000000004182800000000089810000000070", "028100000000410081000000004280810000000043",
		"82fe100100000000", "82ff800000000000000000000000", "888201020304", "8a8000000000c281",
	} {
		f.Add(unhex(f, s), true)
	}
	f.Add(unhex(f, "8201418900"), false)
	f.Fuzz(func(t *testing.T, b []byte, masked bool) {
		var key *maskKey
		if masked {
			key = &maskKey{1, 2, 3, 4}
		}
		r := newFrameReader(bytes.NewReader(b), masked)
		total := 0
		for {
			op, payload, err := r.next()
			if err != nil {
				return
			}
			if total += len(payload); total > len(b) || len(payload) > MaxMessage {
				t.Fatalf("%d bytes out of %d", total, len(b))
			}
			again := newFrameReader(bytes.NewReader(appendFrame(nil, op, payload, key)), masked)
			op2, payload2, err := again.next()
			if err != nil || op2 != op || !bytes.Equal(payload2, payload) {
				t.Fatalf("%v % x reads back as %v % x, %v", op, payload, op2, payload2, err)
			}
		}
	})
}
