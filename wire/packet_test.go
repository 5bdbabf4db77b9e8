package wire

import (
	"bytes"
	"errors"
	"go/ast"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"wamble"
)

var testToken = wamble.Token{0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xaa, 0xab, 0xac, 0xad, 0xae,
	0xaf}

func mustUCI(t testing.TB, s string) UCI {
	t.Helper()
	u, err := MakeUCI(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// textView returns a string field as decoding makes it.
func textView(key string, value []byte) Field { return Field{Key: key, Type: TypeString, view: value} }

func sameField(f, g Field) bool {
	return f.Key == g.Key && f.Type == g.Type && f.num == g.num && f.Text() == g.Text()
}

func sameExt(a, b Ext) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !sameField(a[i], b[i]) {
			return false
		}
	}
	return true
}

func TestAppendRefuses(t *testing.T) {
	long := Text(strings.Repeat("x", 256))
	fields := func(n int) (ext Ext) {
		for range n {
			ext = append(ext, Int("k", 1))
		}
		return ext
	}
	tests := []struct {
		name string
		h    Header
		m    Message
		ext  Ext
		want error
	}{
		{"header of another message", Header{Ctrl: CtrlAck}, ClientHello{}, nil, ErrInvalid},
		{"1201 bytes", Header{}, BoardUpdate{bytes.Repeat([]byte("x"), 1201)}, nil, ErrTooLong},
		{"1200 bytes and a field", Header{}, BoardUpdate{bytes.Repeat([]byte("x"), 1200)}, fields(1), ErrTooLong},
		{"13 fields", Header{}, Ack{}, fields(13), ErrTooLong},
		{"key of 64 bytes", Header{}, Ack{}, Ext{Int(strings.Repeat("k", 64), 1)}, ErrTooLong},
		{"empty key", Header{}, Ack{}, Ext{Int("", 1)}, ErrTooLong},
		{"string of 256 bytes", Header{}, Ack{}, Ext{String("k", string(long))}, ErrTooLong},
		{"field without a type", Header{}, Ack{}, Ext{{Key: "k"}}, ErrInvalid},
		{"reason of 256 bytes", Header{}, Error{Reason: long}, nil, ErrTooLong},
		{"name of 256 bytes", Header{}, GetProfileInfo{long}, nil, ErrTooLong},
		{"219 moves", Header{}, LegalMoves{Moves: make([]LegalMove, 219)}, nil, ErrTooLong},
		{"17 rows of the leaderboard", Header{}, LeaderboardData{Rows: make([]LeaderboardRow, 17)}, nil, ErrTooLong},
		{"handle of 65536 bytes", Header{}, LeaderboardData{Rows: []LeaderboardRow{{Handle: make(Text, 65536)}}}, nil, ErrTooLong},
		{"17 predictions", Header{}, PredictionData{make([]Prediction, 17)}, nil, ErrTooLong},
		{"65 sessions", Header{}, SessionsData{make([]Session, 65)}, nil, ErrTooLong},
		{"65536 reservations", Header{}, ActiveReservationsData{make([]Reservation, 65536)}, nil, ErrTooLong},
		{"profile of 256 bytes", Header{}, ActiveReservationsData{[]Reservation{{Profile: long}}}, nil, ErrTooLong},
		{"fragment of a request", Header{Ctrl: CtrlPlayerMove}, Fragment{Count: 1}, nil, ErrInvalid},
		{"fragment of nothing", Header{}, Fragment{Count: 1}, nil, ErrInvalid},
		{"fragment index", Header{Ctrl: CtrlError}, Fragment{Index: 1, Count: 1}, nil, ErrInvalid},
		{"chunk of 1153 bytes", Header{Ctrl: CtrlError}, Fragment{Count: 1, Chunk: make(Bytes, 1153)}, nil, ErrTooLong},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dst := []byte("before")
			got, err := Append(dst, tt.h, tt.m, tt.ext...)
			if !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			if string(got) != "before" {
				t.Errorf("dst became %q", got)
			}
		})
	}
}

func TestAppendComputesFlags(t *testing.T) {
	all := Flags(0xFF)
	tests := []struct {
		name string
		m    Message
		ext  Ext
		want Flags
	}{
		{"neither", SpectateUpdate{}, nil, 0xE7},
		{"extensions", SpectateUpdate{}, Ext{Int("k", 1)}, 0xEF},
		{"fragment", Fragment{Count: 1}, nil, 0xF7},
		{"fragments have no extensions of their own", &Fragment{Count: 1}, Ext{Int("k", 1)}, 0xF7},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, err := Append(nil, Header{Ctrl: CtrlSpectateUpdate, Flags: all}, tt.m, tt.ext...)
			if err != nil {
				t.Fatal(err)
			}
			if got := Flags(b[1]); got != tt.want {
				t.Errorf("flags %#02x, want %#02x", got, tt.want)
			}
			if b[2] != 1 {
				t.Errorf("version 0 is written as %d", b[2])
			}
		})
	}
}

