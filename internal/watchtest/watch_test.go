package watchtest

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestUntil(t *testing.T) {
	for _, c := range []struct {
		name  string
		after time.Duration // when it comes about
		want  string        // of the complaint
	}{
		{"it is so already", 0, ""},
		{"it comes about", Patience - time.Second, ""},
		{"it never does", 2 * Patience, "in vain: it never does\n the log"},
	} {
		synctest.Test(t, func(t *testing.T) {
			from, said := time.Now(), &complaint{TB: t}
			log := &Log{}
			fmt.Fprint(log, "the ")
			fmt.Fprint(log, "log")
			func() {
				defer func() { _ = recover() }()
				Until(said, c.name, func() bool { return time.Since(from) >= c.after }, log)
			}()
			if got := strings.TrimSpace(said.text); got != c.want {
				t.Errorf("%s: got %q, want %q", c.name, got, c.want)
			}
			if got, want := time.Since(from), min(c.after, Patience); got < want || got > want+time.Second {
				t.Errorf("%s: it took %v, want %v", c.name, got, want)
			}
		})
	}
}

// complaint keeps the failure that a test would have had.
type complaint struct {
	testing.TB
	text string
}

func (c *complaint) Helper() {}

func (c *complaint) Fatal(args ...any) {
	c.text = fmt.Sprintln(args...)
	panic("the test ends here")
}
