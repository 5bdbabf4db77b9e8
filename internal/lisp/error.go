package lisp

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Error is a finding at a place of a source text: an error, or a warning.
type Error struct {
	File    string
	Line    int // from 1; 0 if the finding has no place
	Col     int // from 1, in characters
	Msg     string
	Hint    string // advice, or ""
	Warning bool
	at      Pos
	source  string // the source line, with secrets hidden
	fatal   bool   // evaluation cannot continue: a bound was reached
}

// Errorf makes an Error at p.
func (p Pos) Errorf(format string, args ...any) *Error {
	e := &Error{Msg: fmt.Sprintf(format, args...), at: p}
	e.File, e.Line, e.Col = p.Place()
	if e.Line > 0 {
		e.source = p.src.line(e.Line)
	}
	return e
}

// WithHint adds advice to e and returns it.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// Suggest adds "did you mean" if one of known is near name, and returns e.
func (e *Error) Suggest(name string, known []string) *Error {
	if near, ok := Nearest(name, known); ok {
		return e.WithHint("did you mean `%s`?", near)
	}
	return e
}

// Fatal makes e end the evaluation of the program, and returns it.
func (e *Error) Fatal() *Error {
	e.fatal = true
	return e
}

// Error is one line, without the source: file:line:col: message (hint).
func (e *Error) Error() string {
	s := e.head()
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

func (e *Error) head() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(e.File)
		if e.Line > 0 {
			b.WriteString(":" + strconv.Itoa(e.Line) + ":" + strconv.Itoa(e.Col))
		}
		b.WriteString(": ")
	}
	if e.Warning {
		b.WriteString("warning: ")
	}
	return b.String() + e.Msg
}

const (
	tabWidth  = 4
	lineWidth = 100 // columns of source that are shown
)

// Render draws the finding over several lines: the message, the source line
// with a caret under the place, and the hint.
//
//	wamble.conf:3:11: port must be 0 to 65535, this is 70000
//	  3 | (def port 70000)
//	    |           ^
//	  hint: …
func (e *Error) Render() string {
	var b strings.Builder
	b.WriteString(e.head() + "\n")
	if e.source != "" {
		text, caret := clip(e.source, e.Col)
		number := strconv.Itoa(e.Line)
		fmt.Fprintf(&b, "  %s | %s\n", number, text)
		fmt.Fprintf(&b, "  %s | %s^\n", strings.Repeat(" ", len(number)), strings.Repeat(" ", caret))
	}
	if e.Hint != "" {
		b.WriteString("  hint: " + e.Hint + "\n")
	}
	return b.String()
}

// clip expands tabs, cuts a wide line around column col and returns the text
// with the number of characters before the caret. Control characters, which
// could move a terminal's cursor, become spaces.
func clip(line string, col int) (text string, caret int) {
	var cells []rune
	caret = -1
	for i, r := range []rune(line) {
		if i == col-1 {
			caret = len(cells)
		}
		if r == '\t' {
			for n := tabWidth - len(cells)%tabWidth; n > 0; n-- {
				cells = append(cells, ' ')
			}
			continue
		}
		if r < ' ' || r == 0x7F || r == utf8.RuneError {
			r = ' '
		}
		cells = append(cells, r)
	}
	if caret < 0 {
		caret = len(cells)
	}
	if len(cells) <= lineWidth {
		return string(cells), caret
	}
	begin := max(0, min(caret-lineWidth/2, len(cells)-lineWidth))
	end := begin + lineWidth
	text = string(cells[begin:min(end, len(cells))])
	caret -= begin
	if begin > 0 {
		text, caret = "…"+text, caret+1
	}
	if end < len(cells) {
		text += "…"
	}
	return text, caret
}

// errReported ends the evaluation of a form after an error that is already recorded: the form
// uses a name whose definition failed.
var errReported = errors.New("reported before")
