package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"
)

// panicked is a panic of one of a profile's goroutines, with its stack.
type panicked struct {
	where string
	value any
	stack []byte
}

// newPanic is called by a deferred function with what it has recovered.
func newPanic(where string, value any) *panicked {
	return &panicked{where: where, value: value, stack: debug.Stack()}
}

func (p *panicked) Error() string { return fmt.Sprintf("panic in %s: %v", p.where, p.value) }

// guard runs f on a goroutine of its own that ends with the helpers. Its panic
// ends the runtime, not the process.
func (rt *runtime) guard(where string, f func()) {
	rt.help.done.Go(func() {
		defer func() {
			if v := recover(); v != nil {
				rt.crash(newPanic(where, v))
			}
		}()
		f()
	})
}

// crash tells run that the runtime cannot go on.
func (rt *runtime) crash(err error) {
	select {
	case rt.help.crashed <- err:
	default: // the first is enough
	}
}

// mostDumps is how many dumps of one profile are kept.
const mostDumps = 8

// dump writes down what is known of a panic, and returns the file's name; "" if
// there is nothing to write. Packets and tokens are not in it.
func (rt *runtime) dump(err error) string {
	var p *panicked
	if !errors.As(err, &p) {
		return ""
	}
	now := time.Now().UTC()
	name := filepath.Join(rt.help.dir, fmt.Sprintf("crash-%s-%s.txt", rt.name, now.Format("20060102T150405.000")))
	text := fmt.Sprintf("profile %s\ntime %s\n%v\n\n%s", rt.name, now.Format(time.RFC3339Nano), err, p.stack)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		rt.log.Warn("the dump could not be written", "err", err)
		return ""
	}
	old, _ := filepath.Glob(filepath.Join(rt.help.dir, "crash-"+rt.name+"-*.txt"))
	slices.Sort(old)
	for len(old) > mostDumps {
		os.Remove(old[0])
		old = old[1:]
	}
	return name
}
