package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"wamble/internal/lisp"
)

// Effect is what a running server needs to apply a change of an option.
type Effect int

// The effects, from the mildest to the strongest.
const (
	Live         Effect = iota // applied by the running profile
	NewListener                // the profile's listener is opened anew; sockets of unchanged ports are kept
	NewStore                   // the journal is drained into the old store, then the new one is opened
	NeedsHandoff               // refused by a reload; a handoff applies it
	NeedsRestart               // refused by a reload; the process must be restarted
)

var effectNames = []string{"live", "listener", "store", "handoff", "restart"}

func (e Effect) String() string { return effectNames[e] }

// MarshalText encodes an effect as its name.
func (e Effect) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText decodes the name of an effect; an unknown name is NeedsRestart.
func (e *Effect) UnmarshalText(word []byte) error {
	if *e = Effect(slices.Index(effectNames, string(word))); *e < 0 {
		*e = NeedsRestart
	}
	return nil
}

// Option describes one setting; see options.go for the meaning of the fields.
type Option struct {
	Name    string
	Field   string // Family.Field in options.go
	Family  string // the struct that has the field
	Server  bool   // it is a field of Server, not of Options
	Unit    string
	Room    string
	Reload  Effect
	Secret  bool
	OwnOnly bool // not inherited, not set at top level
	Default any  // of the field's type

	domain
	index []int // of the field, for reflect
}

// domain describes the valid values of an option.
type domain struct {
	kind      reflect.Type
	low, high float64
	bounded   bool
	choices   []choice
	check     string
}

// choice is a word of a set. Number is its number in the original server, or -1.
type choice struct {
	word   string
	number int
}

var durationType = reflect.TypeFor[time.Duration]()

// units has the units of options of type time.Duration.
var units = map[string]time.Duration{"s": time.Second, "ms": time.Millisecond, "µs": time.Microsecond}

// All returns every option, in the order of options.go. The caller must not change the slice.
var All = sync.OnceValue(func() []*Option {
	var all []*Option
	all = walk(all, reflect.TypeFor[Server](), nil, true)
	return walk(all, reflect.TypeFor[Options](), nil, false)
})

// Find returns the option with a name, or nil.
func Find(name string) *Option {
	i := slices.IndexFunc(All(), func(o *Option) bool { return o.Name == name })
	if i < 0 {
		return nil
	}
	return All()[i]
}

// Names returns the names of all options.
func Names() []string {
	var names []string
	for _, o := range All() {
		names = append(names, o.Name)
	}
	return names
}

// walk appends the options of struct t. It panics on a malformed tag, which TestOptions finds.
func walk(all []*Option, t reflect.Type, path []int, server bool) []*Option {
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(slices.Clone(path), i)
		if f.Type.Kind() == reflect.Struct {
			all = walk(all, f.Type, index, server)
			continue
		}
		o := &Option{
			Name: f.Tag.Get("option"), Field: t.Name() + "." + f.Name, Family: t.Name(), Server: server,
			Unit: f.Tag.Get("unit"), Room: f.Tag.Get("room"),
			Secret: f.Type == reflect.TypeFor[Secret](), OwnOnly: f.Tag.Get("inherit") == "no",
			index: index, domain: domain{kind: f.Type, check: f.Tag.Get("check")},
		}
		if reload := f.Tag.Get("reload"); reload != "" {
			o.Reload = Effect(slices.Index(effectNames, reload))
		}
		o.parseRange(f.Tag.Get("range"))
		o.parseSet(f.Tag.Get("set"))
		o.Default = o.parseDefault(f.Tag.Get("default"))
		all = append(all, o)
	}
	return all
}

func (o *Option) parseRange(tag string) {
	low, high, ok := strings.Cut(tag, "..")
	if !ok {
		return
	}
	var errLow, errHigh error
	o.low, errLow = strconv.ParseFloat(low, 64)
	o.high, errHigh = strconv.ParseFloat(high, 64)
	if errLow != nil || errHigh != nil || o.low > o.high {
		panic(o.Name + ": bad range " + tag)
	}
	o.bounded = true
}

func (o *Option) parseSet(tag string) {
	for word := range strings.SplitSeq(tag, "|") {
		c := choice{word, -1}
		if number, name, ok := strings.Cut(word, "="); ok {
			n, err := strconv.Atoi(number)
			if err != nil {
				panic(o.Name + ": bad set " + tag)
			}
			c = choice{name, n}
		}
		if c.word != "" {
			o.choices = append(o.choices, c)
		}
	}
}

