package runner

// Storage is the durable store of a runner, and the engine's only access to it. Package
// pebblestore keeps one in a directory; memstore one in memory. A Storage opens at most one
// Backend at a time. The storage decides what the name of a checkpoint means, a directory or a
// row.
type Storage interface {
	// Open locks the storage and opens it, creating it if it is empty. It returns ErrLocked
	// while another backend is open. onFail is called at most once, from any goroutine, when
	// the backend can no longer meet its guarantees; it must return quickly.
	Open(onFail func(error)) (Backend, error)
	// OpenReadOnly opens the storage for reading: no batch of the backend is ever committed,
	// and Flush is not called. It returns ErrNoSchema if the storage is empty.
	OpenReadOnly(onFail func(error)) (Backend, error)
	// Restore replaces the whole content by a checkpoint. The storage must not be open. prepare
	// gets the copy of the checkpoint before the copy replaces the old content, atomically: if
	// Restore or prepare fails, the old content is unchanged.
	Restore(checkpoint string, prepare func(Backend) error) error
}

// Backend is an open Storage: an ordered map of byte keys with atomic batches. Reads may come
// from any goroutine, batches from one.
type Backend interface {
	// Reader reads the current state.
	Reader
	// View returns a stable snapshot, which must be closed.
	View() View
	// Batch returns an empty batch.
	Batch() Batch
	// Flush writes out what the next Open would have to replay, so that the next Open is fast.
	Flush() error
	// Checkpoint makes a consistent copy under an unused name.
	Checkpoint(name string) error
	// Free returns the free space in bytes, without what the storage needs for its present
	// content; math.MaxUint64 if it is unknown.
	Free() (uint64, error)
	// Shrink releases space that is used beyond the stored content. It is called after a while
	// without commits and when there is little space, from any goroutine, perhaps during or
	// after Close.
	Shrink() error
	// Close releases the storage. After a failure it abandons what it cannot write, and
	// guarantees that this backend writes nothing later.
	Close() error
}

// Weighed is a Backend that reports its memory.
type Weighed interface {
	// Memory returns the bytes of unwritten data and of caches. It varies with the commits, up
	// to a bound of the storage.
	Memory() uint64
}

// Lossy is a Backend that notices when its storage has lost something.
type Lossy interface {
	// Lost returns how many acknowledged writes were missing when the backend was opened, and
	// whether they should have survived whatever happened.
	Lost() (writes uint64, durable bool)
}

// Patient is a Backend whose commits may wait for space on a full disk.
type Patient interface {
	// Hurry says that Close follows: waiting commits fail soon, and the backend with them. A
	// commit may be in progress.
	Hurry()
}

// Reader reads an ordered map.
type Reader interface {
	// Get appends a copy of the value to dst, and reports whether the key exists.
	Get(dst, key []byte) ([]byte, bool, error)
	// Scan visits [lo, hi) in ascending order until visit returns false. The slices are valid
	// only during the call.
	Scan(lo, hi []byte, visit func(key, value []byte) bool) error
}

// View is a stable snapshot of a Backend.
type View interface {
	Reader
	Close() error
}

// Batch collects writes that become visible and durable together. Keys and
// values are copied.
type Batch interface {
	Set(key, value []byte)
	Delete(key []byte)
	// Len returns about how many bytes were collected so far.
	Len() int
	// Commit applies the batch and returns when it is as durable as the storage is configured
	// to make it. The batch is empty afterwards. After an error the backend has failed, and the
	// batch is not used again.
	Commit() error
}
