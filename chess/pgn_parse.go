package chess

import (
	"errors"
	"slices"
	"strconv"
	"strings"
)

// ParsePGN reads the first game of text and returns the text after it, so that a loop can read
// all games:
//
//	for text != "" {
//		game, text, err = chess.ParsePGN(text)
//	}
//
// Every move must be legal, every move number right, and the game must end with its result.
// Variants other than Chess960 are refused. A game has at most MaxPGN bytes. Errors are
// *ParseError with the offset in text.
func ParsePGN(text string) (game Game, rest string, err error) {
	r := pgnReader{text: text[:min(len(text), MaxPGN)], whole: len(text) <= MaxPGN}
	r.game.Start = Start()
	if err := r.tags(); err != nil {
		return Game{}, text, err
	}
	if err := r.moves(); err != nil {
		return Game{}, text, err
	}
	r.space()
	return r.game, text[r.at:], nil
}

type pgnReader struct {
	text  string
	at    int
	whole bool // text has not been cut at MaxPGN
	game  Game
	// result is the value of the Result tag, "" if there is none.
	result string
	// chess960 is set by the Variant tag. It makes the castling rights of a FEN with KQkq those
	// of a Chess960 board.
	chess960 bool
}

// space skips white space and lines that begin with '%'.
func (r *pgnReader) space() {
	for r.at < len(r.text) {
		switch c := r.text[r.at]; {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			r.at++
		case c == '%' && (r.at == 0 || r.text[r.at-1] == '\n'):
			r.until('\n')
		default:
			return
		}
	}
}

// until returns the text before the next c and skips both. If there is no c, it returns the
// rest of the text.
func (r *pgnReader) until(c byte) (text string, found bool) {
	start := r.at
	if i := strings.IndexByte(r.text[start:], c); i >= 0 {
		r.at = start + i + 1
		return r.text[start : start+i], true
	}
	r.at = len(r.text)
	return r.text[start:], false
}

func (r *pgnReader) tags() error {
	seen := map[string]bool{}
	for r.space(); r.at < len(r.text) && r.text[r.at] == '['; r.space() {
		start := r.at
		name, value, err := r.tag()
		if err != nil {
			return err
		}
		if seen[name] {
			return parseErrorf(start, "the tag %s is there twice", name)
		}
		seen[name] = true
		if err := r.keep(start, name, value); err != nil {
			return err
		}
	}
	if start := &r.game.Start; r.chess960 {
		start.chess960 = start.board.castlers() != 0
	}
	return nil
}

// keep stores one tag in the game or the reader.
func (r *pgnReader) keep(start int, name, value string) error {
	switch name {
	case "Result":
		r.result = value
	case "Variant":
		r.chess960 = strings.EqualFold(value, "Chess960")
		if !r.chess960 && !strings.EqualFold(value, "Standard") {
			return parseErrorf(start, "the variant %q is not played here", value)
		}
	case "SetUp":
		if value != "0" && value != "1" {
			return parseErrorf(start, "SetUp is 0 or 1")
		}
	case "FEN":
		p, err := ParseFEN(value)
		if err != nil {
			return parseErrorf(start, "the tag FEN is wrong %v", err)
		}
		r.game.Start = p
	default:
		if len(r.game.Tags) == maxTags {
			return parseErrorf(start, "a game has at most %d tags", maxTags)
		}
		r.game.Tags = append(r.game.Tags, Tag{name, value})
	}
	return nil
}

