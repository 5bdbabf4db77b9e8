package chess

import (
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
)

// play makes a game of moves in UCI, each with its comment after a slash.
func play(t testing.TB, start Position, moves string) Game {
	t.Helper()
	g := Game{Start: start}
	p := start
	for word := range strings.FieldsSeq(moves) {
		uci, comment, _ := strings.Cut(word, "/")
		m, err := p.ParseUCI(uci)
		if err != nil {
			t.Fatalf("%s in %s: %v", uci, p, err)
		}
		g.Plies = append(g.Plies, Ply{Move: m, Comment: strings.ReplaceAll(comment, "_", " ")})
		p = p.Play(m)
	}
	return g
}

func TestPGNGolden(t *testing.T) {
	board960, err := Chess960(0)
	if err != nil {
		t.Fatal(err)
	}
	fool := play(t, Start(), "f2f3/alice_[%emt_0:00:05] e7e5/bob_[%emt_0:00:07] g2g4 d8h4/carol_[%emt_0:01:02]")
	fool.Tags = []Tag{{"Event", `The "Wamble"`}, {"Board", `7\8`}, {"White", "alice"}, {"Black", "bob, carol"}}
	fool.Result, fool.Comment = BlackWins, "Everybody moves once"
	chess960 := play(t, board960, "f2f4 f7f5 f1f3 f8f6 g1h1 g8h8")
	blackFirst := play(t, mustParse(t, "4k3/8/8/8/8/8/4p3/4K3 b - - 0 40"), "e8d7 e1e2 d7d6")
	blackFirst.Result = Draw
	for _, c := range []struct {
		file string
		game Game
	}{
		{"fool.pgn", fool},
		{"chess960.pgn", chess960},
		{"black-first.pgn", blackFirst},
	} {
		t.Run(c.file, func(t *testing.T) {
			want, err := os.ReadFile("testdata/pgn/" + c.file)
			if err != nil {
				t.Fatal(err)
			}
			got, err := c.game.PGN()
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			back, rest, err := ParsePGN(got)
			if err != nil || rest != "" {
				t.Fatalf("read back: %v, rest %q", err, rest)
			}
			if !reflect.DeepEqual(back.Plies, c.game.Plies) || back.Start != c.game.Start ||
				back.Result != c.game.Result || back.Comment != c.game.Comment {
				t.Errorf("read back it is %+v\nwant %+v", back, c.game)
			}
			for _, tag := range c.game.Tags {
				if got := back.Tag(tag.Name); got != tag.Value {
					t.Errorf("tag %s = %q, want %q", tag.Name, got, tag.Value)
				}
			}
			if got, want := back.End(), c.game.End(); got != want {
				t.Errorf("it ends in %s, want %s", got, want)
			}
		})
	}
}

// TestPGNOfRandomGames: long games survive, and no line is too long.
func TestPGNOfRandomGames(t *testing.T) {
	var g Game
	finish := func() {
		if len(g.Plies) == 0 {
			return
		}
		text, err := g.PGN()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(text) {
			if len(line) > pgnWidth+1 && line[0] != '[' {
				t.Errorf("a line of %d bytes: %s", len(line), line)
			}
		}
		back, rest, err := ParsePGN(text)
		if err != nil || rest != "" || !reflect.DeepEqual(back.Plies, g.Plies) || back.Start != g.Start {
			t.Fatalf("%v, rest %q, from\n%s", err, rest, text)
		}
	}
	randomGames(t, 10, 200, func(p Position, _ []Move, m Move) {
		if p.Ply() == 0 {
			finish()
			g = Game{Start: p}
		}
		if m != 0 {
			g.Plies = append(g.Plies, Ply{Move: m, Comment: strings.Repeat("player ", p.Ply()%3) + "x"})
		}
	})
	finish()
}

