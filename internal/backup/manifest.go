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

// Manifest says what a backup has. It is written first, and after every store, so that an
// interrupted backup can be continued.
type Manifest struct {
	Format int `json:"format"`
	// Began is when the backup began, or was continued last.
	Began time.Time `json:"began"`
	// Ended is when the journal was copied. The backup has everything that was acknowledged
	// before. It is zero while the backup is not complete.
	Ended    time.Time `json:"ended,omitzero"`
	Journal  string    `json:"journal,omitempty"` // id in hex
	Stores   []string  `json:"stores"`            // SQLite files that are complete
	Profiles []Held    `json:"profiles"`
	// Files has all files of a complete backup but the manifest, and Sum is the sum of the manifest
	// itself (sums.go). Older versions wrote neither.
	Files []File `json:"files,omitempty"`
	Sum   string `json:"sum"`
}

// Held is what a backup has of a profile.
type Held struct {
	Name string `json:"name"`
	// Store is the SQLite file of its games; "" if they are in PostgreSQL, of which a copy
	// made after Began must be restored.
	Store string `json:"store,omitempty"`
	// Cursor is the last message that the store has, or had when the backup began. Last is
	// the last one of the journal. The backup has the messages between them.
	Cursor uint64 `json:"cursor"`
	Last   uint64 `json:"last"`
}

const (
	format       = 1
	manifestName = "backup.json"
	journalName  = "journal"
	retainedName = "kept"
	unwritten    = ".new" // suffix of a manifest that is being written
)

// ErrNoBackup is returned when a directory has no backup, or one that is not complete.
var ErrNoBackup = errors.New("not a whole backup")

// ReadManifest returns the manifest of a backup, which may be incomplete. Errors: ErrNoBackup
// if there is none.
func ReadManifest(dir string) (Manifest, error) {
	return readManifest(os.DirFS(dir), dir)
}

// readManifest returns the manifest of a backup whose name is dir.
func readManifest(files fs.FS, dir string) (Manifest, error) {
	var m Manifest
	text, err := fs.ReadFile(files, manifestName)
	if errors.Is(err, fs.ErrNotExist) {
		return m, noManifest(dir)
	}
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err == nil {
		err = m.checkSeal(text)
	}
	if err == nil && m.Format != format {
		err = fmt.Errorf("format %d is not known here: use the wamble that made it, or one that is newer", m.Format)
	}
	if err != nil {
		return m, fmt.Errorf("%s: %w", filepath.Join(dir, manifestName), err)
	}
	return m, nil
}

func noManifest(dir string) error {
	return fmt.Errorf("%s: %w: it has no %s", dir, ErrNoBackup, manifestName)
}

func (m *Manifest) write(dir string) error {
	text, err := m.sealed()
	if err != nil {
		return err
	}
	path := filepath.Join(dir, manifestName)
	f, err := os.OpenFile(path+unwritten, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(path+unwritten, path); err != nil {
		return err
	}
	return syncDir(dir)
}
