package config

import (
	"regexp"
	"strings"
)

// Secret is a string that hides itself from logs, JSON and formatted output.
// string(s) reveals it.
type Secret string

const hidden = "(hidden)"

func (Secret) String() string               { return hidden }
func (Secret) GoString() string             { return hidden }
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// secretName matches a name that speaks of a password or secret, and the
// white space behind it.
var secretName = regexp.MustCompile(`(?i)[^\s()";]*(?:pas|pwd|secret)[^\s()";]*\s+`)

// mask returns text with the values of secrets overwritten, byte for byte, so
// that an error which quotes a line does not tell them: the value behind such
// a name, or all strings in the list behind it. What is only looked up, as in
// (getenv "DB_PASS"), and the name of a password file stay readable.
func mask(text string) string {
	out := []byte(text)
	done := 0 // all before is masked
	for _, m := range secretName.FindAllStringIndex(text, -1) {
		if m[1] >= done && !strings.HasSuffix(strings.TrimSpace(text[m[0]:m[1]]), "-file") {
			done = maskValue(text, out, m[1])
		}
	}
	return string(out)
}

// maskValue overwrites the datum of text that begins at i and returns its end.
func maskValue(text string, out []byte, i int) int {
	for depth := 0; i < len(text); {
		end := i + 1
		switch c := text[i]; {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == '"':
			end = closingQuote(text, i)
			if !strings.HasSuffix(strings.TrimRight(text[:i], " \t\r\n"), "(getenv") {
				overwrite(out[i+1 : end])
			}
		case depth == 0 && !strings.ContainsRune(" \t\r\n", rune(c)):
			for end < len(text) && !strings.ContainsRune(" \t\r\n()", rune(text[end])) {
				end++
			}
			overwrite(out[i:end])
		}
		if i = end; depth <= 0 {
			break
		}
	}
	return i
}

// closingQuote returns the offset behind the string that begins at i.
func closingQuote(text string, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// overwrite keeps quotes and line ends, so that lines stay what they are.
func overwrite(out []byte) {
	for i, c := range out {
		if c != '"' && c != '\n' && c != '\r' {
			out[i] = '*'
		}
	}
}