func TestPGNReadsGamesInARow(t *testing.T) {
	text := "% made by hand\n[Event \"a\"]\n[Result \"1-0\"]\n\n1.e4 $1 e5! 2.Nf3 ; a knight\n1-0\n\n\n" +
		"[Event \"b\"] [SetUp \"0\"]\n1. d4 {first} {second} 1... d5 *\n"
	var games []Game
	for text != "" {
		g, rest, err := ParsePGN(text)
		if err != nil {
			t.Fatal(err)
		}
		games, text = append(games, g), rest
	}
	if got, want := len(games), 2; got != want {
		t.Fatalf("%d games, want %d", got, want)
	}
	if got, want := games[0].Plies[2], "a knight"; len(games[0].Plies) != 3 || got.Comment != want {
		t.Errorf("the third move is %+v, want the comment %q", got, want)
	}
	if got, want := games[1].Plies[0].Comment, "first second"; got != want {
		t.Errorf("comment %q, want %q", got, want)
	}
}

// TestPGNVariantTag: the tag decides where the FEN leaves it open.
func TestPGNVariantTag(t *testing.T) {
	const fen = `[FEN "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1"]`
	for tags, want := range map[string]string{
		fen:                          "e1g1",
		`[Variant "standard"]` + fen: "e1g1",
		`[Variant "chess960"]` + fen: "e1h1",
		fen + `[Variant "Chess960"]`: "e1h1",
	} {
		g, _, err := ParsePGN(tags + "\n1. O-O *")
		if err != nil {
			t.Fatal(err)
		}
		if got := g.Plies[0].Move.String(); got != want {
			t.Errorf("%s: castling is %s, want %s", tags, got, want)
		}
	}
}

func TestBadPGN(t *testing.T) {
	for _, c := range []struct {
		name, text string
		offset     int
		reason     string
	}{
		{"nothing", "", 0, "must end with its result"},
		{"no result", "1. e4 e5", 8, "must end with its result"},
		{"illegal move", "1. e4 e4 *", 6, "illegal move"},
		{"malformed move", "1. e4 e5x *", 7, "e5x"},
		{"ambiguous move", "[FEN \"4k3/8/8/8/8/8/4K3/R6R w - - 0 1\"]\n1. Rd1 *", 43, "ambiguous"},
		{"wrong number", "1. e4 e5 3. Nf3 *", 9, "number 2"},
		{"huge number", "99999999999999999999999. e4 *", 0, "number 1"},
		{"dots of the other side", "1... e4 *", 1, "one dot for White"},
		{"one dot for Black", "1. e4 {x} 1. e5 *", 11, "three for Black"},
		{"variation of nothing", "(1. d4) 1. e4 *", 0, "follows the move"},
		{"empty variation", "1. e4 () *", 7, "has no move"},
		{"open variation", "1. e4 (1. d4 *", 13, "no closing bracket"},
		{"illegal variation", "1. e4 (1. d5) *", 10, "illegal move"},
		{"stray bracket", "1. e4 ) *", 6, "closes no variation"},
		{"deep variations", "1. e4 " + strings.Repeat("(1. d4 ", 40), 6 + 32*7, "at most 32 deep"},
		{"huge annotation", "1. e4 $256 *", 6, "up to 255"},
		{"many annotations", "1. e4 " + strings.Repeat("$1 ", 17) + "*", 54, "at most 16"},
		{"open comment", "1. e4 {x *", 6, "no closing brace"},
		{"stray brace", "1. e4 } *", 7, "}"},
		{"brace in a line comment", "1. e4 ; }\n *", 6, "closing brace"},
		{"long comment", "1. e4 {" + strings.Repeat("x", 2000) + "} *", 6, "at most 1024"},
		{"comment that is not UTF-8", "1. e4 {\xff} *", 6, "UTF-8"},
		{"results differ", "[Result \"1-0\"] 1. e4 0-1", 21, "its tag says"},
		{"tag twice", "[Event \"a\"][Event \"b\"] *", 11, "twice"},
		{"tag without name", "[ \"a\"] *", 2, "name of a tag"},
		{"tag without value", "[Event] *", 6, "in quotes"},
		{"open quote", "[Event \"a] *", 12, "closing quote"},
		{"open bracket", "[Event \"a\" *", 11, "must end here"},
		{"control character in a tag", "[Event \"\x01\"] *", 8, "UTF-8"},
		{"too many tags", manyTags(65) + "*", 64 * 10, "at most 64 tags"},
		{"bad FEN", "[FEN \"x\"] *", 0, "FEN is wrong at offset 0"},
		{"foreign variant", "[Variant \"Crazyhouse\"] *", 0, "not played here"},
		{"bad SetUp", "[SetUp \"yes\"] *", 0, "SetUp"},
		{"bad annotation", "1. e4 $x *", 6, "annotation"},
		{"too long", strings.Repeat(" ", MaxPGN+1), MaxPGN, "at most"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, rest, err := ParsePGN(c.text)
			var parse *ParseError
			if !errors.As(err, &parse) || parse.Offset != c.offset || !strings.Contains(parse.Reason, c.reason) {
				t.Errorf("got %v; want %q at %d", err, c.reason, c.offset)
			}
			if rest != c.text {
				t.Error("a failed read consumed text")
			}
		})
	}
}

