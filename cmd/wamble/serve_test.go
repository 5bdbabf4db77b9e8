package main

import (
	"testing"

	"wamble/internal/server"
)

// TestGreeting: a machine without partitions does not print that it serves.
func TestGreeting(t *testing.T) {
	for here, want := range map[bool]string{
		true:  "Wamble serves the profile club.",
		false: "Wamble waits for a part of the profile club, which other machines serve.",
	} {
		if got := serving(server.Listening{Profile: "club", Local: here}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