// tag reads [Name "value"].
func (r *pgnReader) tag() (name, value string, err error) {
	r.at++
	r.space()
	start := r.at
	for r.at < len(r.text) && isTagByte(r.text[r.at]) {
		r.at++
	}
	name = r.text[start:r.at]
	if !validTagName(name) {
		return "", "", parseErrorf(start, "the name of a tag has 1 to %d letters, digits and underscores", maxTagName)
	}
	r.space()
	if r.at >= len(r.text) || r.text[r.at] != '"' {
		return "", "", parseErrorf(r.at, "the value of the tag %s must follow in quotes", name)
	}
	r.at++
	start = r.at
	var unescaped strings.Builder
	for ; ; r.at++ {
		if r.at >= len(r.text) || r.text[r.at] == '\n' {
			return "", "", parseErrorf(r.at, "the value of the tag %s has no closing quote", name)
		}
		c := r.text[r.at]
		if c == '"' {
			break
		}
		if c == '\\' && r.at+1 < len(r.text) && (r.text[r.at+1] == '"' || r.text[r.at+1] == '\\') {
			r.at++
			c = r.text[r.at]
		}
		unescaped.WriteByte(c)
	}
	r.at++
	if value = unescaped.String(); !printable(value) {
		return "", "", parseErrorf(start, "the value of the tag %s is not clean UTF-8", name)
	}
	r.space()
	if r.at >= len(r.text) || r.text[r.at] != ']' {
		return "", "", parseErrorf(r.at, "the tag %s must end here with ']'", name)
	}
	r.at++
	return name, value, nil
}

// line is the game or a variation while it is read.
type pgnLine struct {
	before  Position // before the last move
	now     Position
	comment string
	plies   []Ply
}

// moves reads movetext up to and including the result.
func (r *pgnReader) moves() error {
	l := pgnLine{now: r.game.Start}
	err := r.line(&l, 0)
	r.game.Comment, r.game.Plies = l.comment, l.plies
	return err
}

// line reads the moves of the game up to its result, or of a variation up to its
// closing bracket.
func (r *pgnReader) line(l *pgnLine, depth int) error {
	for {
		r.space()
		start := r.at
		if start >= len(r.text) {
			if !r.whole {
				return parseErrorf(start, "a game has at most %d bytes", MaxPGN)
			}
			return parseErrorf(start, "the game must end with its result")
		}
		switch c := r.text[start]; {
		case c == '{' || c == ';':
			if err := r.comment(l, c); err != nil {
				return err
			}
		case c == '(':
			if err := r.variation(l, depth+1); err != nil {
				return err
			}
		case c == ')' && depth > 0 && len(l.plies) > 0:
			r.at++
			return nil
		case c == ')' && depth > 0:
			return parseErrorf(start, "the variation has no move")
		case c == ')':
			return parseErrorf(start, "the bracket closes no variation")
		default:
			word := r.word()
			result, ok := resultOf(word)
			if ok && depth > 0 {
				return parseErrorf(start, "the variation has no closing bracket")
			}
			if ok {
				return r.end(start, result)
			}
			if err := l.step(start, word); err != nil {
				return err
			}
		}
	}
}

// variation reads a line that could have been played instead of the last move.
func (r *pgnReader) variation(l *pgnLine, depth int) error {
	start := r.at
	if len(l.plies) == 0 {
		return parseErrorf(start, "a variation follows the move that it replaces")
	}
	if depth > maxNesting {
		return parseErrorf(start, "variations are at most %d deep", maxNesting)
	}
	r.at++
	v := pgnLine{now: l.before}
	if err := r.line(&v, depth); err != nil {
		return err
	}
	last := &l.plies[len(l.plies)-1]
	last.Variations = append(last.Variations, Variation{Comment: v.comment, Plies: v.plies})
	return nil
}

// word reads up to the next white space, comment or bracket.
func (r *pgnReader) word() string {
	start := r.at
	for r.at++; r.at < len(r.text) && !strings.ContainsRune(" \t\r\n{};()", rune(r.text[r.at])); r.at++ {
	}
	return r.text[start:r.at]
}

