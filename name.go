package wamble

import "strings"

// The bounds of a chosen name, in bytes.
const (
	MinName = 3
	MaxName = 20
)

// NameKept is how long a player must keep a chosen name, in days.
const NameKept = 7

var (
	errNameForm     = &Denied{Code: AccessDenied, Reason: "a name has 3 to 20 letters, digits, - or _"}
	errNameReserved = &Denied{Code: AccessDenied, Reason: "this name is reserved"}
)

// reservedNames are names that no player may choose, because others would take them for the host.
var reservedNames = map[string]bool{
	"admin": true, "administrator": true, "anonymous": true, "bot": true, "everybody": true, "everyone": true,
	"host": true, "house": true,
	"me": true, "mod": true, "moderator": true, "nobody": true, "null": true, "official": true, "operator": true,
	"owner": true, "root": true,
	"server": true, "staff": true, "support": true, "system": true, "undefined": true, "wamble": true, "you": true,
}

// FoldName returns a name as names are compared: regardless of case.
func FoldName(name string) string { return strings.ToLower(name) }

// IsName reports whether a text can be the name of a player: a chosen one, or the handle before that.
func IsName(s string) bool {
	if len(s) < MinName || len(s) > 63 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}

// CheckName returns why a player may not choose a name, or nil. Guests' names and the handles of players
// without a chosen name are made by the server, and cannot be chosen.
func CheckName(name string) error {
	folded := FoldName(name)
	switch {
	case !IsName(name) || len(name) > MaxName:
		return errNameForm
	case reservedNames[strings.Trim(folded, "-_")], strings.HasPrefix(folded, "h_"), strings.HasPrefix(folded, "guest"):
		return errNameReserved
	}
	return nil
}
