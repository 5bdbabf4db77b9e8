package loop

import (
	"slices"
	"testing"

	"wamble/internal/profile"
)

// TestMailboxOrder: events go before packets, and an answer of the store that came before
// them stays before them: it does not contain them.
func TestMailboxOrder(t *testing.T) {
	m := newMailbox(func() {})
	before, events, after := &profile.Loaded{Load: 1}, &profile.StoreEvents{}, &profile.Loaded{Load: 2}
	m.put(before)
	m.putEvents(events)
	m.put(after)
	if !m.hasEvents() {
		t.Error("there are no news")
	}
	if got := m.takeEvents(nil); !slices.Equal(got, []profile.Input{before, events}) || m.hasEvents() {
		t.Errorf("before the packets: %v", got)
	}
	if got := m.take(nil); !slices.Equal(got, []profile.Input{after}) {
		t.Errorf("behind the packets: %v", got)
	}
	m.put(after)
	if got := m.takeEvents(nil); len(got) != 0 {
		t.Errorf("without news: %v", got)
	}
}
