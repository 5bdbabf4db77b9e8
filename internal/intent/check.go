package intent

import (
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"wamble"
)

// Limits of the columns, in characters unless said otherwise.
const (
	MaxProfile = 128
	maxFEN     = 90
	maxUCI     = 6
	maxReason  = 31
	maxHost    = 64
	maxTerms   = 1 << 20
	maxVariant = 959
	// maxDecimal bounds DECIMAL(10,4): six digits before the point.
	maxDecimal = 1e6
	// lastSecond is the end of the year 9999.
	lastSecond = 253402300799
)

// checker keeps the first fault of an intent. It is passed by value, because an interface method with a
// pointer would move it to the heap.
type checker struct{ reason string }

func (c checker) that(ok bool, otherwise string) checker {
	if !ok && c.reason == "" {
		c.reason = otherwise
	}
	return c
}

func (c checker) number(ok bool, what string, n int64) checker {
	if ok {
		return c
	}
	return c.that(false, fmt.Sprintf("there is no %s %d", what, n))
}

func (c checker) board(id wamble.BoardID) checker {
	return c.number(id > 0 && id <= math.MaxInt64, "board", int64(id))
}

func (c checker) shard(k int) checker {
	return c.number(k >= 0 && k < wamble.MaxShards, "shard", int64(k))
}

func (c checker) session(id wamble.SessionID) checker { return c.number(id > 0, "session", int64(id)) }

func (c checker) key(k wamble.PublicKey) checker { return c.that(!k.IsZero(), "the key is zero") }

// at requires a time from 1970 on; the zero time is the year 1.
func (c checker) at(t time.Time) checker {
	s := t.Unix()
	return c.that(s >= 0 && s <= lastSecond, "the time is missing, or not between 1970 and 9999")
}

func (c checker) position(fen string, status wamble.BoardStatus) checker {
	return c.text("fen", fen, 1, maxFEN).number(status <= wamble.Archived, "status", int64(status))
}

func (c checker) move(uci string, ply int) checker {
	return c.text("uci", uci, 1, maxUCI).number(ply >= 1 && ply <= math.MaxInt32, "ply", int64(ply))
}

func (c checker) handle(h string) checker {
	return c.that(wamble.IsName(h), "a handle has 3 to 63 letters, digits, - or _")
}

func (c checker) decimal(what string, x float64) checker {
	if math.Abs(x) < maxDecimal-0.0001 { // which is false for NaN
		return c
	}
	return c.that(false, fmt.Sprintf("%s %v do not fit into six digits before the point", what, x))
}

func (c checker) text(what, s string, least, most int) checker {
	return c.that(false, CheckText(what, s, least, most))
}

// CheckText returns what is wrong with a text of least to most characters, or "". PostgreSQL takes neither
// broken UTF-8 nor NUL.
func CheckText(what, s string, least, most int) string {
	if len(s) >= least && len(s) <= most && plain(s) {
		return ""
	}
	switch n := utf8.RuneCountInString(s); {
	case n < least || n > most:
		return fmt.Sprintf("the %s has %d characters, %d to %d are kept", what, n, least, most)
	case !utf8.ValidString(s):
		return what + " is not UTF-8"
	case strings.IndexByte(s, 0) >= 0:
		return what + " contains NUL"
	}
	return ""
}

// plain reports whether s is ASCII without NUL, as nearly every string is.
func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] == 0 || s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
