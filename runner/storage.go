package runner

// Storage is where a runner lives: it opens backends, one at a time. Pebble
// makes the real one; runnertest.NewMemory a second that proves the seam.
type Storage interface {
	// Open locks the storage and opens it, creating it when it is empty.
	// onFail is called at most once, from any goroutine, when the backend can
	// no longer promise anything; it must return quickly.
	Open(onFail func(error)) (Backend, error)
	// Restore replaces the whole content by a checkpoint. The storage must
	// not be open. If it fails, the old content is still there.
	Restore(checkpoint string) error
}

// Backend is an ordered map of byte keys with atomic batches: all that the
// runner asks of a store. Reads may come from any goroutine; batches from one.
type Backend interface {
	// View returns a stable snapshot; close it.
	View() View
	// Get returns a copy of the value, appended to dst, and whether it exists.
	Get(dst, key []byte) ([]byte, bool, error)
	// Scan visits [lo, hi) upwards in the present state until visit returns
	// false. The slices are valid only during the call.
	Scan(lo, hi []byte, visit func(key, value []byte) bool) error
	// Batch returns an empty batch.
	Batch() Batch
	// Flush moves what only the log holds into tables, so that the next Open
	// has little to replay.
	Flush() error
	// Checkpoint writes a consistent copy to a place that does not exist yet.
	Checkpoint(to string) error
	// Free returns the bytes that are left for it.
	Free() (uint64, error)
	// Close releases the storage. After a failure it gives up what it cannot
	// write, and guarantees that nothing of this backend is written later.
	Close() error
}

// View is a stable snapshot of a Backend.
type View interface {
	Get(dst, key []byte) ([]byte, bool, error)
	Scan(lo, hi []byte, visit func(key, value []byte) bool) error
	Close() error
}

// Batch collects writes that become visible and durable together. Keys and
// values are copied.
type Batch interface {
	Set(key, value []byte)
	Delete(key []byte)
	// Len is the number of bytes collected so far, about.
	Len() int
	// Commit applies the batch and returns when it is as durable as the
	// storage was asked to make it. The batch is empty afterwards.
	Commit() error
	// Reset drops what was collected.
	Reset()
}
