package chess

import (
	"errors"
	"strings"
	"testing"
)

func TestMalformedUCI(t *testing.T) {
	for _, c := range []struct {
		text   string
		offset int
		reason string
	}{
		{"", 0, "4 or 5 characters"},
		{"e2", 2, "4 or 5 characters"},
		{"e2e", 3, "4 or 5 characters"},
		{"e2e4xx", 5, "4 or 5 characters"},
		{"e2e4 ", 4, "promotes to one of"},
		{"E2e4", 0, "a–h"},
		{"e9e4", 1, "1–8"},
		{"e2i4", 2, "a–h"},
		{"e2e0", 3, "1–8"},
		{"a7a8Q", 4, "promotes to one of"},
		{"a7a8k", 4, "promotes to one of"},
		{"a7a8p", 4, "promotes to one of"},
		{"0000", 0, "a–h"},
		{"O-O", 3, "4 or 5 characters"},
		{"é2e4", 0, "a–h"},
	} {
		m, err := Start().ParseUCI(c.text)
		var parse *ParseError
		if m != 0 || !errors.As(err, &parse) {
			t.Errorf("ParseUCI(%q) = %v, %v; want a *ParseError", c.text, m, err)
			continue
		}
		if parse.Offset != c.offset || !strings.Contains(parse.Reason, c.reason) {
			t.Errorf("ParseUCI(%q): %v; want %q at %d", c.text, err, c.reason, c.offset)
		}
	}
}

func TestMoveTellsItself(t *testing.T) {
	for _, c := range []struct {
		fen, uci        string
		castling, epSet bool
		promotion       Kind
	}{
		{StartFEN, "g1f3", false, false, None},
		{kiwipete, "e1c1", true, false, None},
		{"4k3/8/8/8/8/8/8/6KR w H - 0 1", "g1h1", true, false, None},
		{"4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 2", "e5d6", false, true, None},
		{"4k3/P7/8/8/8/8/8/4K3 w - - 0 1", "a7a8n", false, false, Knight},
		{"4k3/8/8/8/8/8/p7/4K3 b - - 0 1", "a2a1q", false, false, Queen},
	} {
		m, err := mustParse(t, c.fen).ParseUCI(c.uci)
		if err != nil {
			t.Errorf("%s: %v", c.uci, err)
			continue
		}
		if m.Castling() != c.castling || m.EnPassant() != c.epSet || m.Promotion() != c.promotion {
			t.Errorf("%s: castling %v, en passant %v, promotion %d", c.uci, m.Castling(), m.EnPassant(), m.Promotion())
		}
		if got := m.String(); got != c.uci {
			t.Errorf("%s is written %s", c.uci, got)
		}
		if got := m.From().String() + m.To().String(); got != c.uci[:4] {
			t.Errorf("%s goes %s", c.uci, got)
		}
	}
	if got, want := Move(0).String(), "0000"; got != want {
		t.Errorf("no move is written %s, want %s", got, want)
	}
}

// FuzzUCI: a move that is read is written the same, and leads to a position.
func FuzzUCI(f *testing.F) {
	f.Add(StartFEN, "e2e4")
	f.Add(kiwipete, "e1g1")
	f.Add("4k3/P7/8/8/8/8/8/4K3 w - - 0 1", "a7a8q")
	f.Add("4k3/8/8/8/8/8/8/6KR w H - 0 1", "g1h1")
	f.Add(StartFEN, "e2e4xx")
	f.Fuzz(func(t *testing.T, fen, uci string) {
		p, err := ParseFEN(fen)
		if err != nil {
			p = Start()
		}
		m, err := p.ParseUCI(uci)
		if err != nil {
			var parse *ParseError
			if err != ErrIllegal && (!errors.As(err, &parse) || parse.Offset > len(uci)) {
				t.Fatalf("ParseUCI(%q): %v", uci, err)
			}
			return
		}
		if m.String() != uci || !p.IsLegal(m) {
			t.Fatalf("%s: %q is read as %s", p, uci, m)
		}
		if next := p.Play(m); mustParse(t, next.FEN()) != next {
			t.Fatalf("%s after %s is %s", p, uci, next)
		}
	})
}
