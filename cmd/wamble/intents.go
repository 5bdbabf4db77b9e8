package main

import (
	"wamble/internal/journal"
	"wamble/runner"
)

// decodeIntents shows the messages of a profile's journal as the intents that
// they carry. It is a row of payloadDecoders.
func decodeIntents(m *runner.Message) (any, bool) {
	views, err := journal.Show(m)
	return views, err == nil
}
