package pebblestore

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"

	"wamble/runner"
)

// Loss is what Salvage could not copy.
type Loss struct {
	// Log is the damaged log, "" if nothing was damaged.
	Log string
	// At is the position of the damage and Size the size of the log, in bytes.
	At, Size int64
	// Later are the logs after it, which are lost too.
	Later []string
	// Missing is how many acknowledged writes are not in the logs, if no log was damaged: the
	// end of one was cut off.
	Missing uint64
}

// Salvage copies what can be read into the directory to, which must not exist. The old
// directory is not changed. Everything committed before the damage of a log is copied, and
// nothing after it, because that depends on what is missing. A damaged table cannot be
// salvaged.
func (s *Storage) Salvage(to string) (Loss, error) {
	if _, err := s.fs.Stat(to); err == nil {
		return Loss{}, fmt.Errorf("%s: %w", to, runner.ErrExists)
	}
	lock, err := s.lock()
	if err != nil {
		return Loss{}, err
	}
	err = copyDir(s.fs, s.dir, to)
	if err = errors.Join(err, lock.Close()); err != nil {
		return Loss{}, fmt.Errorf("copy %s: %w", s.dir, err)
	}
	copied := at(s.fs, to, Options{Durability: s.durability})
	err = copied.try()
	if missing := copied.Lost(); err == nil && missing > 0 {
		return Loss{Missing: missing}, errors.Join(s.fs.Remove(s.fs.PathJoin(to, markFile)), syncDir(s.fs, to))
	}
	if err == nil || !errors.Is(err, runner.ErrDamaged) {
		return Loss{}, err
	}
	loss, cutErr := cutLogs(s.fs, to)
	if cutErr != nil {
		return loss, cutErr
	}
	if loss.Log == "" {
		return loss, err // the damage is not in a log
	}
	return loss, copied.try()
}

// try opens the storage and closes it.
func (s *Storage) try() error {
	b, err := s.Open(func(error) {})
	if err != nil {
		return err
	}
	return b.Close()
}

// cutLogs truncates the first damaged log in dir before the damage, and removes the logs after
// it. The end of the newest may be torn.
func cutLogs(fs vfs.FS, dir string) (Loss, error) {
	names, err := logNames(fs, dir)
	if err != nil {
		return Loss{}, err
	}
	for i, name := range names {
		path := fs.PathJoin(dir, name)
		good, size, err := readLog(fs, path, logNumber(name), i == len(names)-1)
		if err != nil {
			return Loss{}, err
		}
		if int64(len(good)) == size {
			continue
		}
		loss := Loss{Log: name, At: int64(len(good)), Size: size, Later: names[i+1:]}
		file, err := fs.Create(path, vfs.WriteCategoryUnspecified)
		if err != nil {
			return loss, err
		}
		_, err = file.Write(good)
		if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
			return loss, err
		}
		for _, later := range loss.Later {
			err = errors.Join(err, fs.Remove(fs.PathJoin(dir, later)))
		}
		if mark := fs.PathJoin(dir, markFile); exists(fs, mark) { // the mark names removed writes
			err = errors.Join(err, fs.Remove(mark))
		}
		if bridge := fs.PathJoin(dir, bridgeFile); exists(fs, bridge) {
			loss.Later = append(loss.Later, bridgeFile)
			err = errors.Join(err, fs.Remove(bridge))
		}
		return loss, errors.Join(err, syncDir(fs, dir))
	}
	return Loss{}, nil
}

func exists(fs vfs.FS, name string) bool {
	_, err := fs.Stat(name)
	return err == nil
}

// newReader returns a reader of a log's records. The type of its number is internal to Pebble.
func newReader[N ~uint64](open func(io.Reader, N) *record.Reader, log []byte, number uint64) *record.Reader {
	return open(bytes.NewReader(log), N(number))
}

// readLog returns the valid beginning of a log: all of it if it is not damaged.
func readLog(fs vfs.FS, path string, number uint64, newest bool) (good []byte, size int64, err error) {
	file, err := fs.Open(path)
	if err != nil {
		return nil, 0, err
	}
	all, err := io.ReadAll(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, 0, err
	}
	r := newReader(record.NewReader, all, number)
	for {
		at := r.Offset()
		rec, err := r.Next()
		if err == nil {
			_, err = io.Copy(io.Discard, rec)
		}
		switch {
		case err == nil:
			continue
		case errors.Is(err, io.EOF), newest && errors.Is(err, record.ErrUnexpectedEOF):
			return all, int64(len(all)), nil
		case errors.Is(err, record.ErrInvalidChunk), errors.Is(err, record.ErrZeroedChunk), errors.Is(err, record.ErrUnexpectedEOF): // possibly wrapped
			return all[:at], int64(len(all)), nil
		}
		return nil, 0, err
	}
}
