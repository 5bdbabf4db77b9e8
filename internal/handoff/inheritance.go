package handoff

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"
)

// Inheritance is what one image of the process leaves to the next.
type Inheritance struct {
	Sockets   map[string]int    // UDP, by profile
	Listeners map[string]int    // by the names of doc.go
	States    map[string]string // paths, by profile, and Letters
	Note      Note

	served []string // the profiles that served players, as Inherit found them
	tidy   func()   // collects garbage again; nil: it is collected
}

// serves reports whether a profile served players in the image before.
func (h *Inheritance) serves(profile string) bool { return slices.Contains(h.served, profile) }

// Lap notes a phase that ends now, and returns when that is. Without an inheritance
// there is nothing to note.
func (h *Inheritance) Lap(name string, since time.Time) time.Time {
	now := time.Now()
	if h != nil {
		h.Note.Add(name, now.Sub(since))
	}
	return now
}

// collectGarbage undoes holdGarbage. It may be called twice.
func (h *Inheritance) collectGarbage() {
	if h.tidy != nil {
		h.tidy()
	}
}

// HTTP, Admin, Control and Redirect name listeners.
const (
	Admin    = "/admin"
	Control  = "/control"
	Redirect = "/redirect"
)

// Letters names, among the states, what other machines are still to be told, and have told.
// An image that does not know it removes the file. lettersFile is the profile that the file names.
const (
	Letters     = "/letters"
	lettersFile = "letters"
)

// Letters returns what this image has to know of letters; nil: nothing.
func (h *Inheritance) Letters() ([]byte, error) {
	path, ok := h.States[Letters]
	if !ok {
		return nil, nil
	}
	b, _, done, err := Read(path, lettersFile)
	if err != nil {
		return nil, err
	}
	defer done()
	return slices.Clone(b), nil
}

// HTTP names the listener of a profile for HTTP and WebSocket.
func HTTP(profile string) string { return "http/" + profile }

// descriptors returns every descriptor of the inheritance once.
func (h *Inheritance) descriptors() []int {
	all := slices.Collect(maps.Values(h.Sockets))
	all = slices.AppendSeq(all, maps.Values(h.Listeners))
	for _, fd := range []int{h.Note.Old, h.Note.Report} {
		if fd != 0 {
			all = append(all, fd)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Take returns a descriptor as a file, once; nil if there is none.
func Take(of map[string]int, name string) *os.File {
	fd, ok := of[name]
	if !ok {
		return nil
	}
	delete(of, name)
	return os.NewFile(uintptr(fd), name)
}

// Close closes the descriptors that nobody has taken, but not those of the note.
func (h *Inheritance) Close() error {
	var errs []error
	for _, of := range []map[string]int{h.Sockets, h.Listeners} {
		for name := range of {
			errs = append(errs, Take(of, name).Close())
		}
	}
	return errors.Join(errs...)
}

// RemoveStates removes the state files.
func (h *Inheritance) RemoveStates() error {
	var errs []error
	for name, path := range h.States {
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			errs = append(errs, fmt.Errorf("state file of profile %s: %w", name, err))
		}
	}
	clear(h.States)
	return errors.Join(errs...)
}

// Clone returns a copy whose maps are its own.
func (h *Inheritance) Clone() *Inheritance {
	c := *h
	c.Sockets, c.Listeners, c.States = maps.Clone(h.Sockets), maps.Clone(h.Listeners), maps.Clone(h.States)
	c.Note.Phases = slices.Clone(h.Note.Phases)
	return &c
}

// Report returns the connection of the note, once; nil if there is none.
func (h *Inheritance) Report() *os.File {
	fd := h.Note.Report
	if fd == 0 {
		return nil
	}
	h.Note.Report = 0
	return os.NewFile(uintptr(fd), "report")
}

// CloseNote closes the descriptors of the note: there is no way back any more.
func (h *Inheritance) CloseNote() {
	if f := h.Report(); f != nil {
		f.Close()
	}
	if h.Note.Old != 0 {
		os.NewFile(uintptr(h.Note.Old), "old binary").Close()
		h.Note.Old = 0
	}
}
