package handoff

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
)

// The variables; see the package comment.
const (
	HotReload     = "WAMBLE_HOT_RELOAD"
	profilesVar   = "WAMBLE_PROFILES_INHERITED"
	listenersVar  = "WAMBLE_LISTENERS_INHERITED"
	stateFilesVar = "WAMBLE_STATE_FILES"
	noteVar       = "WAMBLE_HANDOFF"
)

// Variables has the names of all variables.
var Variables = []string{HotReload, profilesVar, listenersVar, stateFilesVar, noteVar}

// The limits of execve(2): one string, with its name and a NUL, has at most 32 pages, and
// all strings together a quarter of the stack.
const (
	maxVariable    = 128<<10 - 1
	maxEnvironment = 2<<20 - 64<<10
)

// The bounds of what is decoded.
const (
	maxEntries    = 4096
	maxName       = 256
	maxPath       = 4096
	maxDescriptor = 1 << 20
)

// ErrVariables is returned when the variables of a handoff cannot be decoded.
var ErrVariables = errors.New("the variables of the handoff are damaged")

func badDescriptor(fd int) bool { return fd < 3 || fd > maxDescriptor }

// Environ returns the environment of the next image: base, with the variables of the
// inheritance in place of older ones. Errors: *ExportError, with ExportEmpty,
// ExportBufferTooSmall, or ExportNotReady if the next image could not decode it.
func (h *Inheritance) Environ(base []string) ([]string, error) {
	if len(h.Sockets) == 0 {
		return nil, &ExportError{ExportEmpty, errors.New("there are no sockets")}
	}
	note, err := h.Note.encode()
	if err != nil {
		return nil, &ExportError{ExportBufferTooSmall, err}
	}
	env := without(base)
	for _, v := range []string{
		HotReload + "=1",
		profilesVar + "=" + encodeNumbers(h.Sockets),
		listenersVar + "=" + encodeNumbers(h.Listeners),
		stateFilesVar + "=" + encodePaths(h.States),
		noteVar + "=" + note,
	} {
		if len(v) >= maxVariable {
			name, _, _ := strings.Cut(v, "=")
			return nil, &ExportError{ExportBufferTooSmall,
				fmt.Errorf("%s would have %d bytes, more than %d", name, len(v), maxVariable)}
		}
		env = append(env, v)
	}
	total := 0
	for _, v := range env {
		total += len(v) + 1 + 8 // with its NUL and its pointer
	}
	if total > maxEnvironment {
		return nil, &ExportError{ExportBufferTooSmall,
			fmt.Errorf("the environment would have %d bytes, more than %d", total, maxEnvironment)}
	}
	if _, err := Decode(lookUp(env)); err != nil { // as the next image does
		return nil, &ExportError{ExportNotReady, err}
	}
	return env, nil
}

// lookUp returns os.Getenv for an environment.
func lookUp(env []string) func(string) string {
	return func(name string) string {
		for _, v := range env {
			if key, value, _ := strings.Cut(v, "="); key == name {
				return value
			}
		}
		return ""
	}
}

// without returns base without the variables of a handoff.
func without(base []string) []string {
	return slices.DeleteFunc(slices.Clone(base), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(Variables, name)
	})
}

func encodeNumbers(of map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		parts = append(parts, name+"="+strconv.Itoa(of[name]))
	}
	return strings.Join(parts, ",")
}

var escape = strings.NewReplacer("%", "%25", ",", "%2C")
var unescape = strings.NewReplacer("%25", "%", "%2C", ",")

func encodePaths(of map[string]string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		parts = append(parts, name+"="+escape.Replace(of[name]))
	}
	return strings.Join(parts, ",")
}

// Decode decodes the inheritance in the variables; nil if there is none. Errors:
// ErrVariables.
func Decode(getenv func(string) string) (*Inheritance, error) {
	if getenv(HotReload) != "1" {
		return nil, nil
	}
	h := &Inheritance{States: map[string]string{}}
	var errs [4]error
	h.Sockets, errs[0] = decodeNumbers(getenv(profilesVar))
	h.Listeners, errs[1] = decodeNumbers(getenv(listenersVar))
	h.Note, errs[2] = decodeNote(getenv(noteVar))
	errs[3] = entries(getenv(stateFilesVar), func(name, value string) error {
		path := unescape.Replace(value)
		if _, twice := h.States[name]; twice || len(path) > maxPath || strings.IndexByte(path, 0) >= 0 ||
			path[0] != '/' {
			return fmt.Errorf("state file %q of %s", path, name)
		}
		h.States[name] = path
		return nil
	})
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrVariables, err)
	}
	if fd := h.repeated(); fd != 0 {
		return nil, fmt.Errorf("%w: descriptor %d has two names", ErrVariables, fd)
	}
	return h, nil
}

// repeated returns a descriptor that two entries have, or 0.
func (h *Inheritance) repeated() int {
	met := map[int]bool{}
	for _, of := range []map[string]int{h.Sockets, h.Listeners, {"old": h.Note.Old}, {"report": h.Note.Report}} {
		for _, fd := range of {
			if fd != 0 && met[fd] {
				return fd
			}
			met[fd] = true
		}
	}
	return 0
}

func decodeNumbers(text string) (map[string]int, error) {
	of := map[string]int{}
	err := entries(text, func(name, value string) error {
		fd, err := strconv.Atoi(value)
		if _, twice := of[name]; err != nil || twice || badDescriptor(fd) || strconv.Itoa(fd) != value {
			return fmt.Errorf("descriptor %q of %s", value, name)
		}
		of[name] = fd
		return nil
	})
	return of, err
}

// entries calls f with each name and value of a list.
func entries(text string, f func(name, value string) error) error {
	if text == "" {
		return nil
	}
	if len(text) > maxVariable {
		return fmt.Errorf("a list of %d bytes", len(text))
	}
	n := 0
	for entry := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(entry, "=")
		if n++; !ok || name == "" || value == "" || len(name) > maxName || n > maxEntries {
			return fmt.Errorf("entry %d: %.100q", n, entry)
		}
		if err := f(name, value); err != nil {
			return err
		}
	}
	return nil
}

// Inherit returns the inheritance in the environment of this process; nil if there is none.
// It removes the variables, and makes the descriptors close on exec. Errors: ErrVariables.
func Inherit() (*Inheritance, error) {
	h, err := Decode(os.Getenv)
	for _, name := range Variables {
		os.Unsetenv(name)
	}
	if h != nil {
		h.served = slices.Sorted(maps.Keys(h.States))
		for _, fd := range h.descriptors() {
			if !closeOnExec(fd, true) {
				return nil, fmt.Errorf("%w: descriptor %d is not open", ErrVariables, fd)
			}
		}
	}
	return h, err
}
