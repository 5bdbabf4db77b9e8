package pebblestore

import (
	"math"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// logFile is a log that is written ahead of itself. A file system has to find
// blocks for what a file grows by, and to sync its inode with it: a sync of what
// was appended costs twice as much as one of what was overwritten. So whenever
// the log has come to its end, zeros are written behind it, to be overwritten by
// what follows. Pebble reads a log to the first record that is none of its own,
// as it does where it has reused an old log.
type logFile struct {
	vfs.File
	end   int64 // of what was written
	ahead int64 // the file has blocks up to here
	zeros [aheadPage]byte
}

const (
	// aheadSize is how many zeros are written at once: enough for some forty commits
	// under full load, and little enough to be synced with one of them.
	aheadSize = 512 << 10
	// aheadPage is how many are written with one call. The kernel keeps what is
	// written at once as one piece, and of a large one looks at every block for each
	// record that falls into it.
	aheadPage = 4 << 10
)

// newLogFile returns a log, which is new or to be overwritten.
func newLogFile(f vfs.File) (vfs.File, error) {
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	return &logFile{File: f, ahead: info.Size()}, nil
}

func (f *logFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	f.end += int64(n)
	if err == nil && f.end > f.ahead {
		f.extend()
	}
	return n, err
}

// extend writes the zeros. Where that fails the log goes on without: what stands
// against it will be met by the log itself.
func (f *logFile) extend() {
	at := (f.end + aheadPage - 1) &^ (aheadPage - 1)
	for end := at + aheadSize; at < end; at += aheadPage {
		clear(f.zeros[:]) // whoever writes a file for Pebble may change what it is given
		if _, err := f.File.WriteAt(f.zeros[:], at); err != nil {
			f.ahead = math.MaxInt64
			return
		}
	}
	f.ahead = at
}
