package main

import (
	"encoding/json"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"wamble/internal/admin"
)

// TestRunnerPart: a server whose journal is not in its data directory is asked for it, and
// for the partition that --part names.
func TestRunnerPart(t *testing.T) {
	dir := t.TempDir()
	l, err := net.Listen("unix", admin.ControlPath(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	asked := make(chan string, 1)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			var q struct {
				Verb string          `json:"verb"`
				Args json.RawMessage `json:"args"`
			}
			json.NewDecoder(c).Decode(&q)
			asked <- q.Verb + " " + string(q.Args)
			fmt.Fprint(c, `{"error":"part 2 of the journal is on machine b: ask there"}`)
			c.Close()
		}
	}()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"stat"}, `runner-stats `},
		{[]string{"stat", "--part", "2"}, `runner-stats {"part":2}`},
		{[]string{"pause", "1", "--part", "0"}, `runner-pause {"part":0,"queue":"1"}`},
		{[]string{"dead-letters", "drop", "1/5", "--part", "2", "--yes"}, `{"number":5,"part":2,"worker":1}`},
	} {
		root := runnerCommand()
		var out strings.Builder
		root.SetOut(&out)
		root.SetErr(&out)
		root.SetArgs(append(c.args, "--dir", filepath.Join(dir, "journal")))
		if err := root.ExecuteContext(t.Context()); err == nil ||
			!strings.Contains(err.Error(), "is on machine b: ask there") {
			t.Errorf("%v: got %v and %s", c.args, err, out.String())
			continue
		}
		if got := <-asked; !strings.HasSuffix(got, c.want) {
			t.Errorf("%v: asked %s, want %s", c.args, got, c.want)
		}
	}
}
