package admin

import (
	"fmt"
	"strings"

	"wamble/internal/profile"
)

// brownouts has the switches of a brown-out, with their names.
var brownouts = []struct {
	word string
	on   func(*profile.Brownout) *bool
}{
	{"no-new-sessions", func(b *profile.Brownout) *bool { return &b.NoNewSessions }},
	{"no-predictions", func(b *profile.Brownout) *bool { return &b.NoPredictions }},
	{"slow-watching", func(b *profile.Brownout) *bool { return &b.SlowWatching }},
	{"read-only", func(b *profile.Brownout) *bool { return &b.ReadOnly }},
}

// BrownoutWords returns the names of the switches of b that are on.
func BrownoutWords(b profile.Brownout) (words []string) {
	for _, s := range brownouts {
		if *s.on(&b) {
			words = append(words, s.word)
		}
	}
	return words
}

// switchWords returns the names of all switches.
func switchWords() (words []string) {
	for _, s := range brownouts {
		words = append(words, s.word)
	}
	return words
}

// parseBrownout parses a list of switches.
func parseBrownout(words []string) (b profile.Brownout, err error) {
	for _, word := range words {
		known := false
		for _, s := range brownouts {
			if s.word == word {
				*s.on(&b), known = true, true
			}
		}
		if !known {
			return b, fmt.Errorf("there is no switch %q; there are %s", word, strings.Join(switchWords(), ", "))
		}
	}
	return b, nil
}
