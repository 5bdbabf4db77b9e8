package loop

import (
	"slices"
	"testing"

	"wamble/internal/profile"
)

// TestMailOrder: news go before packets, and an answer of the store that came before them
// stays before them: it does not have them.
func TestMailOrder(t *testing.T) {
	m := newMail(func() {})
	before, news, after := &profile.Loaded{Load: 1}, &profile.News{}, &profile.Loaded{Load: 2}
	m.post(before)
	m.hear(news)
	m.post(after)
	if !m.hasNews() {
		t.Error("there are no news")
	}
	if got := m.takeNews(nil); !slices.Equal(got, []profile.Input{before, news}) || m.hasNews() {
		t.Errorf("before the packets: %v", got)
	}
	if got := m.take(nil); !slices.Equal(got, []profile.Input{after}) {
		t.Errorf("behind the packets: %v", got)
	}
	m.post(after)
	if got := m.takeNews(nil); len(got) != 0 {
		t.Errorf("without news: %v", got)
	}
}
