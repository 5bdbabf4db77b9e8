package backup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Manifest says what a backup holds. It is written first, and after every part, so that a
// backup that was interrupted goes on.
type Manifest struct {
	Format int `json:"format"`
	// Began is when the backup began, or went on.
	Began time.Time `json:"began"`
	// Ended is when the journal was copied: what was acknowledged before is there.
	// Zero: the backup is not whole.
	Ended    time.Time `json:"ended,omitzero"`
	Journal  string    `json:"journal,omitempty"` // its id, in hex
	Stores   []string  `json:"stores"`            // files that are whole
	Profiles []Held    `json:"profiles"`
}

// Held is what a backup has of a profile.
type Held struct {
	Name string `json:"name"`
	// Store is the file of its games; "": they are in PostgreSQL, which is to be restored
	// from a backup that was made after Began.
	Store string `json:"store,omitempty"`
	// Cursor is the last message that the store has, or had when the backup began, and
	// Last the last one of the journal: those between them are in the backup.
	Cursor uint64 `json:"cursor"`
	Last   uint64 `json:"last"`
}

const (
	format       = 1
	manifestName = "backup.json"
	journalName  = "journal"
	keptName     = "kept"
	unwritten    = ".new" // ends the name of a manifest that is not whole
)

// ErrNoBackup is returned when a directory holds no whole backup.
var ErrNoBackup = errors.New("not a whole backup")

// ReadManifest returns that of a backup, whole or not. Errors: ErrNoBackup.
func ReadManifest(dir string) (Manifest, error) {
	var m Manifest
	text, err := os.ReadFile(filepath.Join(dir, manifestName))
	if errors.Is(err, fs.ErrNotExist) {
		return m, fmt.Errorf("%s: %w: it has no %s", dir, ErrNoBackup, manifestName)
	}
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err == nil && m.Format != format {
		err = fmt.Errorf("format %d is not known here: use the wamble that made it, or one that is newer", m.Format)
	}
	if err != nil {
		return m, fmt.Errorf("%s: %w", filepath.Join(dir, manifestName), err)
	}
	return m, nil
}

func (m *Manifest) write(dir string) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(dir, manifestName)
	f, err := os.OpenFile(path+unwritten, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(path+unwritten, path); err != nil {
		return err
	}
	return syncDir(dir)
}
