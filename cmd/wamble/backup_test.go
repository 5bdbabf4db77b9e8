package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"wamble/internal/backup"
)

// TestProgressLine: each stage of the work is printed at once, and then at most once a
// second.
func TestProgressLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b strings.Builder
		say := progressLine(&b)
		for done := range int64(11) {
			say(backup.Progress{What: "games.db", Done: 20 * done, All: 200})
			time.Sleep(300 * time.Millisecond)
		}
		say(backup.Progress{What: "journal"})
		say(backup.Progress{What: "journal", Done: 1, All: 3})
		if got, want := b.String(), "games.db: 0 %\ngames.db: 40 %\ngames.db: 80 %\njournal …\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