// step reads one word that is a move, a move number, both ("1.e4") or an
// annotation.
func (l *pgnLine) step(start int, word string) error {
	if word[0] == '$' {
		n, err := strconv.ParseUint(word[1:], 10, 8)
		if err != nil || len(word) > 4 {
			return parseErrorf(start, "an annotation is $ and a number up to 255")
		}
		return l.annotate(start, uint8(n))
	}
	p := &l.now
	digits := len(word) - len(strings.TrimLeft(word, "0123456789"))
	if digits > 0 {
		dots := len(word) - digits - len(strings.TrimLeft(word[digits:], "."))
		if err := checkNumber(*p, start, word[:digits], dots); err != nil {
			return err
		}
		start += digits + dots
		if word = word[digits+dots:]; word == "" {
			return nil
		}
	}
	san := strings.TrimRight(word, "!?")
	m, err := p.ParseSAN(san)
	if err != nil {
		var malformed *ParseError
		if errors.As(err, &malformed) {
			return parseErrorf(start+malformed.Offset, "%s: %s", word, malformed.Reason)
		}
		return parseErrorf(start, "%s: %v", word, err)
	}
	l.plies = append(l.plies, Ply{Move: m})
	l.before = *p
	p.Apply(m)
	if nag := slices.Index(suffixes[:], word[len(san):]); nag > 0 {
		return l.annotate(start, uint8(nag))
	}
	return nil
}

// suffixes are the annotations that may follow a move; the index of each is its NAG.
var suffixes = [...]string{"", "!", "?", "!!", "??", "!?", "?!"}

// annotate adds an annotation to the last move. It ignores one before the first move, for which
// Game has no field.
func (l *pgnLine) annotate(start int, nag uint8) error {
	if len(l.plies) == 0 {
		return nil
	}
	last := &l.plies[len(l.plies)-1]
	if len(last.NAGs) == maxNAGs {
		return parseErrorf(start, "a move has at most %d annotations", maxNAGs)
	}
	last.NAGs = append(last.NAGs, nag)
	return nil
}

// checkNumber accepts "12" and "12." before White's move and "12..." before Black's, if 12 is
// the number of that move.
func checkNumber(p Position, start int, digits string, dots int) error {
	n := 0
	for i := 0; i < len(digits) && n <= maxCounter; i++ {
		n = n*10 + int(digits[i]-'0')
	}
	if n != int(p.fullmoves) {
		return parseErrorf(start, "the next move has the number %d, not %s", p.fullmoves, digits)
	}
	if p.turn == White && dots > 1 || p.turn == Black && dots != 3 {
		return parseErrorf(start+len(digits), "the number of a move has one dot for White and three for Black")
	}
	return nil
}

// comment reads "{…}" or the rest of a line after ";" and adds it to the last move, or to the
// line if it has no move yet.
func (r *pgnReader) comment(l *pgnLine, opening byte) error {
	start := r.at
	r.at++
	closing := byte('\n')
	if opening == '{' {
		closing = '}'
	}
	text, found := r.until(closing)
	if !found && opening == '{' {
		return parseErrorf(start, "the comment has no closing brace")
	}
	if text = strings.Join(strings.Fields(text), " "); !printable(text) {
		return parseErrorf(start, "the comment is not clean UTF-8")
	}
	place := &l.comment
	if n := len(l.plies); n > 0 {
		place = &l.plies[n-1].Comment
	}
	if strings.Contains(text, "}") {
		return parseErrorf(start, "a comment cannot hold a closing brace")
	}
	if len(*place)+1+len(text) > maxComment {
		return parseErrorf(start, "the comments on one move have at most %d bytes", maxComment)
	}
	*place = strings.TrimSpace(*place + " " + text)
	return nil
}

// end sets the result, which must be that of the Result tag if there is one.
func (r *pgnReader) end(start int, result Result) error {
	if r.result != "" && r.result != result.String() {
		return parseErrorf(start, "the game ends with %s, but its tag says %q", result, r.result)
	}
	r.game.Result = result
	return nil
}

func resultOf(word string) (Result, bool) {
	for result, text := range resultTexts {
		if word == text {
			return Result(result), true
		}
	}
	return 0, false
}
