package server

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// python is a Python that has websockets: the first one of PATH, or the distribution's.
func python(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(name, "-c", "import websockets").Run() == nil {
			return name
		}
	}
	t.Fatal("no Python has websockets: scripts/setup installs it")
	return ""
}

// node is Node with WebSocket, which 20 has behind a flag.
func node(t *testing.T) []string {
	t.Helper()
	for _, command := range [][]string{{"node"}, {"node", "--experimental-websocket", "--no-warnings"}} {
		out, err := exec.Command(command[0], append(command[1:], "-p", "typeof WebSocket")...).Output()
		if err == nil && strings.TrimSpace(string(out)) == "function" {
			return command
		}
	}
	t.Fatal("Node has no WebSocket")
	return nil
}

// TestExamples: the bots of examples play against a real server with its usual limits, of
// which a bot makes more than a second's requests. Those that speak JSON have
// at most 30 lines, and the documents for authors of clients link to them.
func TestExamples(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{}, conf("(def rate-limit-ip-requests-per-sec 1200) (def rate-limit-requests-per-sec 120)")).ready()
	json := "ws://" + s.Addresses().HTTP.String() + "/ws/json"
	const moves = 60
	for _, c := range []struct {
		file    string
		command []string
		lines   int // at most; 0: any number
	}{
		{"bot.py", []string{python(t), "../../examples/bot.py", json}, 30},
		{"bot.mjs", append(node(t), "../../examples/bot.mjs", json), 30},
		{"bot/main.go", []string{"go", "run", "../../examples/bot", s.address()}, 0},
	} {
		t.Run(c.file, func(t *testing.T) {
			text, err := os.ReadFile("../../examples/" + c.file)
			if err != nil {
				t.Fatal(err)
			}
			if n := bytes.Count(text, []byte("\n")); c.lines > 0 && n > c.lines {
				t.Errorf("%d lines, want at most %d", n, c.lines)
			}
			for doc, link := range map[string]string{"README.md": "](examples/" +
				strings.TrimSuffix(c.file, "/main.go") + ")", "docs/protocol.md": "](../examples/" + c.file + ")"} {
				if text, err := os.ReadFile("../../" + doc); err != nil || !bytes.Contains(text, []byte(link)) {
					t.Errorf("%s has no link %s: %v", doc, link, err)
				}
			}
			before := s.movesMade()
			out, err := exec.CommandContext(t.Context(), c.command[0],
				append(c.command[1:], fmt.Sprint(moves))...).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			told := regexp.MustCompile(`(?m)^\w{4,5} stays on board \d+; here is board \d+$`).FindAll(out, -1)
			if made := s.movesMade() - before; len(told) != moves || made != moves {
				t.Errorf("it told of %d moves and made %d, want %d\n%s", len(told), made, moves, out)
			}
		})
	}
}

// TestExamplesMissing: without its WebSocket a bot ends with a line that says what to do.
func TestExamplesMissing(t *testing.T) {
	t.Parallel()
	for want, command := range map[string][]string{
		"apt install python3-websockets":        {"python3", "-I", "-S", "../../examples/bot.py"},
		"node --experimental-websocket bot.mjs": {"node", "--no-experimental-websocket", "../../examples/bot.mjs"},
	} {
		out, err := exec.CommandContext(t.Context(), command[0], command[1:]...).CombinedOutput()
		if err == nil || bytes.Count(out, []byte("\n")) != 1 || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v\n%s", command[0], err, out)
		}
	}
}
