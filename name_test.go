package wamble

import (
	"strings"
	"testing"
)

func TestCheckName(t *testing.T) {
	for name, want := range map[string]string{
		"Ann": "", "b0b": "", "a-b_c": "", strings.Repeat("x", 20): "", "Hugo": "",
		"": "letters", "ab": "letters", strings.Repeat("x", 21): "letters", "a b": "letters", "jörg": "letters",
		"a.b":   "letters",
		"admin": "reserved", "ADMIN": "reserved", "_Host_": "reserved", "Guest7": "reserved",
		"h_0123456789ab": "reserved", "Wamble": "reserved",
	} {
		got := ""
		if err := CheckName(name); err != nil {
			got = err.Error()
		}
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
