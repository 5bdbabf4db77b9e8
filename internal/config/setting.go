package config

import (
	"encoding/json"
	"slices"
)

// Setting is the effective value of one option and where it came from.
type Setting struct {
	Option *Option
	Value  any // of the field's type
	Origin Origin
}

// Settings returns the options of the server, in the order of options.go.
func (c *Config) Settings() []Setting {
	return settings(c.origins, true, func(o *Option) any { return o.in(&c.Server, nil).Interface() })
}

// Settings returns the options of the profile, in the order of options.go.
func (p *Profile) Settings() []Setting { return settings(p.origins, false, p.Value) }

func settings(origins []Origin, server bool, value func(*Option) any) []Setting {
	var list []Setting
	for i, o := range All() {
		if o.Server == server {
			list = append(list, Setting{o, value(o), origins[i]})
		}
	}
	return list
}

// Text returns the value as it is written in a file, with its unit. Secrets are hidden.
func (s Setting) Text() string {
	text := s.Option.Text(s.Value)
	if s.Option.Unit != "" && text != "unset" {
		text += " " + s.Option.Unit
	}
	return text
}

// MarshalJSON encodes name, value in the option's unit, and origin. An unset value is null; a
// secret is replaced by "hidden": true.
func (s Setting) MarshalJSON() ([]byte, error) {
	out := struct {
		Option  string `json:"option"`
		Value   any    `json:"value"`
		Hidden  bool   `json:"hidden,omitempty"`
		Unit    string `json:"unit,omitempty"`
		From    string `json:"from"`
		Profile string `json:"profile,omitempty"`
		File    string `json:"file,omitempty"`
		Line    int    `json:"line,omitempty"`
		Column  int    `json:"column,omitempty"`
	}{Option: s.Option.Name, Unit: s.Option.Unit, From: s.Origin.Kind.String(), Profile: s.Origin.Profile}
	out.File, out.Line, out.Column = s.Origin.Pos.Place()
	switch {
	case s.Option.unset(s.Value):
	case s.Option.Secret:
		out.Hidden = true
	default:
		out.Value = s.jsonValue()
	}
	return json.Marshal(out)
}

// jsonValue returns the value for JSON: a boolean, a string, or a number in the option's unit.
func (s Setting) jsonValue() any {
	switch v := s.Value.(type) {
	case bool, string:
		return v
	}
	n, _ := s.Option.datum(s.Value).Number()
	return n
}

// Changed returns the settings that are not defaults.
func Changed(list []Setting) []Setting {
	return slices.DeleteFunc(slices.Clone(list), func(s Setting) bool { return s.Origin.Kind == FromDefault })
}
