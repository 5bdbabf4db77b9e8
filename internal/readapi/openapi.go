package readapi

import (
	"encoding/json"
	"hash/fnv"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"wamble/wire"
)

// documents has the OpenAPI and AsyncAPI documents, which are made at the first request.
type documents struct{ open, async func() (*answer, error) }

func newDocuments() documents {
	return documents{
		open:  sync.OnceValues(func() (*answer, error) { return document(openAPIOf(routes)) }),
		async: sync.OnceValues(func() (*answer, error) { return document(asyncAPIOf()) }),
	}
}

const documentGood = time.Hour

func document(v any) (*answer, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	sum := fnv.New64a()
	sum.Write(body)
	return &answer{kind: jsonType, body: append(body, '\n'), tag: `"d` + strconv.FormatUint(sum.Sum64(), 16) + `"`,
		good: documentGood}, nil
}

func (a *API) openapi(reader) (*answer, error)  { return a.documents.open() }
func (a *API) asyncapi(reader) (*answer, error) { return a.documents.async() }

// refusals are the statuses of docs/http.md, each with {"error": "…"}.
var refusals = map[string]string{
	"400": "a number, a handle, a token or a cursor is malformed, or out of its bounds",
	"403": "the policy does not allow it, the terms are not accepted, or a ban",
	"404": "there is no such path, board or player",
	"410": "the cursor is older than what is kept",
	"429": "one host asks too often; Retry-After says when to come back",
	"503": "the database is away, the profile is starting, or too many ask at once; Retry-After as above",
}

// openAPIOf returns the OpenAPI document of routes.
func openAPIOf(rows []route) schema {
	paths := schema{}
	for _, row := range rows {
		answers := schema{}
		for status, says := range refusals {
			answers[status] = schema{"description": says,
				"content": schema{"application/json": schema{"schema": schema{"$ref": "#/components/schemas/Error"}}}}
		}
		kind, _, _ := strings.Cut(row.kind, ";")
		content := schema{}
		if row.body != nil {
			content["schema"] = schemaOf(reflect.TypeOf(row.body))
		}
		answers["200"] = schema{"description": row.says, "content": schema{kind: content}}
		get := schema{"summary": row.says, "responses": answers, "security": []schema{{}, {"session": []string{}}}}
		if params := paramsOf(row); len(params) > 0 {
			get["parameters"] = params
		}
		paths[row.path] = schema{"get": get}
	}
	maps.Copy(paths, health)
	return schema{
		"openapi": "3.1.0",
		"info": schema{"title": "Wamble", "version": "1",
			"description": "What a profile of a Wamble server tells over HTTP. It only reads."},
		"paths": paths,
		"components": schema{
			"schemas": schema{"Error": schema{"type": "object", "required": []string{"error"},
				"properties": schema{"error": schema{"type": "string"}}}},
			"securitySchemes": schema{"session": schema{"type": "http", "scheme": "bearer",
				"description": "the token of a session: 32 hexadecimal digits, or the 22 characters that players see"}},
		},
	}
}

// health describes the health checks, which package observe serves on the same port.
var health = schema{
	"/healthz": schema{"get": schema{"summary": "whether the process lives", "responses": schema{
		"200": words("it lives", schema{"const": "alive\n"}),
	}}},
	"/readyz": schema{"get": schema{"summary": "whether players are served", "responses": schema{
		"200": words("they are; what is wrong nevertheless", schema{"type": "string", "pattern": "^.+\n$"}),
		"503": words("they are not, and why", schema{"type": "string", "pattern": "^.+\n$"}),
	}}},
}

// words describes a plain text answer.
func words(says string, text schema) schema {
	return schema{"description": says, "content": schema{"text/plain": schema{"schema": text}}}
}

// inPath has the schemas of path parameters.
var inPath = map[string]schema{
	"id":     {"type": "integer", "minimum": 1},
	"handle": {"type": "string", "pattern": "^[A-Za-z0-9_-]{3,63}$"},
	"time":   {"type": "string", "format": "date-time"},
}

