package backup

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// copyTree copies the files of a directory to another one and syncs them. It follows no symbolic links, and
// refuses files that are there.
func copyTree(ctx context.Context, files fs.FS, from, to string, progress func(done, all int64)) error {
	var all, done int64
	err := fs.WalkDir(files, from, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			info, ierr := fs.Stat(files, name)
			if ierr != nil {
				return ierr
			}
			all += info.Size()
		}
		return err
	})
	if err != nil {
		return err
	}
	return fs.WalkDir(files, from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		within, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, within), 0o700)
		case !d.Type().IsRegular():
			return nil
		}
		n, err := copyFile(files, name, filepath.Join(to, within))
		done += n
		progress(done, all)
		return err
	})
}

func copyFile(files fs.FS, from, to string) (int64, error) {
	in, err := files.Open(from)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(out, in)
	return n, errors.Join(err, out.Sync(), out.Close())
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
