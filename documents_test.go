package wamble_test

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// TestArchitectureNamesEveryRoom fails for a package that ARCHITECTURE.md does not
// name in its table of rooms.
func TestArchitectureNamesEveryRoom(t *testing.T) {
	text := read(t, "ARCHITECTURE.md")
	var table strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "| `") {
			table.WriteString(line)
		}
	}
	for _, r := range rooms {
		name := r.name
		if name == "." {
			name = "wamble"
		}
		if !strings.Contains(table.String(), "`"+name+"`") {
			t.Errorf("ARCHITECTURE.md does not name %s", name)
		}
	}
	if got, most := strings.Count(text, "\n"), 150; got > most {
		t.Errorf("ARCHITECTURE.md has %d lines, want at most %d: a map is short", got, most)
	}
}

// TestDecisions walks docs/adr: each file has its number and a status.
func TestDecisions(t *testing.T) {
	files, err := fs.Glob(os.DirFS("docs/adr"), "[0-9]*.md")
	if err != nil {
		t.Fatal(err)
	}
	if most := 30; len(files) > most {
		t.Errorf("there are %d decisions, want at most %d: delete what is superseded", len(files), most)
	}
	form := regexp.MustCompile(`^# (\d{4}): (.+)\n\nStatus: (accepted|proposed), \d{4}-\d{2}\n\n`)
	for _, name := range files {
		got := form.FindStringSubmatch(read(t, "docs/adr/"+name))
		if got == nil {
			t.Errorf("%s does not begin with '# NNNN: Title' and 'Status: accepted, YYYY-MM'", name)
			continue
		}
		if !strings.HasPrefix(name, got[1]+"-") {
			t.Errorf("%s has the number %s in its heading", name, got[1])
		}
	}
}

// TestLinks follows every link between the documents of the repository, also to a heading.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#\s]*)(#[^)\s]*)?\)`)
	tree := os.DirFS(".")
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skipOutside(tree, name)
		}
		if path.Ext(name) != ".md" {
			return nil
		}
		for _, l := range link.FindAllStringSubmatch(read(t, name), -1) {
			if strings.Contains(l[1], "://") {
				continue
			}
			to := name
			if l[1] != "" {
				to = path.Join(path.Dir(name), l[1])
			}
			if _, err := fs.Stat(tree, to); err != nil {
				t.Errorf("%s links to %s, which is not there", name, l[1])
			} else if path.Ext(to) == ".md" && l[2] != "" && !strings.Contains(anchors(read(t, to)), l[2]+"\n") {
				t.Errorf("%s links to %s%s, and there is no such heading", name, l[1], l[2])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// anchors returns the names by which the headings of a document are linked to, a line each.
func anchors(text string) string {
	var b strings.Builder
	drop := regexp.MustCompile(`[^a-z0-9_ -]`)
	for _, h := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(text, -1) {
		b.WriteString("#" + strings.ReplaceAll(drop.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-") + "\n")
	}
	return b.String()
}

// read returns a document of the repository.
func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestGlossary: the glossary is short, and each word is there once.
func TestGlossary(t *testing.T) {
	words := regexp.MustCompile(`(?m)^\| ([^|]+) \| .+ \|$`).FindAllStringSubmatch(read(t, "docs/glossary.md"), -1)
	seen := map[string]bool{}
	for _, w := range words[1:] { // behind the heading of the table
		if seen[w[1]] {
			t.Errorf("%q is explained twice", w[1])
		}
		seen[w[1]] = true
	}
	if most := 60; len(seen) < 20 || len(seen) > most {
		t.Errorf("the glossary has %d words, want at most %d: leave out what a chess player or a Go programmer knows",
			len(seen), most)
	}
}

// TestTour: docs/tour.md leads through ten functions, which exist.
func TestTour(t *testing.T) {
	stops := regexp.MustCompile("(?m)^\\*\\*(\\d+)\\. `([a-z/]+\\.go)` (\\w+)").FindAllStringSubmatch(read(t,
		"docs/tour.md"), -1)
	for i, s := range stops {
		if s[1] != fmt.Sprint(i+1) {
			t.Errorf("stop %d has the number %s", i+1, s[1])
		}
		if begins := regexp.MustCompile(`(?m)^func (\([^)]+\) )?` + s[3] + `\(`); !begins.MatchString(read(t, s[2])) {
			t.Errorf("%s has no function %s", s[2], s[3])
		}
	}
	if len(stops) != 10 {
		t.Errorf("the tour has %d stops, want 10", len(stops))
	}
}
