package server

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// scenario is a script of testdata/faults: the faults of a fleet of machines, and what must
// be true then. The folder standbys is about machines of which one serves and the others wait
// for its place; parts about the machines of a cluster.
//
// A line that begins with "#" is a comment; the first names the row of the manual's table.
// The comment "# a machine is lost" bounds the time until everybody moves again. "fault NAME"
// measures that time after the indented steps below it. "run FILE" runs another script. Every
// other line is a step of scenarioSteps.
type scenario struct {
	file, row string
	lost      bool
	lines     []string
}

// readScenarios returns the scripts of a folder by the order of their names.
func readScenarios(t testing.TB, folder string) map[string]scenario {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata/faults", folder, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios in %s: %v", folder, err)
	}
	all := map[string]scenario{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s := scenario{file: strings.TrimSuffix(filepath.Base(file), ".txt")}
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSuffix(line, "\n")
			comment, isComment := strings.CutPrefix(line, "# ")
			switch {
			case !isComment:
				s.lines = append(s.lines, line)
			case s.row == "":
				s.row = comment
			case comment == "a machine is lost":
				s.lost = true
			}
		}
		all[s.file] = s
	}
	return all
}

// TestFailureTable: the rows of the manual's table are the faults of the scenarios, and the
// loss of both databases, after which TestSharedDump goes on from a backup.
func TestFailureTable(t *testing.T) {
	t.Parallel()
	want := []string{"both machines of PostgreSQL are lost"}
	for s := range maps.Values(readScenarios(t, "standbys")) {
		want = append(want, s.row)
	}
	slices.Sort(want)
	want = slices.Compact(want)
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "\n| fault | what a player sees |")
	table, _, _ = strings.Cut(table, "\n\n")
	var got []string
	for _, line := range strings.Split(table, "\n")[2:] {
		got = append(got, strings.Trim(strings.Split(line, "|")[1], " "))
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the manual has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// letOff is the line of the manual which makes a PostgreSQL wait for no standby
// (TestManualLetsOff).
const letOff = `sudo -u postgres psql -c "ALTER SYSTEM SET synchronous_standby_names = ''" -c "SELECT pg_reload_conf()"`

// TestManualLetsOff: the scenario promoted-standby-waits gives PostgreSQL a line that the
// manual has.
func TestManualLetsOff(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), letOff) {
		t.Errorf("docs/operations.md does not have the line\n%s", letOff)
	}
}
