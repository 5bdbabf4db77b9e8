package readapi

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"wamble/wire"
)

// schema is a JSON Schema, or another part of a document.
type schema map[string]any

// written has the schemas of types with their own JSON encoding.
var written = map[reflect.Type]schema{
	reflect.TypeFor[time.Time](): {"type": "string", "format": "date-time"},
	reflect.TypeFor[wire.Text](): {"description": "text, or its bytes when they are not UTF-8",
		"anyOf": []schema{{"type": "string"},
			{"type": "object", "required": []string{"hex"}, "properties": schema{"hex": hexDigits(0)}}}},
	reflect.TypeFor[wire.UCI](): {"description": "a move in UCI notation", "type": "string", "maxLength": 6},
	reflect.TypeFor[wire.Uint64](): {"description": "a whole number; above 2^53 as a string of digits",
		"anyOf": []schema{{"type": "integer", "minimum": 0}, {"type": "string", "pattern": "^[0-9]+$"}}},
	reflect.TypeFor[wire.Float](): {"description": "a number, or its 8 bytes when it is not finite",
		"anyOf": []schema{{"type": "number"},
			{"type": "object", "required": []string{"hex"}, "properties": schema{"hex": hexDigits(8)}}}},
	reflect.TypeFor[wire.Bytes]():     hexDigits(0),
	reflect.TypeFor[wire.Key]():       hexDigits(32),
	reflect.TypeFor[wire.Author]():    hexDigits(16),
	reflect.TypeFor[wire.Signature](): hexDigits(64),
}

// hexDigits returns the schema of a number of bytes in hexadecimal; 0 for any number.
func hexDigits(bytes int) schema {
	if bytes == 0 {
		return schema{"type": "string", "pattern": "^([0-9a-f]{2})*$"}
	}
	return schema{"type": "string", "minLength": 2 * bytes, "maxLength": 2 * bytes, "pattern": "^[0-9a-f]*$"}
}

// schemaOf returns the schema of a type as encoding/json encodes it. It panics for a type with
// its own encoding that is not in written.
func schemaOf(t reflect.Type) schema {
	if t.Kind() == reflect.Pointer {
		return schemaOf(t.Elem())
	}
	if s, ok := written[t]; ok {
		return s
	}
	if t.Implements(reflect.TypeFor[json.Marshaler]()) || t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		panic("readapi: how is " + t.String() + " written in JSON?")
	}
	switch t.Kind() {
	case reflect.Slice:
		return schema{"type": "array", "items": schemaOf(t.Elem())}
	case reflect.Struct:
		properties, required := schema{}, []string{}
		for f := range t.Fields() {
			name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
			if !f.IsExported() || name == "" {
				continue
			}
			properties[name] = schemaOf(f.Type)
			if option != "omitempty" {
				required = append(required, name)
			}
		}
		return schema{"type": "object", "properties": properties, "required": required}
	case reflect.String:
		return schema{"type": "string"}
	case reflect.Bool:
		return schema{"type": "boolean"}
	case reflect.Float64:
		return schema{"type": "number"}
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return schema{"type": "integer", "minimum": 0}
	}
	return schema{"type": "integer"}
}
