package pebblestore

import (
	"math"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// logFile is a log file with zeros written ahead of its records. When a file grows, the file
// system must allocate blocks and sync the inode: syncing appended data costs twice as much as
// syncing overwritten data. So whenever the log reaches the end of the file, zeros are
// appended, which the next records overwrite. Pebble reads a log up to the first invalid
// record, as in a reused log file.
type logFile struct {
	vfs.File
	end   int64 // end of the records
	ahead int64 // end of the allocated blocks
	zeros [aheadPage]byte
}

const (
	// aheadSize is how many zeros are written at once: enough for about forty commits under
	// full load, and few enough to be synced with one of them.
	aheadSize = 512 << 10
	// aheadPage is how many zeros one call writes. The kernel may keep the data of one call as
	// one large folio, and check all its blocks for each record in it.
	aheadPage = 4 << 10
)

// newLogFile wraps a log file that is new or will be overwritten.
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

// extend writes the zeros. If that fails, the log continues without zeros: a persistent error
// will also affect the log's own writes.
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
