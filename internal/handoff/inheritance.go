package handoff

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"
)

// Inheritance is what one image of the process passes to the next.
type Inheritance struct {
	Sockets   map[string]int    // UDP descriptors, by profile
	Listeners map[string]int    // descriptors, by the names of doc.go
	States    map[string]string // paths of state files, by profile, and Letters
	Note      Note

	served    []string // the profiles with a state, as Inherit found them
	restoreGC func()   // resumes garbage collection; nil if it was not stopped
}

// serves reports whether a profile served players before the handoff.
func (h *Inheritance) serves(profile string) bool { return slices.Contains(h.served, profile) }

// Lap adds a phase from since until now to the note, and returns now. H may be nil: then
// nothing is noted.
func (h *Inheritance) Lap(name string, since time.Time) time.Time {
	now := time.Now()
	if h != nil {
		h.Note.Add(name, now.Sub(since))
	}
	return now
}

// resumeGC undoes pauseGC. It may be called twice.
func (h *Inheritance) resumeGC() {
	if h.restoreGC != nil {
		h.restoreGC()
	}
}

// The names of listeners, besides those of HTTP.
const (
	Admin    = "/admin"
	Control  = "/control"
	Redirect = "/redirect"
)

// Letters is the key in States of the file with the letters that were not sent to other nodes
// yet or were received from them. peerStateFile is the profile's name in that file.
const (
	PeerStateEntry = "/letters"
	peerStateFile  = "letters"
)

// PeerState returns the content of the file with letters; nil if there is none.
func (h *Inheritance) PeerState() ([]byte, error) {
	path, ok := h.States[PeerStateEntry]
	if !ok {
		return nil, nil
	}
	state, err := Read(path, peerStateFile)
	return slices.Concat(state...), err
}

// HTTP returns the name of a profile's listener for HTTP and WebSocket.
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

// Take removes a descriptor and returns it as a file; nil if there is none.
func Take(of map[string]int, name string) *os.File {
	fd, ok := of[name]
	if !ok {
		return nil
	}
	delete(of, name)
	return os.NewFile(uintptr(fd), name)
}

// Close closes the descriptors that were not taken, except those of the note.
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

// Report removes the connection of the note and returns it; nil if there is none.
func (h *Inheritance) Report() *os.File {
	fd := h.Note.Report
	if fd == 0 {
		return nil
	}
	h.Note.Report = 0
	return os.NewFile(uintptr(fd), "report")
}

// CloseNote closes the descriptors of the note. Afterwards there is no return to the old
// image.
func (h *Inheritance) CloseNote() {
	if f := h.Report(); f != nil {
		f.Close()
	}
	if h.Note.Old != 0 {
		os.NewFile(uintptr(h.Note.Old), "old binary").Close()
		h.Note.Old = 0
	}
}
