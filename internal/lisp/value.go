package lisp

import (
	"math"
	"sort"
	"strconv"
	"strings"
)

// Kind is the kind of a Value; it says which fields are used.
type Kind uint8

// The kinds of values.
const (
	Nil     Kind = iota // the empty list, and the result of forms without one
	List                // Items, at least one
	Symbol              // Text
	Int                 // Int
	Float               // Float, always finite
	String              // Text
	Func                // Func
	invalid             // bound to a name whose definition failed
)

var kindNames = [...]string{"nil", "a list", "a name", "a whole number", "a number", "a string", "a function",
	"invalid"}

// String names the kind as a reader would: "a whole number".
func (k Kind) String() string { return kindNames[k] }

// Value is a datum of the language, immutable by convention.
type Value struct {
	Kind  Kind
	Pos   Pos
	Text  string
	Int   int64
	Float float64
	Items []Value
	Func  *Function
}

// Function is a function or macro of the program, or a Form.
type Function struct {
	Name   string
	macro  bool
	params []string
	body   []Value
	env    *Env
	form   Form
}

// Source is one text with a name, usually that of its file.
type Source struct {
	Name string
	Text string
	// Shown is quoted by Errors instead of Text; it hides secrets and has the same length.
	// Empty means Text.
	Shown string
	lines []int // offset of the beginning of every line
}

// NewSource returns a text with a name.
func NewSource(name, text string) *Source {
	s := &Source{Name: name, Text: text, lines: []int{0}}
	for i := 0; i < len(text); i++ {
		if text[i] == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	return s
}

// At returns the place of the byte at an offset.
func (s *Source) At(offset int) Pos { return Pos{s, int32(offset)} }

// line returns line n, from 1, with secrets hidden.
func (s *Source) line(n int) string {
	text := s.Text
	if len(s.Shown) == len(text) {
		text = s.Shown
	}
	end := len(text)
	if n < len(s.lines) {
		end = s.lines[n] - 1
	}
	return strings.TrimSuffix(text[s.lines[n-1]:end], "\r")
}

// Pos is a place in a Source. The zero Pos is no place.
type Pos struct {
	src    *Source
	offset int32
}

// IsZero reports whether p is no place.
func (p Pos) IsZero() bool { return p.src == nil }

// Offset returns the index of the place in the text of its source.
func (p Pos) Offset() int { return int(p.offset) }

// Place returns file, line and column; line and column count from 1, columns in characters.
func (p Pos) Place() (file string, line, col int) {
	if p.src == nil {
		return "", 0, 0
	}
	line = sort.SearchInts(p.src.lines, int(p.offset)+1)
	begin := p.src.lines[line-1]
	return p.src.Name, line, strings.Count(p.src.Text[begin:p.offset], "")
}

// String returns file:line:col.
func (p Pos) String() string {
	file, line, col := p.Place()
	if line == 0 {
		return "nowhere"
	}
	return file + ":" + strconv.Itoa(line) + ":" + strconv.Itoa(col)
}

// True reports whether if, when, and, or, not take v as true: numbers other than zero and
// strings other than the empty one are, all other values are not.
func (v Value) True() bool {
	switch v.Kind {
	case Int:
		return v.Int != 0
	case Float:
		return math.Abs(v.Float) > 1e-12
	case String:
		return v.Text != ""
	}
	return false
}

// Number returns a number as a float.
func (v Value) Number() (float64, bool) {
	switch v.Kind {
	case Int:
		return float64(v.Int), true
	case Float:
		return v.Float, true
	}
	return 0, false
}

// shownLength is how many bytes of a value an error message quotes.
const shownLength = 60

// String returns the value as a program writes it, cut after 60 bytes.
func (v Value) String() string {
	var b strings.Builder
	v.write(&b)
	if b.Len() > shownLength {
		cut := shownLength
		for cut > 0 && b.String()[cut]&0xC0 == 0x80 {
			cut--
		}
		return b.String()[:cut] + "…"
	}
	return b.String()
}

// write stops soon after shownLength bytes: macros can build values far larger than the
// program.
func (v Value) write(b *strings.Builder) {
	if b.Len() > shownLength {
		return
	}
	switch v.Kind {
	case Nil:
		b.WriteString("()")
	case List:
		for i, item := range v.Items {
			b.WriteByte("( "[min(i, 1)])
			item.write(b)
			if b.Len() > shownLength {
				return
			}
		}
		b.WriteByte(')')
	case Symbol:
		b.WriteString(v.Text)
	case Int:
		b.WriteString(strconv.FormatInt(v.Int, 10))
	case Float:
		b.WriteString(formatFloat(v.Float))
	case String:
		b.WriteString(Quote(v.Text))
	case Func:
		b.WriteString("<function " + v.Func.Name + ">")
	case invalid:
		b.WriteString("<invalid>")
	}
}

// shown returns the text of a symbol with secrets hidden: a symbol could be a password without
// its quotes.
func (v Value) shown() string {
	begin, end := int(v.Pos.offset), int(v.Pos.offset)+len(v.Text)
	if s := v.Pos.src; s != nil && len(s.Shown) == len(s.Text) && end <= len(s.Text) && s.Text[begin:end] == v.Text {
		return s.Shown[begin:end]
	}
	return v.Text
}

// formatFloat writes a point or an exponent, so that the number is read as a float again.
func formatFloat(f float64) string {
	s := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}

var quoter = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\r", `\r`)

// Quote returns a string in the form that the reader accepts.
func Quote(s string) string { return `"` + quoter.Replace(s) + `"` }

func nilAt(p Pos) Value                   { return Value{Pos: p} }
func intAt(p Pos, n int64) Value          { return Value{Kind: Int, Pos: p, Int: n} }
func stringAt(p Pos, s string) Value      { return Value{Kind: String, Pos: p, Text: s} }
func functionAt(p Pos, f *Function) Value { return Value{Kind: Func, Pos: p, Func: f} }

// truth returns the result of a comparison: 1 or 0.
func truth(p Pos, ok bool) Value {
	if ok {
		return intAt(p, 1)
	}
	return intAt(p, 0)
}