func manyTags(n int) string {
	var text strings.Builder
	for i := range n {
		text.WriteString("[T" + string(rune('a'+i/26)) + string(rune('a'+i%26)) + ` "x"]` + "\n")
	}
	return text.String()
}

func TestUnwritablePGN(t *testing.T) {
	e4 := play(t, Start(), "e2e4").Plies[0].Move
	for name, g := range map[string]Game{
		"illegal move":         {Start: Start(), Plies: []Ply{{Move: e4}, {Move: e4}}},
		"name with a space":    {Start: Start(), Tags: []Tag{{"a b", ""}}},
		"empty name":           {Start: Start(), Tags: []Tag{{"", ""}}},
		"newline in a tag":     {Start: Start(), Tags: []Tag{{"Event", "a\nb"}}},
		"a tag twice":          {Start: Start(), Tags: []Tag{{"A", ""}, {"A", ""}}},
		"brace in a comment":   {Start: Start(), Comment: "}"},
		"control in a comment": {Start: Start(), Plies: []Ply{{Move: e4, Comment: "\x00"}}},
		"invalid UTF-8":        {Start: Start(), Plies: []Ply{{Move: e4, Comment: "\xff"}}},
		"long comment":         {Start: Start(), Plies: []Ply{{Move: e4, Comment: strings.Repeat("x", maxComment)}}},
		"too many tags":        {Start: Start(), Tags: make([]Tag, maxTags+1)},
	} {
		if text, err := g.AppendPGN([]byte("before")); err == nil || string(text) != "before" {
			t.Errorf("%s: %q, %v; want an error and nothing written", name, text, err)
		}
	}
}

// FuzzPGN: a game that is read can be written; that text is its own fixpoint.
func FuzzPGN(f *testing.F) {
	f.Add("[Event \"x\"]\n\n1. e4 {a} 1... e5 2. Nf3 1-0\n")
	f.Add("[FEN \"4k3/8/8/8/8/8/4p3/4K3 b - - 0 40\"]\n40... Kd7 41. Kxe2 *")
	f.Add("[Variant \"Chess960\"][FEN \"4k3/8/8/8/8/8/8/6KR w H - 0 1\"] 1. O-O *")
	f.Add("% x\n1.e4!? $10 ; c\ne5 1/2-1/2 rest")
	f.Add("1. e4! $13 (1. d4 {x} (1. c4 c5?) 1... d5) ({y} 1. f3 $2) e5 *")
	f.Add("[A \"\\\"\\\\\"] *")
	f.Fuzz(func(t *testing.T, text string) {
		g, rest, err := ParsePGN(text)
		if err != nil {
			var parse *ParseError
			if !errors.As(err, &parse) || parse.Offset < 0 || parse.Offset > len(text) {
				t.Fatalf("ParsePGN(%q): %v", text, err)
			}
			return
		}
		if !strings.HasSuffix(text, rest) || len(rest) >= len(text) {
			t.Fatalf("the rest %q is not the end of %q", rest, text)
		}
		once, err := g.PGN()
		if err != nil {
			t.Fatalf("%q was read but cannot be written: %v", text, err)
		}
		back, rest, err := ParsePGN(once)
		if err != nil || rest != "" {
			t.Fatalf("%q is not read back: %v, rest %q", once, err, rest)
		}
		twice, err := back.PGN()
		if err != nil || twice != once {
			t.Fatalf("%q became %q, %v", once, twice, err)
		}
	})
}
