package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"wamble/internal/config"
	"wamble/internal/watchtest"
)

// pageCommand is a command of a page of the manual, with the lines that it prints.
type pageCommand struct {
	line   string
	prints string
}

// firstHour returns the commands of 'The first hour' of docs/operations.md in their order. The proof in
// packaging/build reads it in the same way.
func firstHour(t *testing.T) (list []pageCommand) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, page, _ := strings.Cut(string(text), "\n## The first hour\n")
	page, _, _ = strings.Cut(page, "\n## ")
	for _, block := range strings.Split(page, "```console\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		for line := range strings.Lines(block) {
			if command, ok := strings.CutPrefix(line, "# "); ok {
				list = append(list, pageCommand{line: strings.TrimSpace(command)})
			} else {
				list[len(list)-1].prints += line
			}
		}
	}
	return list
}

// pageMatches reports whether a command printed what a page says: … stands for the rest of a line, and on
// a line of its own for any lines.
func pageMatches(page, printed string) bool {
	pattern := regexp.QuoteMeta(page)
	pattern = regexp.MustCompile(`(?m)^…\n`).ReplaceAllString(pattern, `(?s:.*)`)
	pattern = strings.ReplaceAll(pattern, "…", ".*")
	return regexp.MustCompile(`^` + pattern + `$`).MatchString(printed)
}

// TestFirstHour gives the commands of the manual's first hour to the binary and compares what it prints. A
// temporary directory is the installed server; apt and systemctl are what they do with the binary.
func TestFirstHour(t *testing.T) {
	hearInterrupts(t)
	dir := t.TempDir()
	t.Setenv("WAMBLE_TEST_INSTALLED", dir)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	conf := config.Starter() +
		`(def listen-address "127.0.0.1") (def port 0) (def admin-listen "") (def disk-reserve-mb 0)`
	if err := os.WriteFile(filepath.Join(dir, "wamble.conf"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	here := strings.NewReplacer("/etc/wamble", dir, "/var/lib/wamble", dir+"/data", "/var/backups", dir, "/tmp/", dir+"/",
		" --user wamble", "")
	var s *served
	installed := false
	give := func(line string) string {
		words := strings.Fields(line)
		out, err := (&exec.Cmd{Path: exe, Args: words}).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
		return string(out)
	}
	list := firstHour(t)
	if len(list) < 8 {
		t.Fatalf("the page has %d commands", len(list))
	}
	for _, c := range list {
		printed := ""
		switch words := strings.Fields(c.line); {
		case words[0] == "apt" && !installed:
			installed = true
			continue
		case words[0] == "apt":
			give("wamble handoff")
			s.ready()
			continue
		case words[0] == "systemctl":
			s = &served{t: t, data: filepath.Join(dir, "data"), said: &watchtest.Log{}, done: make(chan error, 1)}
			s.cmd = &exec.Cmd{Path: exe, Args: []string{"wamble", "serve"}, Stderr: s.said}
			if err := s.cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.cmd.Process.Kill(); s.cmd.Wait() })
			s.ready()
		case words[0] == "wamble":
			printed = give(here.Replace(c.line))
		default:
			t.Fatalf("nobody knows what %q does", c.line)
		}
		if !pageMatches(here.Replace(c.prints), printed) {
			t.Errorf("%s\nprints\n%s\nbut the manual says\n%s", c.line, printed, c.prints)
		}
	}
}

// TestPageMatches: what a page says of a command fits what it prints, and nothing else.
func TestPageMatches(t *testing.T) {
	for _, tc := range []struct {
		page, printed string
		want          bool
	}{
		{"", "", true},
		{"", "x\n", false},
		{"ok\n", "ok\n", true},
		{"ok …\n", "ok 12\n", true},
		{"ok …\n", "ok 12\nmore\n", false},
		{"…\nok\n", "a\nb\nok\n", true},
		{"…\nok\n", "ok\n", true},
		{"…\nok\n", "ok\nbad\n", false},
		{"a (b)\n", "a b\n", false},
	} {
		if got := pageMatches(tc.page, tc.printed); got != tc.want {
			t.Errorf("%q of %q: got %v", tc.printed, tc.page, got)
		}
	}
}
