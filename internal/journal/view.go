package journal

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode"

	"wamble"
	"wamble/internal/intent"
	"wamble/runner"
)

// Show decodes the intents of a message for people.
func Show(m *runner.Message) (Views, error) {
	intents, err := DecodeMessage(m)
	if err != nil {
		return nil, err
	}
	views := make(Views, len(intents))
	for i, in := range intents {
		views[i] = View{in}
	}
	return views, nil
}

// Views is the intents of a message for people: a list in JSON, one line in a table.
type Views []View

func (v Views) String() string {
	lines := make([]string, len(v))
	for i := range v {
		lines[i] = v[i].String()
	}
	return strings.Join(lines, "; ")
}

// View is an intent for people: the name of its kind and its fields, with keys in hex, times in UTC and
// closed lists by name. Tokens are secrets and are not shown.
type View struct{ intent.Intent }

func (s View) String() string {
	var b strings.Builder
	b.WriteString(s.Kind().String())
	s.each(func(name string, value any) { fmt.Fprintf(&b, " %s=%v", name, value) })
	return b.String()
}

// MarshalJSON writes the fields in their order.
func (s View) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"kind":%q`, s.Kind())
	var failed error
	s.each(func(name string, value any) {
		text, err := json.Marshal(value)
		if err != nil {
			failed = fmt.Errorf("%s of %v: %w", name, s.Kind(), err)
		}
		fmt.Fprintf(&b, `,%q:%s`, name, text)
	})
	b.WriteByte('}')
	return b.Bytes(), failed
}

// each visits the fields with values fit for people.
func (s View) each(visit func(name string, value any)) {
	v := reflect.ValueOf(s.Intent).Elem()
	for i := range v.NumField() {
		name := fieldName(v.Type().Field(i).Name)
		switch value := v.Field(i).Interface().(type) {
		case wamble.TokenHash:
			visit(name, "(secret)")
		case wamble.PublicKey:
			visit(name, hex.EncodeToString(value[:]))
		case [32]byte:
			visit(name, hex.EncodeToString(value[:]))
		case time.Time:
			visit(name, value.UTC().Format(time.RFC3339Nano))
		case fmt.Stringer: // closed lists, durations
			visit(name, value.String())
		default:
			visit(name, value)
		}
	}
}

// fieldName returns the name of a Go field in JSON and tables.
func fieldName(s string) string {
	if strings.ToUpper(s) == s { // FEN, UCI, ID
		return strings.ToLower(s)
	}
	return string(unicode.ToLower(rune(s[0]))) + s[1:]
}
