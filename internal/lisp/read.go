package lisp

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// MaxSource is the size in bytes of the largest program.
	MaxSource = 256 << 10
	// MaxNesting is how deep lists may nest in a program.
	MaxNesting = 200
)

// reader turns a source into values. It continues after an error, so that one run reports
// several errors.
type reader struct {
	src  *Source
	text string
	at   int
	in   *Interp // records the findings
}

// Read parses src into its top-level forms. Errors and warnings are recorded
// in in; a form with an error inside is left out.
func (in *Interp) Read(src *Source) []Value {
	r := &reader{src: src, text: src.Text, in: in}
	if !r.acceptable() {
		return nil
	}
	r.at = len(r.text) - len(strings.TrimPrefix(r.text, "\ufeff"))
	var forms []Value
	for !in.Full() {
		r.space()
		if r.at == len(r.text) {
			break
		}
		v, err := r.value(0)
		if err == nil {
			forms = append(forms, v)
			continue
		}
		in.report(err)
		r.recover()
	}
	return forms
}

// acceptable reports whether the source can be read; it records why not.
func (r *reader) acceptable() bool {
	if len(r.text) > MaxSource {
		r.in.report(r.src.At(0).Errorf("the file has more than %d bytes, which is all that can be read", MaxSource))
		return false
	}
	for i, c := range r.text {
		_, width := utf8.DecodeRuneInString(r.text[i:])
		switch {
		case c == utf8.RuneError && width == 1:
			r.in.report(r.src.At(i).Errorf("byte %#02x is not UTF-8 text", r.text[i]))
			return false
		case c < ' ' && !isSpace(byte(c)):
			r.in.report(r.src.At(i).Errorf("control character %#02x", c))
			return false
		}
	}
	return true
}

// recover skips a form with an error: it moves to the next line that begins with a parenthesis,
// which nearly always begins a new form.
func (r *reader) recover() {
	next := strings.Index(r.text[r.at:], "\n(")
	if next < 0 {
		r.at = len(r.text)
		return
	}
	r.at += next + 1
}

func isSpace(c byte) bool {
	return c == ' ' || '\t' <= c && c <= '\r'
}

// ends reports whether c cannot be part of a symbol or number.
func ends(c byte) bool {
	return isSpace(c) || c == '(' || c == ')' || c == '"' || c == ';'
}

// space skips white space and comments.
func (r *reader) space() {
	for ; r.at < len(r.text); r.at++ {
		switch c := r.text[r.at]; {
		case c == ';':
			end := strings.IndexByte(r.text[r.at:], '\n')
			if end < 0 {
				r.at = len(r.text)
				return
			}
			r.at += end
		case !isSpace(c):
			return
		}
	}
}

// value reads one datum, which begins at the current byte.
func (r *reader) value(depth int) (Value, *Error) {
	pos := r.src.At(r.at)
	switch r.text[r.at] {
	case '(':
		return r.list(pos, depth)
	case ')':
		r.at++
		return Value{}, pos.Errorf("this ) closes nothing")
	case '"':
		return r.string(pos)
	}
	begin := r.at
	for r.at < len(r.text) && !ends(r.text[r.at]) {
		r.at++
	}
	return atom(pos, r.text[begin:r.at])
}

func (r *reader) list(pos Pos, depth int) (Value, *Error) {
	begin := r.at
	if depth == MaxNesting {
		return Value{}, pos.Errorf("lists are nested more than %d deep", MaxNesting)
	}
	r.at++
	var items []Value
	for {
		r.space()
		if r.at == len(r.text) {
			return Value{}, r.unclosed(pos, begin)
		}
		if r.text[r.at] == ')' {
			r.at++
			if items == nil {
				return nilAt(pos), nil
			}
			return Value{Kind: List, Pos: pos, Items: items}, nil
		}
		item, err := r.value(depth + 1)
		if err != nil {
			return Value{}, err
		}
		items = append(items, item)
	}
}

// unclosed returns the error for a list that runs to the end of the file, with a guess where
// its closing parenthesis belongs.
func (r *reader) unclosed(pos Pos, begin int) *Error {
	r.at = begin + 1 // continue with the next form inside this one
	err := pos.Errorf("this ( is never closed")
	if next := strings.Index(r.text[begin:], "\n("); next >= 0 {
		_, line, _ := r.src.At(begin + next + 1).Place()
		return err.WithHint("is a ) missing before line %d?", line)
	}
	return err.WithHint("add the missing ) at the end")
}

var escapes = map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', '\\': '\\', '"': '"'}

func (r *reader) string(pos Pos) (Value, *Error) {
	var b strings.Builder
	for r.at++; r.at < len(r.text); r.at++ {
		c := r.text[r.at]
		switch {
		case c == '"':
			r.at++
			return stringAt(pos, b.String()), nil
		case c == '\\' && r.at+1 < len(r.text):
			r.at++
			plain, ok := escapes[r.text[r.at]]
			if !ok {
				// The original has no escapes: keep both characters.
				if at := r.src.At(r.at - 1); !r.in.Quiet(at) {
					r.in.Warn(at.Errorf("\\%c is not an escape and stays as it is",
						firstRune(r.text[r.at:])).WithHint(`write \\ for a backslash`))
				}
				b.WriteByte('\\')
				plain = r.text[r.at]
			}
			b.WriteByte(plain)
		default:
			b.WriteByte(c)
		}
	}
	return Value{}, pos.Errorf("this string is never closed").WithHint(`add the missing "`)
}

func firstRune(s string) rune {
	c, _ := utf8.DecodeRuneInString(s)
	return c
}

// atom reads a number or symbol. As in the original, a token that only begins like a number
// (960-blitz) is a symbol.
func atom(pos Pos, token string) (Value, *Error) {
	if !numeric(token) {
		return Value{Kind: Symbol, Pos: pos, Text: token}, nil
	}
	if n, err := strconv.ParseInt(token, 10, 64); err == nil {
		return intAt(pos, n), nil
	}
	if !strings.ContainsAny(token, ".eE") {
		return Value{}, pos.Errorf("%s is too large; whole numbers go from %d to %d", token, math.MinInt64,
			math.MaxInt64)
	}
	f, err := strconv.ParseFloat(token, 64)
	if err != nil {
		return Value{}, pos.Errorf("%s is too large for a number", token)
	}
	return Value{Kind: Float, Pos: pos, Float: f}, nil
}

// numeric reports whether token is digits with an optional sign, point and
// exponent: 7, -7, +7, 1.5, .5, 1., 1e3.
func numeric(token string) bool {
	s := strings.TrimLeft(token, "+-")
	if len(token)-len(s) > 1 {
		return false
	}
	mantissa, exponent, hasExponent := strings.Cut(strings.ToLower(s), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	if !digits(whole) || !digits(fraction) || whole+fraction == "" {
		return false
	}
	if !hasExponent {
		return true
	}
	exponent = strings.TrimPrefix(strings.TrimPrefix(exponent, "+"), "-")
	return exponent != "" && digits(exponent)
}

func digits(s string) bool { return strings.Trim(s, "0123456789") == "" }
