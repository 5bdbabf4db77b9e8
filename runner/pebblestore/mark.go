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

// The mark is a small file with the last acknowledged write, as one of Pebble's sequence
// numbers: to Pebble, a log that is truncated, or damaged near its end, looks like one whose end
// was never synced. The mark is written after the commit, before its acknowledgement, so that it
// never names a write that is not durable, and without a sync: after a power loss it may be too
// low. Without Fsync it is written rarely, and so may be too low by markEvery.
//
//	sequence number 8, CRC-32C 4 of it, in little endian
const (
	markFile  = "mark"
	markSize  = 12
	markEvery = 20 * time.Millisecond
)

type mark struct {
	each bool       // it is written with every commit
	lost uint64     // number of writes that were missing at the open
	mu   sync.Mutex // guards file and told
	file vfs.File   // nil if it could not be opened
	told uint64
	// The committing goroutine uses the fields below.
	seq uint64
	at  time.Time
}

// openMark compares the mark with Pebble's content, and counts the writes that are missing. From
// the next commit on the mark is written again.
func (s *Storage) openMark(b *backend) error {
	var next uint64
	err := b.await(func() error { // a Pebble that fails may never answer
		probe := b.db.NewBatch()
		defer func() { _ = probe.Close() }()
		err := errors.Join(probe.LogData([]byte{0}, nil), probe.Commit(pebble.NoSync))
		next = uint64(probe.SeqNum())
		return err
	})
	if err != nil {
		return err
	}
	if was := s.readMark(); was >= next {
		b.mark.lost = was - next + 1
	}
	s.lost.Store(b.mark.lost)
	b.mark.each = s.durability == Fsync
	b.mark.file, _ = s.fs.OpenReadWrite(s.fs.PathJoin(s.dir, markFile), vfs.WriteCategoryUnspecified)
	return nil
}

// readMark returns the last acknowledged sequence number, 0 if it is unknown.
func (s *Storage) readMark() uint64 {
	file, err := s.fs.Open(s.fs.PathJoin(s.dir, markFile))
	if err != nil {
		return 0
	}
	defer func() { _ = file.Close() }()
	text := make([]byte, markSize)
	if _, err := io.ReadFull(file, text); err != nil ||
		crc32.Checksum(text[:8], castagnoli) != binary.LittleEndian.Uint32(text[8:]) {
		return 0
	}
	return binary.LittleEndian.Uint64(text)
}

// note records a commit, and writes the mark, every markEvery without Fsync.
func (b *backend) note(last uint64) {
	b.mark.seq = last
	if b.mark.each {
		b.tellMark(last)
	} else if now := time.Now(); now.Sub(b.mark.at) >= markEvery {
		b.mark.at = now
		b.tellMark(last)
	}
}

// tellMark writes the mark. Its error is ignored: Pebble's own writes meet it too.
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

// closeMark writes the mark a last time. There must be no more commits.
func (b *backend) closeMark() {
	b.tellMark(b.mark.seq)
	b.mark.mu.Lock()
	defer b.mark.mu.Unlock()
	if b.mark.file != nil {
		_ = b.mark.file.Close()
		b.mark.file = nil
	}
}

// Lost returns how many acknowledged writes were missing at the last open, because a log was
// truncated. It is also 0 if that is unknown.
func (s *Storage) Lost() uint64 { return s.lost.Load() }

// Lost implements runner.Lossy.
func (b *backend) Lost() (writes uint64, durable bool) { return b.mark.lost, b.mark.each }
