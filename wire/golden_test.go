package wire

import (
	"bytes"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

//go:generate go test -run "TestGolden|TestObjects|TestProtocolDoc|TestTypeScript" -update .

var update = flag.Bool("update", false,
	"write the text forms of testdata, the generated parts of docs/protocol.md and the tables of the browser client")

// golden is one record of testdata/packets; original.txt explains the format.
type golden struct {
	ID, Title, Note string
	Result          string // accepted, invalid, truncated or refused
	JSON            string
	Bytes           []byte
	hasHex          bool
}

var goldenFiles = []string{"original", "ours", "decoder", "rules"}

func goldenPath(name string) string { return filepath.Join("testdata", "packets", name+".txt") }

func readGolden(t testing.TB, name string) []golden {
	t.Helper()
	text, err := os.ReadFile(goldenPath(name))
	if err != nil {
		t.Fatal(err)
	}
	var all []golden
	for i, line := range strings.Split(string(text), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if all, err = addGoldenLine(all, line); err != nil {
			t.Fatalf("%s:%d: %v", goldenPath(name), i+1, err)
		}
	}
	for _, g := range all {
		if g.Result == "" || !g.hasHex {
			t.Fatalf("%s: %s lacks hex or result", goldenPath(name), g.ID)
		}
	}
	return all
}

func addGoldenLine(all []golden, line string) ([]golden, error) {
	keyword, value, _ := strings.Cut(line, " ")
	if keyword == "packet" || keyword == "case" {
		id, title, _ := strings.Cut(value, " ")
		g := golden{ID: id, Title: title}
		if keyword == "packet" {
			g.Result = "accepted"
		}
		return append(all, g), nil
	}
	if len(all) == 0 {
		return nil, errors.New("a record begins with packet or case")
	}
	g := &all[len(all)-1]
	switch keyword {
	case "note":
		g.Note = value
	case "result":
		g.Result = value
	case "json":
		g.JSON = value
	case "hex":
		b, err := hex.DecodeString(value)
		g.Bytes, g.hasHex = append(g.Bytes, b...), true
		return all, err
	default:
		return nil, fmt.Errorf("unknown keyword %q", keyword)
	}
	return all, nil
}

// everyGolden returns the records of all files that are accepted.
func everyGolden(t testing.TB) []golden {
	var all []golden
	for _, name := range goldenFiles {
		for _, g := range readGolden(t, name) {
			if g.Result == "accepted" {
				all = append(all, g)
			}
		}
	}
	return all
}

// updateGolden writes the json line of each accepted record after its hex.
func updateGolden(t *testing.T, name string) {
	t.Helper()
	text, err := os.ReadFile(goldenPath(name))
	if err != nil {
		t.Fatal(err)
	}
	forms := map[string]string{}
	for _, g := range readGolden(t, name) {
		if form, err := FormatJSON(g.Bytes); err == nil && g.Result == "accepted" {
			forms[g.ID] = string(form)
		}
	}
	var out []string
	id := ""
	for line := range strings.Lines(string(text)) {
		keyword, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if keyword == "json" {
			continue
		}
		if keyword == "" && forms[id] != "" {
			out = append(out, "json "+forms[id]+"\n")
		}
		if keyword == "packet" || keyword == "case" || keyword == "" {
			id, _, _ = strings.Cut(value, " ")
		}
		out = append(out, line)
	}
	if forms[id] != "" {
		out = append(out, "json "+forms[id]+"\n")
	}
	if err := os.WriteFile(goldenPath(name), []byte(strings.Join(out, "")), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestGolden(t *testing.T) {
	for _, name := range goldenFiles {
		if *update {
			updateGolden(t, name)
		}
		for _, g := range readGolden(t, name) {
			t.Run(name+"/"+g.ID, func(t *testing.T) {
				t.Log(g.Title)
				if g.Result == "accepted" {
					testAccepted(t, g)
				} else {
					testRefused(t, g)
				}
			})
		}
	}
}

func testAccepted(t *testing.T, g golden) {
	form, err := FormatJSON(g.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(form), g.JSON; got != want {
		t.Errorf("text form\n got %s\nwant %s", got, want)
	}
	packet, err := ParseJSON([]byte(g.JSON))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := packet, g.Bytes; !bytes.Equal(got, want) {
		t.Errorf("bytes of the text form\n got %x\nwant %x", got, want)
	}
	if !strings.Contains(g.JSON, `"raw":`) {
		var p Packet
		if err := p.Decode(g.Bytes); err != nil {
			t.Fatal(err)
		}
		again, err := Append([]byte("before"), p.Header, p.Message, p.Ext...)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := again, append([]byte("before"), g.Bytes...); !bytes.Equal(got, want) {
			t.Errorf("encoded again\n got %x\nwant %x", got, want)
		}
	}
}

func testRefused(t *testing.T, g golden) {
	_, m, err := Decode(g.Bytes)
	if err == nil {
		t.Fatalf("accepted as %T", m)
	}
	want := map[string][]error{
		"invalid":   {ErrInvalid},
		"truncated": {ErrTruncated},
		"refused":   {ErrInvalid, ErrTruncated},
	}[g.Result]
	for _, w := range want {
		if errors.Is(err, w) {
			return
		}
	}
	t.Errorf("error %v, want %s", err, g.Result)
}

// TestEveryControlHasItsPlaces walks the control table: a row without a name, a
// type of its own, a golden packet, a section in the document or a name in
// TypeScript is not finished. TestRoutes of internal/profile does the same for
// handlers, TestEveryRequestHasItsMethod of client for methods.
func TestEveryControlHasItsPlaces(t *testing.T) {
	doc, err := os.ReadFile(protocolDoc)
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile(typeScript)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[Control]bool{}
	for _, g := range append(readGolden(t, "original"), readGolden(t, "ours")...) {
		h, err := Peek(g.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		seen[h.Ctrl] = true
	}
	types, names := map[string]Control{}, map[string]Control{}
	for _, c := range Controls() {
		info, ok := c.Info()
		if !ok || info.Code != c || info.Name == "" || info.From == 0 || info.Delivery == 0 || info.payload == nil {
			t.Fatalf("row %#x is not complete: %+v", uint8(c), info)
		}
		if got := info.New().Control(); got != c {
			t.Errorf("the payload type of %v says that it is %v", c, got)
		}
		kind := fmt.Sprintf("%T", info.New())
		if other, ok := types[kind]; ok {
			t.Errorf("%v and %v have the same type", c, other)
		}
		if other, ok := names[info.Name]; ok {
			t.Errorf("%v and %v have the same name", c, other)
		}
		types[kind], names[info.Name] = c, c
		if !seen[c] {
			t.Errorf("%v has no golden packet", c)
		}
		if !bytes.Contains(doc, []byte("\n#### "+info.Name+"\n")) {
			t.Errorf("%v has no section in %s", c, protocolDoc)
		}
		if !bytes.Contains(script, fmt.Appendf(nil, "\n  %v: 0x%02x,\n", c, uint8(c))) {
			t.Errorf("%v has no name in %s", c, typeScript)
		}
		for _, r := range info.Replies {
			if reply, ok := r.Info(); !ok || reply.From != FromServer || info.From != FromClient {
				t.Errorf("%v cannot answer %v", r, c)
			}
		}
	}
}

const protocolDoc = "../docs/protocol.md"
