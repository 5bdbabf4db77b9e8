package server

import (
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"wamble/client"
)

// described is a document that has schemas.
type described map[string]any

// at follows a path of keys.
func (d described) at(t testing.TB, path ...string) any {
	t.Helper()
	var v any = map[string]any(d)
	for _, key := range path {
		next, ok := v.(map[string]any)[key]
		if !ok {
			t.Fatalf("the document has no %v", path)
		}
		v = next
	}
	return v
}

// conforms returns how a value differs from a schema, "" if it does not. It supports the
// keywords that our documents use.
func (d described) conforms(schema, v any, where string) string {
	s := schema.(map[string]any)
	if ref, ok := s["$ref"].(string); ok {
		var to any = map[string]any(d)
		for _, key := range strings.Split(ref, "/")[1:] {
			to = to.(map[string]any)[key]
		}
		return d.conforms(to, v, where)
	}
	if any, ok := s["anyOf"].([]any); ok {
		for _, one := range any {
			if d.conforms(one, v, where) == "" {
				return ""
			}
		}
		return fmt.Sprintf("%s: %v is none of %v", where, v, any)
	}
	if want, ok := s["const"]; ok && want != v {
		return fmt.Sprintf("%s: %v, want %v", where, v, want)
	}
	if list, ok := s["enum"].([]any); ok && !slices.Contains(list, v) {
		return fmt.Sprintf("%s: %v is none of %v", where, v, list)
	}
	if kind, ok := s["type"]; ok && !isOf(kind, v) {
		return fmt.Sprintf("%s: %v is no %v", where, v, kind)
	}
	switch v := v.(type) {
	case string:
		if pattern, ok := s["pattern"].(string); ok && !regexp.MustCompile(pattern).MatchString(v) {
			return fmt.Sprintf("%s: %q does not match %s", where, v, pattern)
		}
	case float64:
		if low, ok := s["minimum"].(float64); ok && v < low {
			return fmt.Sprintf("%s: %v is below %v", where, v, low)
		}
	case []any:
		for i, item := range v {
			if wrong := d.conforms(s["items"], item, fmt.Sprintf("%s[%d]", where, i)); wrong != "" {
				return wrong
			}
		}
	case map[string]any:
		properties, _ := s["properties"].(map[string]any)
		required, _ := s["required"].([]any)
		for _, key := range required {
			if _, ok := v[key.(string)]; !ok {
				return fmt.Sprintf("%s has no %v", where, key)
			}
		}
		for key, value := range v {
			property, known := properties[key]
			if !known {
				return fmt.Sprintf("%s.%s is not in the schema", where, key)
			}
			if wrong := d.conforms(property, value, where+"."+key); wrong != "" {
				return wrong
			}
		}
	}
	return ""
}

// isOf reports whether a value is of a type of JSON Schema, or of one in a list.
func isOf(kind, v any) bool {
	if list, ok := kind.([]any); ok {
		return slices.ContainsFunc(list, func(one any) bool { return isOf(one, v) })
	}
	switch v := v.(type) {
	case string:
		return kind == "string"
	case bool:
		return kind == "boolean"
	case float64:
		return kind == "number" || kind == "integer" && v == float64(int64(v))
	case []any:
		return kind == "array"
	case map[string]any:
		return kind == "object"
	}
	return kind == "null"
}

func describedBy(t testing.TB, url string) (d described) {
	t.Helper()
	status, body, _ := strings.Cut(fetch(t, url), " ")
	if err := json.Unmarshal([]byte(body), &d); err != nil || status != "200" {
		t.Fatalf("%s: %s, %v", url, status, err)
	}
	return d
}

