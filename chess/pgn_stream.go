package chess

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// PGNError is the error of a game in a file, with its line.
type PGNError struct {
	Line int // from 1
	Err  error
}

func (e *PGNError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns Err.
func (e *PGNError) Unwrap() error { return e.Err }

// PGNReader reads the games of a file of any length, one after the other. It holds one game in
// memory, of at most MaxPGN bytes. Games without tags that follow each other count together as
// one game for that bound.
type PGNReader struct {
	in *bufio.Reader
	// chunk has the lines from one tag section to the next; rest is the part of it that has not
	// been parsed, and begins in line.
	chunk []byte
	rest  string
	line  int
	// ahead is the beginning of the next chunk, aheadLine its line.
	ahead     []byte
	aheadLine int
	err       error // error of in
}

// NewPGNReader returns a reader of the games in r.
func NewPGNReader(r io.Reader) *PGNReader {
	return &PGNReader{in: bufio.NewReaderSize(r, 64<<10), aheadLine: 1}
}

// Next returns the next game, or io.EOF after the last. After a *PGNError, the next call
// returns the game after the malformed one. Any other error is of the underlying reader, and is
// returned by every further call.
func (r *PGNReader) Next() (Game, error) {
	for blank(r.rest) {
		if !r.fill() {
			if r.err == io.EOF {
				return Game{}, io.EOF
			}
			return Game{}, r.err
		}
	}
	text := r.rest
	game, rest, err := ParsePGN(text)
	if err == nil {
		r.rest = rest
		r.line += strings.Count(text[:len(text)-len(rest)], "\n")
		return game, nil
	}
	r.rest = ""
	var parse *ParseError
	if errors.As(err, &parse) {
		at := r.line + strings.Count(text[:parse.Offset], "\n")
		return Game{}, &PGNError{at, errors.New(parse.Reason)}
	}
	return Game{}, &PGNError{r.line, err}
}

// blank reports whether a text has only white space and lines that begin with '%'.
func blank(text string) bool {
	r := pgnReader{text: text}
	r.space()
	return r.at == len(text)
}

// fill reads the next chunk. It ends before a tag that follows moves and is outside a comment,
// and before an Event tag that follows a blank line even if a comment has no closing brace. So
// a malformed game does not affect those after it. Of a chunk of more than MaxPGN bytes only
// the first MaxPGN + 1 are kept. fill returns false if nothing is left.
func (r *PGNReader) fill() bool {
	r.chunk = append(r.chunk[:0], r.ahead...)
	r.line, r.ahead = r.aheadLine, r.ahead[:0]
	s := pgnSplitter{fresh: true}
	if len(r.chunk) > 0 {
		s.take(r.chunk)
	}
	for r.err == nil {
		part, err := r.in.ReadSlice('\n')
		if err != nil && err != bufio.ErrBufferFull {
			r.err = err
		}
		if r.line == 1 && len(r.chunk) == 0 {
			part = bytes.TrimPrefix(part, []byte("\xef\xbb\xbf"))
		}
		if len(part) == 0 {
			continue
		}
		if s.begins(part) {
			r.ahead = append(r.ahead, part...)
			r.aheadLine += s.lines
			break
		}
		s.take(part)
		if room := MaxPGN + 1 - len(r.chunk); room > 0 {
			r.chunk = append(r.chunk, part[:min(room, len(part))]...)
		}
	}
	r.rest = string(r.chunk)
	return r.rest != ""
}

// pgnSplitter finds where a game ends without parsing its moves.
type pgnSplitter struct {
	fresh   bool // the next byte begins a line
	blank   bool // the line before was empty
	moves   bool // there were moves
	comment bool // a brace is not closed yet
	rest    bool // the rest of the line is a comment, an escape or a tag
	lines   int
}

// begins reports whether part is the first of another game.
func (s *pgnSplitter) begins(part []byte) bool {
	if !s.fresh || !s.moves || len(part) == 0 || part[0] != '[' {
		return false
	}
	return !s.comment || s.blank && bytes.HasPrefix(part, []byte("[Event "))
}

// take notes the content of a line or of a part of one.
func (s *pgnSplitter) take(part []byte) {
	if s.fresh {
		s.blank = len(bytes.TrimSpace(part)) == 0
		s.rest = !s.comment && (part[0] == '%' || part[0] == '[')
	}
	for _, c := range part {
		switch {
		case s.comment:
			s.comment = c != '}'
		case s.rest || c == ' ' || c == '\t' || c == '\r' || c == '\n':
		case c == ';':
			s.rest = true
		default:
			s.comment, s.moves = c == '{', true
		}
	}
	if s.fresh = part[len(part)-1] == '\n'; s.fresh {
		s.lines++
	}
}

// PGNWriter writes games one after the other.
type PGNWriter struct {
	out io.Writer
	buf []byte
}

// NewPGNWriter returns a writer of games to w.
func NewPGNWriter(w io.Writer) *PGNWriter { return &PGNWriter{out: w} }

// Write writes one game with one call of the underlying writer, or nothing if AppendPGN fails
// for it.
func (w *PGNWriter) Write(g *Game) error {
	var err error
	if w.buf, err = g.AppendPGN(w.buf[:0]); err != nil {
		return err
	}
	_, err = w.out.Write(w.buf)
	return err
}
