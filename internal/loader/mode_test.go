package loader

import (
	"strings"
	"testing"
)

func TestModes(t *testing.T) {
	for i, name := range ModeNames() {
		m, err := ParseMode(name)
		if err != nil || int(m) != i || m.String() != name || m.Unit() == "" {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
	_, err := ParseMode("sleep")
	if err == nil || !strings.Contains(err.Error(),
		`no mode "sleep"; the modes are moves, hello, legal, spectate, mixed`) {
		t.Errorf("got %v", err)
	}
}
