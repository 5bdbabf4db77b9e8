package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// archived reports whether the name of a backup is that of an archive file.
func archived(name string) bool { return strings.HasSuffix(name, ".tar") }

// DirOf returns the directory that a backup of a name is written to first: itself, or that of an archive.
func DirOf(name string) string {
	if archived(name) {
		return name + ".unfinished"
	}
	return name
}

// To makes a backup in a directory, or in an archive file whose name ends with .tar. The
// content of an archive is in the directory NAME.unfinished until it is complete. Errors:
// ErrUnderWay.
func To(ctx context.Context, s Source, name string, progress func(Progress)) (Manifest, error) {
	if !archived(name) {
		return Run(ctx, s, name, progress)
	}
	release, err := alone(s.Dir)
	if err != nil {
		return Manifest{}, err
	}
	defer release()
	if _, err := os.Lstat(name); err == nil {
		return Manifest{}, fmt.Errorf("%s exists already; choose another name", name)
	}
	parts := DirOf(name)
	m, err := ReadManifest(parts)
	if err != nil || m.Ended.IsZero() {
		if m, err = s.runAlone(ctx, parts, progress); err != nil {
			return m, err
		}
	}
	return m, as(s.AsCaller, func() error {
		if err := pack(parts, name+".new"); err != nil {
			return err
		}
		return errors.Join(os.Rename(name+".new", name), syncDir(filepath.Dir(name)), os.RemoveAll(parts))
	})
}

// unpackedName is the directory of a data directory into which an archive is unpacked. The
// server's user may not be able to write elsewhere.
const unpackedName = "restore-unpacked"

// From restores a backup that To has made, and returns its manifest. Errors: those of Restore.
func From(ctx context.Context, name string, t Target, progress func(Progress)) (Manifest, error) {
	isDir := true
	_ = as(t.AsCaller, func() error {
		info, err := os.Stat(name)
		isDir = err != nil || info.IsDir()
		return nil
	})
	if isDir {
		return Restore(ctx, name, t, progress)
	}
	parts := filepath.Join(t.Dir, unpackedName)
	if err := errors.Join(os.RemoveAll(parts), os.MkdirAll(parts, 0o700)); err != nil {
		return Manifest{}, err
	}
	defer os.RemoveAll(parts)
	if err := t.unpack(name, parts); err != nil {
		return Manifest{}, fmt.Errorf("%s: %w", name, err)
	}
	if _, err := os.Stat(filepath.Join(parts, manifestName)); err != nil {
		return Manifest{}, fmt.Errorf("%s: %w", name, errNoArchive)
	}
	t.AsCaller = nil // the unpacked files are in the data directory
	return t.restoreDir(ctx, parts, name, progress)
}

func pack(dir, to string) error {
	root, err := os.OpenRoot(dir) // another user may have written it: symbolic links must not lead out of it
	if err != nil {
		return err
	}
	defer root.Close()
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	w := tar.NewWriter(f)
	return errors.Join(w.AddFS(root.FS()), w.Close(), f.Sync(), f.Close())
}

var errNoArchive = fmt.Errorf("%w: give the directory or the .tar file that 'wamble backup' has written", ErrNoBackup)

// unpack writes the files of an archive to a directory. Names that lead out of it are refused.
func (t *Target) unpack(name, dir string) error {
	var f *os.File
	err := as(t.AsCaller, func() (err error) { f, err = os.Open(name); return err })
	if err != nil {
		return err
	}
	defer f.Close()
	first := true
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return zeros(f, 1<<20) // the end of an archive
		}
		if err != nil && first {
			return errNoArchive
		}
		if err != nil {
			return fmt.Errorf("it is not whole: %w", err)
		}
		first = false
		if !fs.ValidPath(h.Name) && !fs.ValidPath(strings.TrimSuffix(h.Name, "/")) {
			return fmt.Errorf("%q is no name of a backup", h.Name)
		}
		to := filepath.Join(dir, filepath.FromSlash(h.Name))
		if h.Typeflag == tar.TypeDir {
			if err := os.MkdirAll(to, 0o700); err != nil {
				return err
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(out, r)
		if err == nil {
			err = zeros(f, -h.Size&(blockSize-1))
		}
		if err = errors.Join(err, out.Close()); err != nil {
			return err
		}
	}
}

// blockSize is what the parts of an archive are padded to.
const blockSize = 512

// zeros checks that an archive has only zeros in the next n bytes, which have no sum. It does not move
// the file's offset.
func zeros(f *os.File, n int64) error {
	at, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	padding, err := io.ReadAll(io.NewSectionReader(f, at, n))
	if err == nil && len(bytes.Trim(padding, "\x00")) > 0 {
		err = ErrChanged
	}
	return err
}
