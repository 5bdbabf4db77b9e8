package main

import (
	"os"
	"regexp"
	"testing"
)

// TestReleaseIsInTheChangelog: the newest heading of CHANGELOG.md is the version of the
// binary.
func TestReleaseIsInTheChangelog(t *testing.T) {
	text, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	newest := regexp.MustCompile(`(?m)^## (\d+\.\d+\.\d+) - \d{4}-\d{2}-\d{2}$`).FindSubmatch(text)
	if newest == nil {
		t.Fatal("CHANGELOG.md has no heading of the form: ## 1.2.3 - 2026-01-31")
	}
	if got := string(newest[1]); got != release {
		t.Errorf("CHANGELOG.md says %s, wamble version says %s", got, release)
	}
}

func TestBuildVersion(t *testing.T) {
	defer func(before string) { commit = before }(commit)
	commit = "0123456789abcdef"
	if got, want := buildVersion(), release+"+0123456"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	commit = unknownCommit
	if got := buildVersion(); got != release {
		t.Errorf("without a commit: got %q, want %q", got, release)
	}
}
