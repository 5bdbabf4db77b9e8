package pebblestore

import (
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"wamble/runner"
)

// AtFS is At on a file system that crashes or fails.
func AtFS(fs vfs.FS, dir string, o Options) *Storage { return at(fs, dir, o) }

// SmallTables makes memtables that are soon full.
func (s *Storage) SmallTables(size uint64, count int) { s.memSize, s.memCount = size, count }

// Stalls returns a channel that is closed when a commit waits for memtables to be
// flushed.
func (s *Storage) Stalls() <-chan struct{} {
	stalled := make(chan struct{})
	once := sync.OnceFunc(func() { close(stalled) })
	s.stalls = func(pebble.WriteStallBeginInfo) { once() }
	return stalled
}

// Owed returns what flushes of b may have to write.
func Owed(b runner.Backend) uint64 { return b.(*backend).fence.room.owed() }
