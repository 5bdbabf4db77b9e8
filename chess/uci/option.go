package uci

import (
	"fmt"
	"strconv"
	"strings"
)

const (
	maxOptions = 512
	maxText    = 256 // bytes of a name or author
)

// Option is an option of an engine.
type Option struct {
	Name     string
	Type     string // check, spin, combo, button or string
	Default  string
	Min, Max int      // of a spin
	Values   []string // of a combo
}

// Option returns the option with this name, in upper or lower case.
func (e *Engine) Option(name string) (Option, bool) {
	o, ok := e.options[strings.ToLower(name)]
	return o, ok
}

// Set sets an option. It fails if the engine does not have the option or the value is not
// allowed for it. The value of a button is "".
func (e *Engine) Set(name, value string) error {
	o, ok := e.Option(name)
	if !ok {
		return fmt.Errorf("the engine %s has no option %q", e.Name, name)
	}
	if err := o.check(value); err != nil {
		return fmt.Errorf("the option %s of %s %w", o.Name, e.Name, err)
	}
	switch o.Name {
	case optionChess960:
		e.chess960 = value == "true"
	case optionLines:
		e.lines, _ = strconv.Atoi(value)
	}
	if o.Type == "button" {
		return e.send("setoption name " + o.Name)
	}
	return e.send("setoption name " + o.Name + " value " + value)
}

// The options that this package sets itself.
const (
	optionChess960 = "UCI_Chess960"
	optionLines    = "MultiPV"
)

func (o *Option) check(value string) error {
	switch o.Type {
	case "check":
		if value != "true" && value != "false" {
			return fmt.Errorf("is true or false, not %q", value)
		}
	case "spin":
		if n, err := strconv.Atoi(value); err != nil || n < o.Min || n > o.Max {
			return fmt.Errorf("is a number from %d to %d, not %q", o.Min, o.Max, value)
		}
	case "combo":
		for _, v := range o.Values {
			if strings.EqualFold(v, value) {
				return nil
			}
		}
		return fmt.Errorf("is one of %s, not %q", strings.Join(o.Values, ", "), value)
	case "button":
		if value != "" {
			return fmt.Errorf("takes no value, not %q", value)
		}
	default:
		if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return fmt.Errorf("is one line of text, not %q", value)
		}
	}
	return nil
}

// parseOption reads the rest of a line after the word option. Names and values may have several
// words; they end at the next keyword of UCI.
func parseOption(text string) (o Option, ok bool) {
	key := ""
	var words []string
	flush := func() {
		value := strings.Join(words, " ")
		value = value[:min(len(value), maxText)]
		switch key {
		case "name":
			o.Name = value
		case "type":
			o.Type = value
		case "default":
			o.Default = value
		case "min":
			o.Min, _ = strconv.Atoi(value)
		case "max":
			o.Max, _ = strconv.Atoi(value)
		case "var":
			o.Values = append(o.Values, value)
		}
		words = words[:0]
	}
	for _, word := range strings.Fields(text) {
		switch {
		case word == "name" && key == "", word == "type" && key == "name", key != "" && key != "name" &&
			(word == "default" || word == "min" || word == "max" || word == "var"):
			flush()
			key = word
		default:
			words = append(words, word)
		}
	}
	flush()
	return o, o.Name != "" && o.Type != ""
}