// parseDefault parses the default tag; "" is the zero value, which means unset.
func (o *Option) parseDefault(tag string) any {
	if tag == "" || o.kind.Kind() == reflect.String {
		return o.plain(tag)
	}
	f, err := strconv.ParseFloat(tag, 64)
	if err != nil {
		panic(o.Name + ": bad default " + tag)
	}
	return o.plain(f)
}

// plain converts a number or text to the type of the field.
func (o *Option) plain(v any) any {
	f, _ := v.(float64)
	switch {
	case o.kind.Kind() == reflect.String:
		return reflect.ValueOf(v).Convert(o.kind).Interface()
	case o.kind == durationType:
		return time.Duration(f) * units[o.Unit]
	case o.kind.Kind() == reflect.Bool:
		return f != 0
	case o.kind.Kind() == reflect.Int:
		return int(f)
	default:
		return f
	}
}

// in returns the field of the option inside its struct.
func (o *Option) in(s *Server, p *Options) reflect.Value {
	if o.Server {
		return reflect.ValueOf(s).Elem().FieldByIndex(o.index)
	}
	return reflect.ValueOf(p).Elem().FieldByIndex(o.index)
}

// datum returns a value of the option as a value of the configuration language: a number in
// the option's unit, or a string.
func (o *Option) datum(v any) lisp.Value {
	switch v := v.(type) {
	case string:
		return lisp.Value{Kind: lisp.String, Text: v}
	case Secret:
		return lisp.Value{Kind: lisp.String, Text: string(v)}
	case float64:
		return lisp.Value{Kind: lisp.Float, Float: v}
	case bool:
		if v {
			return lisp.Value{Kind: lisp.Int, Int: 1}
		}
		return lisp.Value{Kind: lisp.Int}
	case time.Duration:
		return lisp.Value{Kind: lisp.Int, Int: int64(v / units[o.Unit])}
	default:
		return lisp.Value{Kind: lisp.Int, Int: int64(v.(int))}
	}
}

// Text returns a value of the option as it is written in a file, or "unset" or "(hidden)".
func (o *Option) Text(v any) string {
	if o.unset(v) {
		return "unset"
	}
	if o.Secret {
		return "(hidden)"
	}
	return o.Source(v)
}

// Source returns a value of the option as it is written in a file.
func (o *Option) Source(v any) string { return o.datum(v).String() }

// unset reports whether v is the zero value of an option that is unset by default and does
// not accept that value.
func (o *Option) unset(v any) bool {
	return reflect.ValueOf(v).IsZero() && reflect.ValueOf(o.Default).IsZero() && !o.holds(v)
}

// holds reports whether v is a valid value in a file.
func (o *Option) holds(v any) bool {
	if o.kind.Kind() == reflect.String {
		return !reflect.ValueOf(v).IsZero()
	}
	n, _ := o.datum(v).Number()
	return !o.bounded || o.low <= n && n <= o.high
}

// Expects describes the valid values: "a whole number from 0 to 65535".
func (o *Option) Expects() string {
	switch {
	case len(o.choices) > 0:
		var words []string
		for _, c := range o.choices {
			words = append(words, lisp.Quote(c.word))
		}
		last := len(words) - 1
		text := strings.Join(words[:last], ", ") + " or " + words[last]
		if o.choices[0].number >= 0 {
			text += fmt.Sprintf(" (or its number, %d to %d)", o.choices[0].number, o.choices[last].number)
		}
		return text
	case o.kind.Kind() == reflect.Bool:
		return "0 (no) or 1 (yes)"
	case o.kind.Kind() == reflect.String && o.check != "":
		return checks[o.check].expects
	case o.kind.Kind() == reflect.String && o.low > 0:
		return fmt.Sprintf("a string of %g to %g bytes", o.low, o.high)
	case o.kind.Kind() == reflect.String:
		return fmt.Sprintf("a string of at most %g bytes", o.high)
	case o.kind.Kind() == reflect.Float64:
		return "a number from " + number(o.low) + " to " + number(o.high)
	}
	return "a whole number from " + number(o.low) + " to " + number(o.high)
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
