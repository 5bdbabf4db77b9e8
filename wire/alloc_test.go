package wire

import (
	"testing"

	"wamble"
)

// frequent are the messages of the hot paths, with the fields that usually
// travel with them.
func frequent(t testing.TB) map[string]func(dst []byte) ([]byte, error) {
	t.Helper()
	uci, err := MakeUCI("e2e4")
	if err != nil {
		t.Fatal(err)
	}
	h := Header{Token: wamble.Token{1, 2, 3}, Board: 42, Seq: 7}
	fen := []byte("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w")
	full := "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
	moves := []LegalMove{{12, 20, 0}, {12, 28, 0}}
	return map[string]func(dst []byte) ([]byte, error){
		"CLIENT_HELLO":    func(dst []byte) ([]byte, error) { return Append(dst, h, ClientHello{}) },
		"PLAYER_MOVE":     func(dst []byte) ([]byte, error) { return Append(dst, h, PlayerMove{UCI: uci}) },
		"ACK":             func(dst []byte) ([]byte, error) { return Append(dst, h, Ack{}) },
		"GET_LEGAL_MOVES": func(dst []byte) ([]byte, error) { return Append(dst, h, GetLegalMoves{Square: 12}) },
		"LEGAL_MOVES": func(dst []byte) ([]byte, error) {
			return Append(dst, h, LegalMoves{Square: 12, Moves: moves})
		},
		"BOARD_UPDATE": func(dst []byte) ([]byte, error) {
			return Append(dst, h, BoardUpdate{FEN: fen}, Int(KeySessionCaps, 0x3ff),
				String(KeyPredictionSource, SourceTree), String(KeyBoardFEN, full), Int(KeyBoardVersion, 9))
		},
		"SPECTATE_UPDATE": func(dst []byte) ([]byte, error) {
			return Append(dst, h, SpectateUpdate{FEN: fen}, String(KeySpectateState, SpectateSummary),
				Int(KeySpectateGeneration, 7))
		},
	}
}

func TestFrequentPacketsDoNotAllocate(t *testing.T) {
	for name, encode := range frequent(t) {
		t.Run(name, func(t *testing.T) {
			buf := make([]byte, 0, MaxPacket)
			b, err := encode(buf)
			if err != nil {
				t.Fatal(err)
			}
			if got := testing.AllocsPerRun(100, func() { _, _ = encode(buf) }); got != 0 {
				t.Errorf("Append allocates %v times", got)
			}
			var p Packet
			if got := testing.AllocsPerRun(100, func() {
				if err := p.Decode(b); err != nil {
					t.Fatal(err)
				}
			}); got != 0 {
				t.Errorf("Packet.Decode allocates %v times", got)
			}
			if got := p.Ctrl.String(); got != name {
				t.Errorf("decoded %s", got)
			}
			if got := testing.AllocsPerRun(100, func() {
				if _, err := Peek(b); err != nil {
					t.Fatal(err)
				}
			}); got != 0 {
				t.Errorf("Peek allocates %v times", got)
			}
		})
	}
}

func TestBadPacketsDoNotAllocate(t *testing.T) {
	var p Packet
	bad, err := Append(nil, Header{}, Ack{})
	if err != nil {
		t.Fatal(err)
	}
	bad[3] = 1
	if got := testing.AllocsPerRun(100, func() {
		if p.Decode(bad) == nil {
			t.Fatal("accepted")
		}
	}); got != 0 {
		t.Errorf("refusing a packet allocates %v times", got)
	}
}

func BenchmarkAppend(b *testing.B) {
	for name, encode := range frequent(b) {
		b.Run(name, func(b *testing.B) {
			buf := make([]byte, 0, MaxPacket)
			b.ReportAllocs()
			for b.Loop() {
				_, _ = encode(buf)
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for name, encode := range frequent(b) {
		b.Run(name, func(b *testing.B) {
			packet, err := encode(nil)
			if err != nil {
				b.Fatal(err)
			}
			var p Packet
			b.ReportAllocs()
			for b.Loop() {
				if err := p.Decode(packet); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
