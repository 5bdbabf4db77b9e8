package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"wamble/internal/loop"
)

// mostDumps is how many dumps of one profile are kept.
const mostDumps = 8

// dump writes down what is known of a panic, and returns the file's name; "" if
// there is nothing to write. Packets and tokens are not in it.
func (k *keeper) dump(err error) string {
	var p *loop.Panic
	if !errors.As(err, &p) {
		return ""
	}
	now := time.Now().UTC()
	name := filepath.Join(k.dir, fmt.Sprintf("crash-%s-%s.txt", k.name, now.Format("20060102T150405.000")))
	text := fmt.Sprintf("profile %s\ntime %s\n%v\n\n%s", k.name, now.Format(time.RFC3339Nano), err, p.Stack)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		k.log.Warn("the dump could not be written", "err", err)
		return ""
	}
	old, _ := filepath.Glob(filepath.Join(k.dir, "crash-"+k.name+"-*.txt"))
	slices.Sort(old)
	for len(old) > mostDumps {
		os.Remove(old[0])
		old = old[1:]
	}
	return name
}