// TestPayloadThatLooksLikeATrailer: a text whose end has the form of a trailer
// must not be cut by the receiver.
func TestPayloadThatLooksLikeATrailer(t *testing.T) {
	text := Text("terms\x01\x00WX\x00\x02")
	b, err := Append(nil, Header{}, ProfileTOSData{text})
	if err != nil {
		t.Fatal(err)
	}
	_, m, err := Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	if got := m.(*ProfileTOSData).Terms; !bytes.Equal(got, text) {
		t.Errorf("got %q, want %q", got, text)
	}
}

func TestDecodeOwnsItsMemory(t *testing.T) {
	b, err := Append(nil, Header{}, BoardUpdate{Text("8/8 w")})
	if err != nil {
		t.Fatal(err)
	}
	_, m, err := Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	clear(b)
	if got := m.(*BoardUpdate).FEN.String(); got != "8/8 w" {
		t.Errorf("got %q after the input changed", got)
	}
}

// TestPacketForgetsThePacketBefore: nothing of a packet shines through into the
// next one that the same Packet decodes, or refuses.
func TestPacketForgetsThePacketBefore(t *testing.T) {
	login, err := Append(nil, Header{}, LoginRequest{PublicKey: Key{1}, Signature: &Signature{2}}, Int("k", 1))
	if err != nil {
		t.Fatal(err)
	}
	ask, err := Append(nil, Header{}, LoginRequest{PublicKey: Key{3}})
	if err != nil {
		t.Fatal(err)
	}
	var p Packet
	for _, b := range [][]byte{login, ask} {
		if err := p.Decode(b); err != nil {
			t.Fatal(err)
		}
	}
	m := p.Message.(*LoginRequest)
	if m.Signature != nil || m.PublicKey != (Key{3}) || len(p.Ext) != 0 {
		t.Errorf("got %+v with %d fields", m, len(p.Ext))
	}
	bad := bytes.Clone(ask)
	bad[33]-- // 31 bytes
	if err := p.Decode(bad); err == nil || p.Message != nil {
		t.Errorf("after a refused packet: error %v, message %v", err, p.Message)
	}
}

