package pebblestore

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// The mark is a small file that says how far the storage was acknowledged, by
// Pebble's own sequence numbers: a log that was cut short looks to Pebble like one
// whose end was never synced. It is written after the commit that it tells of, so that
// it never says more than was durable, and rarely, and never synced: it costs a commit
// nothing, and may say too little after a loss of power.
//
//	sequence number 8, CRC-32C 4 of it, in little endian
const (
	markFile  = "mark"
	markSize  = 12
	markEvery = 20 * time.Millisecond
)

type mark struct {
	mu   sync.Mutex // guards file and told
	file vfs.File   // nil: none could be opened
	told uint64
	// What follows belongs to whoever commits.
	seq uint64
	at  time.Time
}

// openMark compares the mark with what Pebble has, and returns how many writes are
// missing. From now on it is written anew.
func (s *Storage) openMark(b *backend) (lost uint64, err error) {
	var next uint64
	err = b.await(func() error { // a Pebble that fails may never answer
		probe := b.db.NewBatch()
		defer func() { _ = probe.Close() }()
		err := errors.Join(probe.LogData([]byte{0}, nil), probe.Commit(pebble.NoSync))
		next = uint64(probe.SeqNum())
		return err
	})
	if err != nil {
		return 0, err
	}
	if was := s.readMark(); was >= next {
		lost = was - next + 1
	}
	b.mark.file, _ = s.fs.OpenReadWrite(s.fs.PathJoin(s.dir, markFile), vfs.WriteCategoryUnspecified)
	return lost, nil
}

// readMark returns the last sequence number that was acknowledged, 0 if that is unknown.
func (s *Storage) readMark() uint64 {
	file, err := s.fs.Open(s.fs.PathJoin(s.dir, markFile))
	if err != nil {
		return 0
	}
	defer func() { _ = file.Close() }()
	text := make([]byte, markSize)
	if _, err := io.ReadFull(file, text); err != nil || crc32.Checksum(text[:8], castagnoli) != binary.LittleEndian.Uint32(text[8:]) {
		return 0
	}
	return binary.LittleEndian.Uint64(text)
}

// note takes note of a commit.
func (b *backend) note(last uint64) {
	b.mark.seq = last
	if now := time.Now(); now.Sub(b.mark.at) >= markEvery {
		b.mark.at = now
		b.tellMark(last)
	}
}

// tellMark writes the mark. Whoever cannot write it has other troubles.
func (b *backend) tellMark(seq uint64) {
	b.mark.mu.Lock()
	defer b.mark.mu.Unlock()
	if b.mark.file == nil || seq <= b.mark.told {
		return
	}
	b.mark.told = seq
	text := binary.LittleEndian.AppendUint64(make([]byte, 0, markSize), seq)
	text = binary.LittleEndian.AppendUint32(text, crc32.Checksum(text, castagnoli))
	_ = b.fence.lenient(func() error {
		_, err := b.mark.file.WriteAt(text, 0)
		return err
	})
}

// closeMark writes the mark the last time. Nobody commits any more.
func (b *backend) closeMark() {
	b.tellMark(b.mark.seq)
	b.mark.mu.Lock()
	defer b.mark.mu.Unlock()
	if b.mark.file != nil {
		_ = b.mark.file.Close()
		b.mark.file = nil
	}
}

// Lost returns how many writes that were acknowledged were missing when the storage was
// opened last: a log was cut short. 0 is also when nobody knows.
func (s *Storage) Lost() uint64 { return s.lost.Load() }
