package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// DataDir returns the name of the data directory: the one named on the command line, else
// that of the configuration, else wamble in the user's state directory.
func DataDir(flag, configured string, getenv func(string) string) (string, error) {
	switch {
	case flag != "":
		return flag, nil
	case configured != "":
		return configured, nil
	}
	if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "wamble"), nil
	}
	if home := getenv("HOME"); home != "" {
		return filepath.Join(home, ".local", "state", "wamble"), nil
	}
	return "", errors.New("no place for the data: set data-dir in the configuration, use --data DIR, or set HOME")
}

// MakeDataDir creates the data directory, readable by its owner alone, and syncs its parent
// so that the directory survives a crash.
func MakeDataDir(dir string) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	above, err := os.Open(filepath.Dir(filepath.Clean(dir)))
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	defer above.Close()
	if err := above.Sync(); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	return nil
}
