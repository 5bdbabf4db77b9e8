package config

import (
	"regexp"
	"strings"
)

// secretValue matches a name that speaks of a password or secret and the
// value after it.
var secretValue = regexp.MustCompile(`(?i)([^\s()";]*(?:pas|pwd|secret)[^\s()";]*)\s+("(?:[^"\\]|\\.)*"?|[^\s()";]+)`)

// mask returns text with the values of secrets overwritten, byte for byte, so
// that an error which quotes a line does not tell them. What is only looked
// up, as in (getenv "DB_PASS"), and the name of a password file stay readable.
func mask(text string) string {
	out := []byte(text)
	for _, m := range secretValue.FindAllStringSubmatchIndex(text, -1) {
		if strings.HasSuffix(text[m[2]:m[3]], "-file") {
			continue
		}
		for i := m[4]; i < m[5]; i++ {
			if !strings.ContainsRune("\"\n\r\t", rune(out[i])) {
				out[i] = '*'
			}
		}
	}
	return string(out)
}