func TestSizeSplitsAMessage(t *testing.T) {
	var stream []byte
	want := []Control{CtrlAck, CtrlPlayerMove, CtrlBoardUpdate}
	for _, m := range []Message{Ack{}, PlayerMove{mustUCI(t, "e2e4")}, BoardUpdate{Text("8/8 w")}} {
		var err error
		if stream, err = Append(stream, Header{}, m); err != nil {
			t.Fatal(err)
		}
	}
	var got []Control
	for rest := stream; len(rest) > 0; {
		n, err := Size(rest)
		if err != nil {
			t.Fatal(err)
		}
		h, err := Peek(rest[:n])
		if err != nil {
			t.Fatal(err)
		}
		got, rest = append(got, h.Ctrl), rest[n:]
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for cut := 1; cut < HeaderSize; cut++ {
		if n, err := Size(stream[:cut]); err == nil {
			t.Errorf("%d bytes are a packet of %d", cut, n)
		}
	}
}

func TestSetSeq(t *testing.T) {
	b, err := Append(nil, Header{Token: testToken, Board: 42, Seq: 1}, Ack{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := Append(nil, Header{Token: testToken, Board: 42, Seq: 0xFFFFFC17}, Ack{})
	if err != nil {
		t.Fatal(err)
	}
	SetSeq(b, 0xFFFFFC17)
	if !bytes.Equal(b, want) {
		t.Errorf("got %x, want %x", b, want)
	}
}

func TestClientVersion(t *testing.T) {
	for _, tt := range []struct {
		version   uint8
		seq, want uint32
	}{{0, 0, 1}, {0, 1, 1}, {0, 77, 77}, {1, 77, 1}, {2, 1, 2}, {255, 77, 255}} {
		h := Header{Version: tt.version, Seq: tt.seq}
		if got := h.ClientVersion(); got != tt.want {
			t.Errorf("version byte %d of packet %d is version %d, want %d", tt.version, tt.seq, got, tt.want)
		}
	}
}

func TestNegotiate(t *testing.T) {
	for _, tt := range []struct{ asked, want Flags }{
		{0x00, 0x03}, {0x01, 0x01}, {0x02, 0x02}, {0x03, 0x03}, {0x7F, 0x03},
		{0x04, 0x00}, {0x08, 0x00}, {0x80, 0x03}, {0x81, 0x01},
	} {
		if got := tt.asked.Negotiate(); got != tt.want {
			t.Errorf("asked %#02x, granted %#02x, want %#02x", tt.asked, got, tt.want)
		}
	}
}

// TestFlagNames: every flag has a row, and the names of a packet's flags read
// back.
func TestFlagNames(t *testing.T) {
	rows := map[Flags]int{}
	for _, row := range FlagNames {
		rows[row.Bit]++
	}
	for _, c := range constants(t, ".", "Flags") {
		if ast.IsExported(c.Name) {
			rows[Flags(c.Value)]--
		}
	}
	for bit, n := range rows {
		if n != 0 {
			t.Errorf("%#02x has %d rows more than constants", bit, n)
		}
	}
	for c := Control(0); int(c) <= len(controls); c++ {
		for f := range 256 {
			names := Flags(f).Names(c)
			got, err := ParseFlags(c, names)
			if err != nil || got != Flags(f) {
				t.Fatalf("flags %#02x of %v are %v, which are %#02x (%v)", f, c, names, got, err)
			}
		}
	}
	if _, err := ParseFlags(CtrlAck, []string{"BOARD_IS_960"}); !errors.Is(err, ErrInvalid) {
		t.Errorf("ACK has BOARD_IS_960: %v", err)
	}
}

func TestLimit(t *testing.T) {
	for _, tt := range []struct {
		s    string
		n    int
		want string
	}{
		{"short", 89, "short"}, {"abcdef", 3, "abc"}, {"aé", 2, "a"}, {"aé", 3, "aé"},
		{"♞♞", 5, "♞"}, {"\x80\x80\x80\x80\x80\x80", 5, "\x80\x80\x80\x80\x80"}, {"é", 0, ""}, {"é", 1, ""},
	} {
		if got := Limit(tt.s, tt.n); got != tt.want {
			t.Errorf("Limit(%q, %d) = %q, want %q", tt.s, tt.n, got, tt.want)
		}
	}
}

func TestShortFEN(t *testing.T) {
	for _, tt := range []struct{ fen, want string }{
		{"8/8/8/8/8/8/8/K1k5 w - - 0 1", "8/8/8/8/8/8/8/K1k5 w"},
		{"8/8/8/8/8/8/8/K1k5 w", "8/8/8/8/8/8/8/K1k5 w"},
		{"8/8", "8/8"},
		{"", ""},
		{strings.Repeat("p", 100) + " w", strings.Repeat("p", 89)},
	} {
		if got := ShortFEN(tt.fen); got != tt.want {
			t.Errorf("ShortFEN(%q) = %q, want %q", tt.fen, got, tt.want)
		}
		if got := ShortFEN([]byte(tt.fen)); string(got) != tt.want {
			t.Errorf("ShortFEN of the bytes of %q = %q, want %q", tt.fen, got, tt.want)
		}
	}
}

func TestMustFragment(t *testing.T) {
	for _, tt := range []struct {
		c    Control
		n    int
		want bool
	}{
		{CtrlProfileTOSData, 0, true}, {CtrlActiveReservationsData, 2, true},
		{CtrlProfilesList, 89, false}, {CtrlProfilesList, 90, true},
		{CtrlLeaderboardData, 1200, false}, {CtrlLeaderboardData, 1201, true},
	} {
		if got := tt.c.MustFragment(tt.n); got != tt.want {
			t.Errorf("%v of %d bytes: enveloped %v, want %v", tt.c, tt.n, got, tt.want)
		}
	}
}

func TestMakeUCI(t *testing.T) {
	if _, err := MakeUCI("e2e4e2e"); !errors.Is(err, ErrTooLong) {
		t.Errorf("7 letters: %v", err)
	}
	if got := mustUCI(t, "e7e8q"); got.String() != "e7e8q" || got.Len() != 5 {
		t.Errorf("got %q of %d bytes", got, got.Len())
	}
}

// TestKnownKeys: every key has one row, and every row a constant.
func TestKnownKeys(t *testing.T) {
	seen := map[string]bool{}
	source, err := os.ReadFile("key.go")
	if err != nil {
		t.Fatal(err)
	}
	declared := regexp.MustCompile(`(?m)^\tKey\w+ += "(.+)"$`).FindAllSubmatch(source, -1)
	if got, want := len(KnownKeys), len(declared); got != want {
		t.Errorf("%d rows, %d constants", got, want)
	}
	for _, k := range KnownKeys {
		if seen[k.Key] || len(k.Key) > MaxKey || k.Meaning == "" || k.Type < TypeString || k.Type > TypeBool {
			t.Errorf("row %+v", k)
		}
		seen[k.Key] = true
	}
	for _, d := range declared {
		if !seen[string(d[1])] {
			t.Errorf("%s has no row", d[1])
		}
	}
}

func TestExtLookup(t *testing.T) {
	ext := Ext{Int("a", 1), String("a", "second"), String("s", "text"), Double("d", 0.5), Bool("b", true)}
	if v, ok := ext.Int("a"); !ok || v != 1 {
		t.Errorf("first a: %v %v", v, ok)
	}
	if v, ok := ext.Text("a"); ok {
		t.Errorf("the first a is no text, but %q", v)
	}
	if v, ok := ext.Text("s"); !ok || v != "text" {
		t.Errorf("s: %q %v", v, ok)
	}
	if v, ok := ext.Double("d"); !ok || v != 0.5 {
		t.Errorf("d: %v %v", v, ok)
	}
	if _, ok := ext.Int("none"); ok {
		t.Error("found a key that is not there")
	}
	if f, _ := ext.Lookup("b"); !f.Bool() || f.Int() != 0 || f.Double() != 0 || f.TextIs("") {
		t.Errorf("b: %+v", f)
	}
	if f := textView("k", []byte("tree")); !f.TextIs("tree") || !sameField(f, String("k", "tree")) {
		t.Errorf("decoded text: %+v", f)
	}
}
