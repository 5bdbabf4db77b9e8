package main

import (
	"wamble/internal/persist"
	"wamble/runner"
)

// decodeIntents shows the messages of a profile's journal as the intents that
// they carry. It is a row of payloadDecoders.
func decodeIntents(m *runner.Message) (any, bool) {
	views, err := persist.Show(m)
	return views, err == nil
}