func paramsOf(row route) (list []schema) {
	for part := range strings.SplitSeq(row.path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			name = strings.TrimSuffix(name, "}")
			list = append(list, schema{"name": name, "in": "path", "required": true, "schema": inPath[name]})
		}
	}
	for _, p := range row.query {
		list = append(list, schema{"name": p.name, "in": "query", "description": p.says, "schema": p.schema()})
	}
	return list
}

func (p *param) schema() schema {
	number := schema{"type": "integer", "minimum": p.low, "maximum": p.high}
	if p.usual > 0 {
		number["default"] = p.usual
	}
	switch {
	case p.text:
		return schema{"type": "string"}
	case p.words == nil:
		return number
	case p.high == 0:
		return schema{"enum": p.words, "default": p.words[0]}
	}
	return schema{"anyOf": []schema{number, {"enum": p.words}}}
}

// asyncAPIOf returns the AsyncAPI document of /ws/json, made of the tables of package wire.
func asyncAPIOf() schema {
	messages, sent, received := schema{}, []schema{}, []schema{}
	for _, c := range wire.Controls() {
		info, _ := c.Info()
		messages[info.Name] = schema{"name": info.Name, "payload": messageOf(info)}
		ref := schema{"$ref": "#/channels/json/messages/" + info.Name}
		if info.From != wire.FromServer {
			received = append(received, ref)
		}
		if info.From != wire.FromClient {
			sent = append(sent, ref)
		}
	}
	channel := schema{"$ref": "#/channels/json"}
	return schema{
		"asyncapi": "3.0.0",
		"info": schema{"title": "Wamble", "version": "1",
			"description": "The game as JSON over a WebSocket: each message is one object. See docs/protocol.md."},
		"channels": schema{"json": schema{"address": "/ws/json", "messages": messages}},
		"operations": schema{
			"request": schema{"action": "receive", "channel": channel, "messages": received},
			"answer":  schema{"action": "send", "channel": channel, "messages": sent},
		},
		"components": schema{"schemas": schema{"Ext": extOf()}},
	}
}

// messageOf returns the schema of one control code's JSON object.
func messageOf(info *wire.Info) schema {
	flags := []string{}
	for _, f := range wire.FlagNames {
		if f.Bit != wire.FlagExt && f.Bit != wire.FlagFragment && (f.On == nil || slices.Contains(f.On, info.Code)) {
			flags = append(flags, f.Name)
		}
	}
	properties := schema{
		"id": schema{"type": []string{"string", "number", "null"},
			"description": "of the request, as its sender has chosen it"},
		"ctrl":     schema{"const": info.Name},
		"flags":    schema{"type": "array", "items": schema{"enum": flags}},
		"token":    schema{"type": "string", "pattern": "^([0-9a-f]{32}|[A-Za-z0-9_-]{22})$"},
		"board_id": written[reflect.TypeFor[wire.Uint64]()],
		"seq":      schema{"type": "integer", "minimum": 0, "maximum": 1<<32 - 1},
		"payload":  schemaOf(reflect.TypeOf(info.New()).Elem()),
		"ext":      schema{"$ref": "#/components/schemas/Ext"},
	}
	message := schema{"type": "object", "required": []string{"ctrl"}, "properties": properties}
	if info.From == wire.FromClient {
		// Fields that a request leaves out are zero.
		payload := maps.Clone(properties["payload"].(schema))
		delete(payload, "required")
		properties["payload"] = payload
		message["additionalProperties"] = false
	}
	return message
}

// extOf returns the schema of the extension fields.
func extOf() schema {
	types := map[wire.Type]schema{
		wire.TypeString: written[reflect.TypeFor[wire.Text]()],
		wire.TypeInt:    {"anyOf": []schema{{"type": "integer"}, {"type": "string", "pattern": "^-?[0-9]+$"}}},
		wire.TypeDouble: written[reflect.TypeFor[wire.Float]()],
		wire.TypeBool:   {"type": "boolean"},
	}
	properties := schema{}
	for _, k := range wire.KnownKeys {
		field := maps.Clone(types[k.Type])
		field["description"] = k.Meaning
		properties[k.Key] = field
	}
	return schema{"type": "object", "maxProperties": wire.MaxFields, "properties": properties}
}