// TestOpenAPI: every answer of a real server is as /api/openapi.json describes it, and
// pages of other origins may read what is below /api.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{}, conf("(def min-boards 2) (def max-boards 2) (def max-moves-per-board 4)")).ready()
	base := "http://" + s.Addresses().HTTP.String()
	p := gather(t, s.address(), 1).players[0]
	_, identity, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.c.Login(t.Context(), identity); err != nil {
		t.Fatal(err)
	}
	stats, err := p.c.Stats(t.Context(), client.StatsOf{})
	if err != nil {
		t.Fatal(err)
	}
	first := p.c.Board().ID
	for range 9 {
		if !p.move(t.Context()) {
			t.Fatal("a move failed")
		}
	}
	player := base + "/api/players/" + stats.Handle
	until(t, "a game has ended and its player is stored", func() bool {
		return strings.HasPrefix(fetch(t, player), "200 ") &&
			strings.Contains(fetch(t, base+"/api/finished"), "move limit")
	})
	doc := describedBy(t, base+"/api/openapi.json")
	if doc["openapi"] != "3.1.0" {
		t.Errorf("openapi %v", doc["openapi"])
	}
	paths := doc.at(t, "paths").(map[string]any)
	for _, path := range []string{"/healthz", "/readyz", "/api/live"} {
		if paths[path] == nil {
			t.Errorf("%s is not described", path)
		}
	}
	for path := range paths {
		now := time.Now().UTC().Format(time.RFC3339)
		url := base + strings.NewReplacer("{id}", fmt.Sprint(first), "{handle}", stats.Handle, "{time}",
			now).Replace(path)
		ask, err := http.NewRequest(http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		token := p.c.Token()
		ask.Header.Set("Authorization", "Bearer "+hex.EncodeToString(token[:]))
		resp, err := http.DefaultClient.Do(ask)
		if err != nil {
			t.Fatal(err)
		}
		origin := resp.Header.Get("Access-Control-Allow-Origin")
		kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
		var body []byte
		if kind != "text/event-stream" { // which does not end
			body, err = io.ReadAll(resp.Body)
		}
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		content := doc.at(t, "paths", path, "get", "responses", "200", "content").(map[string]any)
		if resp.StatusCode != http.StatusOK || content[kind] == nil ||
			(origin == "*") != strings.HasPrefix(path, "/api/") {
			t.Errorf("%s: %d %s, origin %q; want one of %v", path, resp.StatusCode, kind, origin, content)
			continue
		}
		schema := content[kind].(map[string]any)["schema"]
		if schema == nil {
			continue
		}
		if kind == "text/plain" {
			if wrong := doc.conforms(schema, string(body), path); wrong != "" {
				t.Error(wrong)
			}
			continue
		}
		for line := range strings.Lines(string(body)) {
			var v any
			if err := json.Unmarshal([]byte(line), &v); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			if wrong := doc.conforms(schema, v, path); wrong != "" {
				t.Error(wrong)
			}
		}
	}
	var refused any
	_, body, _ := strings.Cut(fetch(t, base+"/api/leaderboard?limit=17"), " ")
	if json.Unmarshal([]byte(body), &refused) != nil ||
		doc.conforms(doc.at(t, "components", "schemas", "Error"), refused, "error") != "" {
		t.Errorf("a refusal: %s", body)
	}
	ask, _ := http.NewRequest(http.MethodOptions, base+"/api/leaderboard", nil)
	resp, err := http.DefaultClient.Do(ask)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if h := resp.Header; resp.StatusCode != http.StatusNoContent || h.Get("Access-Control-Allow-Origin") != "*" ||
		!strings.Contains(h.Get("Access-Control-Allow-Headers"), "Authorization") {
		t.Errorf("preflight: %d %v", resp.StatusCode, h)
	}
}

// TestConformsBites: conforms finds errors.
func TestConformsBites(t *testing.T) {
	t.Parallel()
	schema := map[string]any{"type": "object", "required": []any{"a"}, "properties": map[string]any{
		"a": map[string]any{"type": "integer", "minimum": 1.0},
		"b": map[string]any{"type": "array", "items": map[string]any{"enum": []any{"x"}}},
		"c": map[string]any{"anyOf": []any{map[string]any{"type": "boolean"},
			map[string]any{"type": "string", "pattern": "^y"}}},
	}}
	for text, good := range map[string]bool{
		`{"a":1}`: true, `{"a":1,"b":["x"],"c":"yes"}`: true, `{"a":1,"c":true}`: true,
		`{}`: false, `{"a":0}`: false, `{"a":1.5}`: false, `{"a":1,"b":["y"]}`: false, `{"a":1,"c":"no"}`: false,
		`{"a":1,"d":1}`: false, `[]`: false,
	} {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		if wrong := (described{}).conforms(schema, v, "it"); (wrong == "") != good {
			t.Errorf("%s: %q", text, wrong)
		}
	}
}
