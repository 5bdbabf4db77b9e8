package admin

import (
	"strings"
	"testing"

	"wamble/internal/profile"
)

func TestBrownoutWords(t *testing.T) {
	b, err := parseBrownout(switchWords())
	if err != nil || b != (profile.Brownout{NoNewSessions: true, NoPredictions: true, SlowWatching: true,
		ReadOnly: true}) {
		t.Errorf("got %+v, %v", b, err)
	}
	if _, err := parseBrownout([]string{"no-fun"}); err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("got %v", err)
	}
}
