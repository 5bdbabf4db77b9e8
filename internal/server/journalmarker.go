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

// markerFile returns the name of the file in a data directory that says which journal in
// PostgreSQL its server used last (see mark).
func markerFile(dir string) string { return filepath.Join(dir, "journal-in-postgres") }

// journalMarker is the content of that file, one line per field.
type journalMarker struct {
	location  string
	partition int    // the partition that was claimed last
	id        string // identifier of its journal, which does not depend on the address; "" if not known
	emptied   bool   // the games' database has everything, or another node has the journal
}

const markerEmptied = "emptied"

func readMarker(dir string) (journalMarker, error) {
	b, err := os.ReadFile(markerFile(dir))
	lines := append(strings.Split(string(b), "\n"), "", "", "")
	part, _ := strconv.Atoi(lines[1])
	return journalMarker{location: lines[0], partition: part, id: lines[2], emptied: lines[3] == markerEmptied}, err
}

func (m journalMarker) write(dir string) error {
	text := fmt.Sprintf("%s\n%d\n%s\n", m.location, m.partition, m.id)
	if m.emptied {
		text += markerEmptied + "\n"
	}
	next := markerFile(dir) + ".new"
	return errors.Join(os.WriteFile(next, []byte(text), 0o600), os.Rename(next, markerFile(dir)))
}

// isOf reports whether the journal of a configuration is the marked one, at another address
// or restored from a backup.
func (m journalMarker) isOf(c *config.Config) (bool, error) {
	if m.id == "" {
		return false, nil
	}
	log, err := openLogsReadOnly(c)
	if err != nil {
		return false, err
	}
	defer log.Close()
	r, err := openReadOnly(logstore.New(log, pglog.PartName(c.Server.JournalName, m.partition), logstore.Options{MaxBytes: c.Server.JournalMemory << 20}))
	if errors.Is(err, runner.ErrNoSchema) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return r.JournalID().String() == m.id, r.Close()
}

// writeMarker writes the mark for a partition that was claimed.
func (p *partition) writeMarker(r *runner.Runner) error {
	p.s.sharedJournal.markerMu.Lock()
	defer p.s.sharedJournal.markerMu.Unlock()
	return journalMarker{location: sharedJournalLocation(p.s.o.Config), partition: p.index, id: r.JournalID().String()}.write(p.s.dir)
}

// writeEmptiedMarker writes into the mark that this node has left nothing in the journal, so that
// another journal may be used.
func (s *Server) writeEmptiedMarker() {
	m, err := readMarker(s.dir)
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
	if s.sharedJournal.log == nil {
		return false
	}
	n := s.partitionCount()
	seen, _ := s.sharedJournal.log.ClusterView(s.sharedJournal.name, n)
	for k := range n {
		if p := s.partitionOf(k); p != nil {
			if p.runner.State() != runner.Running || undrained(p.runner) > 0 {
				return false
			}
		} else if seen.Err != nil || seen.Parts[k].Free || seen.Parts[k].Self {
			return false
		}
	}
	return true
}
