package main

import (
	"os"
	"strings"
	"testing"
)

// TestReadmeShowsThisProgram: the first program of the README is main.go, which
// compiles, and has at most 25 lines.
func TestReadmeShowsThisProgram(t *testing.T) {
	program, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), "```go\n"+string(program)+"```\n") {
		t.Error("the README shows another program")
	}
	if n := strings.Count(string(program), "\n"); n > 25 {
		t.Errorf("the program has %d lines", n)
	}
}
