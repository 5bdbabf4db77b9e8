package config

import (
	"regexp"
	"strings"
)

// Secret is a string that is hidden in logs, JSON and formatted output. string(s) reveals it.
type Secret string

const hidden = "(hidden)"

func (Secret) String() string               { return hidden }
func (Secret) GoString() string             { return hidden }
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// secretName matches a name that contains pas, pwd or secret, and the white space after it.
var secretName = regexp.MustCompile(`(?i)[^\s()";]*(?:pas|pwd|secret)[^\s()";]*\s+`)

// mask returns text with the values of secrets overwritten, byte for byte, so that errors can
// quote lines: the value after such a name, or all strings in the list after it. Names of
// variables, as in (getenv "DB_PASS"), and of password files stay readable.
func mask(text string) string {
	out := []byte(text)
	done := 0 // the text before this offset is masked
	for _, m := range secretName.FindAllStringIndex(text, -1) {
		if m[1] >= done && !strings.HasSuffix(strings.TrimSpace(text[m[0]:m[1]]), "-file") {
			done = maskValue(text, out, m[1])
		}
	}
	return string(out)
}

// maskValue overwrites the value that begins at offset i of text, and returns its end.
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

// closingQuote returns the offset after the string that begins at i.
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

// overwrite overwrites all but quotes and line ends.
func overwrite(out []byte) {
	for i, c := range out {
		if c != '"' && c != '\n' && c != '\r' {
			out[i] = '*'
		}
	}
}
