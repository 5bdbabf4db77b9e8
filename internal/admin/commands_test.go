package admin

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestCommands walks the table: no cell is empty that a channel of the command needs.
func TestCommands(t *testing.T) {
	seen := map[string]bool{}
	for i := range Commands {
		c := &Commands[i]
		want := func(ok bool, what string) {
			t.Helper()
			if !ok {
				t.Errorf("%s: %s", c.Name, what)
			}
		}
		want(c.Name != "" && !seen[c.Name], "no name of its own")
		seen[c.Name] = true
		want(c.Channels != 0, "no channel")
		want(c.Patience > 0, "no patience")
		want(c.Doc.Text != "", "no line for the documents")
		want((c.Do == nil) != (c.Input == nil), "it does one thing: Do or Tell")
		if c.Input != nil {
			want(c.Log != "" && c.Count != nil && c.Summary != nil, "not all is said of what the profiles are told")
			want(c.Persist == nil || c.Lasting, "what is kept lasts")
		}
		if c.Channels&CommandLine != 0 {
			want(c.Channels&Socket != 0, "the command line needs the control socket")
			want(c.Help.Short != "" && c.Help.Long != "", "no help")
			want(strings.Contains(c.Help.Example, "wamble "+c.Name), "no example")
			want(c.Summary != nil || c.Line.Print != nil && (c.Line.Result != nil || c.Line.Ask != nil),
				"no words for the outcome")
		} else {
			want(c.Channels&Socket == 0 || c.Help.Via != "", "no words of the command line that do the same")
		}
		if c.Changes {
			want(c.Channels&Console != 0, "what changes something is offered, and noted, by the console")
			want(c.Page.Form == Own || c.Page.Form != "" && c.Page.Title != "" && c.Page.Confirm != "", "no page")
			var body map[string]any
			want(json.Unmarshal([]byte(c.Doc.Body), &body) == nil, "no example of a body")
			for name := range body {
				want(c.arg(name) != nil, "the example of a body has another argument: "+name)
			}
			for _, named := range regexp.MustCompile(`{(\w+)}`).FindAllStringSubmatch(c.Page.Confirm, -1) {
				want(c.arg(named[1]) != nil, "what is asked names another argument: "+named[1])
			}
		}
		words, many := 0, 0
		for _, a := range c.Args {
			want(a.Name != "" || a.Flag != "", "an argument without a name")
			want(a.Kind != "", a.Name+": no kind")
			want(a.Kind == Object || c.Page.Form == "" || c.Page.Form == Own || a.Label != "", a.Name+": no label")
			want(a.Word == "" || a.Missing != "" && a.At != nil && a.Flag == "", a.Name+": not all is said of the word")
			want(a.Flag == "" || a.Help != "" && a.At != nil, a.Name+": not all is said of the flag")
			want(c.Input == nil || a.At != nil, a.Name+": no value")
			if a.Word != "" {
				words++
				if a.Many() {
					many++
				}
			}
		}
		want(many == 0 || words == 1, "what takes many words leaves none to others")
	}
}

var update = flag.Bool("update", false, "write the table of docs/operations.md")

// TestDocumented: docs/operations.md has the table of the commands, as it is.
func TestDocumented(t *testing.T) {
	const (
		file  = "../../docs/operations.md"
		begin = "<!-- commands: go generate ./internal/admin writes this table -->\n"
		end   = "<!-- end of commands -->\n"
	)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	old, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no region between %q and %q", file, begin, end)
	}
	table := documented()
	if *update {
		if err := os.WriteFile(file, []byte(before+begin+table+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if old != table {
		t.Errorf("the table of %s is old; 'go generate ./internal/admin' writes this:\n%s", file, table)
	}
}

// documented is the table of the commands.
func documented() string {
	var b strings.Builder
	b.WriteString("| /console/api/ | command line | answer, or what it does with which body |\n|---|---|---|\n")
	for i := range Commands {
		c := &Commands[i]
		if c.Channels&Console == 0 {
			continue // wamble help explains it
		}
		route, line, text := "`"+strings.Replace(c.Route(), "/console/api/", "", 1)+"`", "–", c.Doc.Text
		if c.Channels&CommandLine != 0 {
			line = "`wamble " + strings.ReplaceAll(c.Use(), "|", `\|`) + "`"
		} else if c.Help.Via != "" {
			line = "`wamble " + c.Help.Via + "`"
		}
		if c.Doc.Body != "" {
			var body bytes.Buffer
			if err := json.Compact(&body, []byte(c.Doc.Body)); err != nil {
				body.WriteString(c.Doc.Body)
			}
			text = "`" + body.String() + "`: " + strings.ReplaceAll(text, "here the argument is in the query, ", "")
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", route, line, text)
	}
	return b.String()
}
