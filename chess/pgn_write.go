package chess

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// pgnWidth is the length of the longest line of moves, unless one word is longer.
const pgnWidth = 79

// AppendPGN appends the game in PGN, with a blank line at its end, so that games can follow
// each other. It fails if a move is not legal, if PGN does not allow a tag or comment, or if a
// bound given at Game or Ply is exceeded.
func (g *Game) AppendPGN(dst []byte) ([]byte, error) {
	w := pgnWriter{dst: dst}
	if err := g.writeTags(&w); err != nil {
		return dst, err
	}
	w.dst = append(w.dst, '\n')
	w.lineStart = len(w.dst)
	if err := w.line(g.Start, g.Comment, g.Plies, 0); err != nil {
		return dst, err
	}
	w.word(g.Result.String())
	return append(w.dst, "\n\n"...), nil
}

// line writes the moves of the game or of a variation.
func (w *pgnWriter) line(p Position, comment string, plies []Ply, depth int) error {
	if err := w.comment(comment); err != nil {
		return err
	}
	numbered := false
	for i := range plies {
		ply := &plies[i]
		if !p.IsLegal(ply.Move) {
			return fmt.Errorf("ply %d, %s: %w", i+1, ply.Move, ErrIllegal)
		}
		w.number(p, numbered)
		w.word(string(p.AppendSAN(w.scratch[:0], ply.Move)))
		if len(ply.NAGs) > maxNAGs {
			return fmt.Errorf("ply %d: a move has at most %d annotations", i+1, maxNAGs)
		}
		for _, nag := range ply.NAGs {
			w.word(string(strconv.AppendUint(append(w.scratch[:0], '$'), uint64(nag), 10)))
		}
		if err := w.comment(ply.Comment); err != nil {
			return fmt.Errorf("ply %d: %w", i+1, err)
		}
		for j := range ply.Variations {
			if err := w.variation(p, &ply.Variations[j], depth+1); err != nil {
				return fmt.Errorf("ply %d: %w", i+1, err)
			}
		}
		numbered = p.turn == White && ply.Comment == "" && len(ply.Variations) == 0
		p = p.Play(ply.Move)
	}
	return nil
}

// variation writes a line in brackets, without a space between them and its first and last
// word.
func (w *pgnWriter) variation(p Position, v *Variation, depth int) error {
	if len(v.Plies) == 0 {
		return errors.New("a variation has no move")
	}
	if depth > maxNesting {
		return fmt.Errorf("variations are at most %d deep", maxNesting)
	}
	w.open++
	if err := w.line(p, v.Comment, v.Plies, depth); err != nil {
		return err
	}
	w.dst = append(w.dst, ')')
	return nil
}

// PGN returns the game as AppendPGN writes it.
func (g *Game) PGN() (string, error) {
	text, err := g.AppendPGN(nil)
	return string(text), err
}

// pgnWriter writes moves in lines of at most pgnWidth bytes.
type pgnWriter struct {
	dst       []byte
	lineStart int
	open      int // brackets to write before the next word
	scratch   [16]byte
}

func (g *Game) writeTags(w *pgnWriter) error {
	for _, tag := range roster {
		value := g.Tag(tag.Name)
		switch {
		case tag.Name == "Result":
			value = g.Result.String()
		case value == "":
			value = tag.Value
		}
		if err := w.tag(tag.Name, value); err != nil {
			return err
		}
	}
	if g.Start.Chess960() {
		w.tag("Variant", "Chess960")
	}
	if g.Start != Start() {
		w.tag("SetUp", "1")
		w.tag("FEN", g.Start.FEN())
	}
	if len(g.Tags) > maxTags {
		return fmt.Errorf("a game has at most %d tags, this one has %d", maxTags, len(g.Tags))
	}
	for i, tag := range g.Tags {
		for _, earlier := range g.Tags[:i] {
			if earlier.Name == tag.Name {
				return fmt.Errorf("the tag %s is there twice", tag.Name)
			}
		}
		if derived(tag.Name) || inRoster(tag.Name) {
			continue
		}
		if err := w.tag(tag.Name, tag.Value); err != nil {
			return err
		}
	}
	return nil
}

func (w *pgnWriter) tag(name, value string) error {
	if !validTagName(name) {
		return fmt.Errorf("%q cannot be the name of a tag", name)
	}
	if !printable(value) {
		return fmt.Errorf("the value of the tag %s has bytes that PGN cannot hold", name)
	}
	w.dst = append(w.dst, '[')
	w.dst = append(w.dst, name...)
	w.dst = append(w.dst, ` "`...)
	for i := range len(value) {
		if value[i] == '"' || value[i] == '\\' {
			w.dst = append(w.dst, '\\')
		}
		w.dst = append(w.dst, value[i])
	}
	w.dst = append(w.dst, "\"]\n"...)
	return nil
}

// number writes "12." before White's move, and "12..." before Black's unless clear is set,
// which means that White's move is the word before.
func (w *pgnWriter) number(p Position, clear bool) {
	if p.turn == Black && clear {
		return
	}
	text := strconv.AppendInt(w.scratch[:0], int64(p.fullmoves), 10)
	if p.turn == White {
		w.word(string(append(text, '.')))
	} else {
		w.word(string(append(text, "..."...)))
	}
}

// comment writes the words of a comment in braces, or nothing if there are none.
func (w *pgnWriter) comment(text string) error {
	words := strings.Fields(text)
	if len(words) == 0 {
		return nil
	}
	if len(text) >= maxComment {
		return fmt.Errorf("a comment has less than %d bytes, this one has %d", maxComment, len(text))
	}
	if strings.ContainsRune(text, '}') || !printable(strings.Join(words, " ")) {
		return fmt.Errorf("the comment %q has bytes that PGN cannot hold", text)
	}
	words[0] = "{" + words[0]
	words[len(words)-1] += "}"
	for _, word := range words {
		w.word(word)
	}
	return nil
}

// word appends one word, on a new line if it does not fit on this one.
func (w *pgnWriter) word(s string) {
	s = strings.Repeat("(", w.open) + s
	w.open = 0
	used := len(w.dst) - w.lineStart
	switch {
	case used == 0:
	case used+1+len(s) > pgnWidth:
		w.dst = append(w.dst, '\n')
		w.lineStart = len(w.dst)
	default:
		w.dst = append(w.dst, ' ')
	}
	w.dst = append(w.dst, s...)
}

func validTagName(name string) bool {
	if name == "" || len(name) > maxTagName {
		return false
	}
	for i := range len(name) {
		if !isTagByte(name[i]) {
			return false
		}
	}
	return true
}

func isTagByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// printable reports whether s is UTF-8 without control characters.
func printable(s string) bool {
	for _, r := range s {
		if r < ' ' || r == 0x7f {
			return false
		}
	}
	return utf8.ValidString(s)
}
