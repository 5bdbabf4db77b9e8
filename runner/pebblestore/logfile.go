package pebblestore

import (
	"math"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// logFile is a log file with zeros written ahead of its records. When a file
// grows, the file system has to find blocks and to sync the inode: syncing what
// was appended costs twice as much as syncing what was overwritten. So whenever
// the log reaches the end of the file, zeros are appended, to be overwritten by
// the records that follow. Pebble reads a log up to the first invalid record, as
// it does in a log file that it has reused.
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
	// aheadPage is how many zeros one call writes. The kernel may keep what one
	// call writes as one large folio, and look at all its blocks for each record
	// that falls into it.
	aheadPage = 4 << 10
)

// newLogFile wraps a log file that is new or to be overwritten.
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

// extend writes the zeros. If that fails, the log goes on without zeros: an error
// that lasts will meet the log's own writes.
func (f *logFile) extend() {
	at := (f.end + aheadPage - 1) &^ (aheadPage - 1)
	for end := at + aheadSize; at < end; at += aheadPage {
		clear(f.zeros[:]) // a vfs.File may change the bytes it is given
		if _, err := f.File.WriteAt(f.zeros[:], at); err != nil {
			f.ahead = math.MaxInt64
			return
		}
	}
	f.ahead = at
}
