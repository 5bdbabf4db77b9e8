package chess

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

// readAll returns the lengths of the games of a text, and its errors, in order.
func readAll(t testing.TB, r io.Reader) (found []string) {
	t.Helper()
	for in := NewPGNReader(r); ; {
		g, err := in.Next()
		var broken *PGNError
		switch {
		case err == io.EOF:
			return found
		case errors.As(err, &broken):
			found = append(found, broken.Error())
		case err != nil:
			t.Fatal(err)
		default:
			found = append(found, fmt.Sprintf("%s %d plies %s", g.Tag("Event"), len(g.Plies), g.Result))
		}
		if len(found) > 10_000 {
			t.Fatal("it never ends")
		}
	}
}

// TestPGNReader: games are found amid other text, and a broken one is reported with its line
// and does not affect the others.
func TestPGNReader(t *testing.T) {
	long := strings.Repeat("x ", MaxPGN)
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"nothing", "", nil},
		{"blank", "\xef\xbb\xbf\n% x\n \r\n", nil},
		{"two", "\xef\xbb\xbf[Event \"a\"]\r\n\r\n1. e4 1-0\r\n\r\n[Event \"b\"]\n\n1. e4 e5 *", []string{"a 1 plies 1-0", "b 2 plies *"}},
		{"without tags", "1. e4 * 1. d4 d5 0-1\n*", []string{" 1 plies *", " 2 plies 0-1", " 0 plies *"}},
		{"a bracket in a comment", "[Event \"a\"]\n\n1. e4 {\n[Event \"no\"]\n} *\n[Event \"b\"]\n*\n", []string{"a 1 plies *", "b 0 plies *"}},
		{"a brace in a line comment", "1. e4 ; {\n*\n[Event \"b\"]\n*\n", []string{" 1 plies *", "b 0 plies *"}},
		{"broken", "[Event \"a\"]\n\n1. e4\ne4 *\n\n[Event \"b\"]\n\n1. d4 *\n[Event b]\n*\n[Event \"c\"]\n*", []string{
			"line 4: e4: illegal move", "b 1 plies *", "line 9: the value of the tag Event must follow in quotes",
			"c 0 plies *"}},
		{"an open comment", "[Event \"a\"]\n\n1. e4 {x\n\n[Event \"b\"]\n\n*", []string{"line 3: the comment has no closing brace", "b 0 plies *"}},
		{"no result", "[Event \"a\"]\n\n1. e4\n\n[Event \"b\"]\n\n*", []string{"line 5: the game must end with its result", "b 0 plies *"}},
		{"too long", "[Event \"a\"]\n\n1. e4\n;" + long + "\n;" + long + "\n*\n[Event \"b\"]\n*", []string{"line 4: the comments on one move have at most 1024 bytes", "b 0 plies *"}},
		{"long and blank", "[Event \"a\"]\n\n1. e4\n" + strings.Repeat(" \n", MaxPGN) + "*\n[Event \"b\"]\n*", []string{
			fmt.Sprintf("line %d: a game has at most 1048576 bytes", 4+(MaxPGN-20)/2), "b 0 plies *"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := readAll(t, strings.NewReader(c.text)); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
	in := NewPGNReader(io.MultiReader(strings.NewReader("*\n"), iotest.ErrReader(io.ErrClosedPipe)))
	if _, err := in.Next(); err != nil {
		t.Errorf("a game before the file breaks: %v", err)
	}
	if _, err := in.Next(); err != io.ErrClosedPipe {
		t.Errorf("got %v, want the error of the file", err)
	}
}

// TestVariations: variations and comments are read and written unchanged.
func TestVariations(t *testing.T) {
	const text = `1. e4 $1 {best} (1. d4 $13 d5 (1... Nf6 2. c4) ({or} 1... f5 {Dutch})) (1. c4)
1... e5 $5 (1... c5) 2. Nf3 *`
	g, _, err := ParsePGN("1. e4! {best} (1.d4 $13 d5 (1... Nf6 2. c4)({or}1... f5 {Dutch}))(1. c4) 1... e5!? (1... c5) 2.Nf3 *")
	if err != nil {
		t.Fatal(err)
	}
	first := g.Plies[0]
	if len(g.Plies) != 3 || len(first.Variations) != 2 || len(first.Variations[0].Plies[1].Variations) != 2 ||
		first.Variations[0].Plies[1].Variations[1].Comment != "or" || first.NAGs[0] != 1 {
		t.Errorf("got %+v", g.Plies)
	}
	got, err := g.PGN()
	if err != nil || !strings.HasSuffix(got, "\n\n"+text+"\n\n") {
		t.Errorf("got %v\n%s\nwant\n%s", err, got, text)
	}
	g.Plies[0].Variations[0].Plies = nil
	if _, err := g.PGN(); err == nil {
		t.Error("a variation without a move was written")
	}
}

// FuzzPGNReader: for any input, in pieces of any size, the same games and errors are found.
func FuzzPGNReader(f *testing.F) {
	f.Add("[Event \"a\"]\n\n1. e4 {x\n\n[Event \"b\"]\n\n1. e4 (1. d4) e5 *\n% y\n*")
	f.Add("1. e4 ; {\n*\n[A \"\"]\n1-0 1/2-1/2")
	f.Fuzz(func(t *testing.T, text string) {
		whole := readAll(t, strings.NewReader(text))
		if slow := readAll(t, iotest.OneByteReader(strings.NewReader(text))); !reflect.DeepEqual(whole, slow) {
			t.Errorf("%q: got %q, byte by byte %q", text, whole, slow)
		}
	})
}
