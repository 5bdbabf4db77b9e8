package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"wamble/internal/config"
	"wamble/internal/store/postgres/pglog"
	"wamble/runner"
	"wamble/runner/logstore"
)

// sharedMark returns the name of the file in a data directory that says which journal in
// PostgreSQL its server used last (see mark).
func sharedMark(dir string) string { return filepath.Join(dir, "journal-in-postgres") }

// mark is the content of that file, one line per field.
type mark struct {
	place   string
	part    int    // the partition that was claimed last
	id      string // identifier of its journal, which does not depend on the address; "" if not known
	emptied bool   // the games' database has everything, or another node has the journal
}

const markEmptied = "emptied"

func readMark(dir string) (mark, error) {
	b, err := os.ReadFile(sharedMark(dir))
	lines := append(strings.Split(string(b), "\n"), "", "", "")
	part, _ := strconv.Atoi(lines[1])
	return mark{place: lines[0], part: part, id: lines[2], emptied: lines[3] == markEmptied}, err
}

func (m mark) write(dir string) error {
	text := fmt.Sprintf("%s\n%d\n%s\n", m.place, m.part, m.id)
	if m.emptied {
		text += markEmptied + "\n"
	}
	next := sharedMark(dir) + ".new"
	return errors.Join(os.WriteFile(next, []byte(text), 0o600), os.Rename(next, sharedMark(dir)))
}

// isOf reports whether the journal of a configuration is the marked one, at another address
// or restored from a backup.
func (m mark) isOf(c *config.Config) (bool, error) {
	if m.id == "" {
		return false, nil
	}
	log, err := lookAtLogs(c)
	if err != nil {
		return false, err
	}
	defer log.Close()
	r, err := lookInto(logstore.New(log, pglog.PartName(c.Server.JournalName, m.part), logstore.Options{MaxBytes: c.Server.JournalMemory << 20}))
	if errors.Is(err, runner.ErrNoSchema) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return r.JournalID().String() == m.id, r.Close()
}

// markPlace writes the mark for a partition that was claimed.
func (p *part) markPlace(r *runner.Runner) error {
	p.s.cluster.marking.Lock()
	defer p.s.cluster.marking.Unlock()
	return mark{place: sharedPlace(p.s.o.Config), part: p.index, id: r.JournalID().String()}.write(p.s.dir)
}

// markEmptied writes into the mark that this node has left nothing in the journal, so that
// another journal may be used.
func (s *Server) markEmptied() {
	m, err := readMark(s.dir)
	if errors.Is(err, os.ErrNotExist) {
		return // no journal in PostgreSQL was used
	}
	m.emptied = true
	if err == nil {
		err = m.write(s.dir)
	}
	s.warn(err)
}

// emptied reports, after the profiles have ended, whether the games' database has everything
// of the partitions on this node, and other nodes hold the other partitions.
func (s *Server) emptied() bool {
	if s.cluster.log == nil {
		return false
	}
	n := s.parts()
	seen, _ := s.cluster.log.World(s.cluster.name, n)
	for k := range n {
		if p := s.partOf(k); p != nil {
			if p.runner.State() != runner.Running || waiting(p.runner) > 0 {
				return false
			}
		} else if seen.Err != nil || seen.Parts[k].Free || seen.Parts[k].Self {
			return false
		}
	}
	return true
}
