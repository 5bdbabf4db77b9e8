package runner

// Storage is where a runner lives: the engine's only view of what is durable.
// Package pebblestore keeps one in a directory; memstore one in
// memory. A Storage opens at most one Backend at a time. What names a
// checkpoint, a directory or a row, is the storage's own affair.
type Storage interface {
	// Open locks the storage and opens it, creating it when it is empty. It
	// returns ErrLocked while another backend is open. onFail is called at
	// most once, from any goroutine, when the backend can no longer promise
	// anything; it must return quickly.
	Open(onFail func(error)) (Backend, error)
	// OpenReadOnly is Open for a look that changes nothing: no batch of the
	// backend is ever committed, and Flush is not called. It returns
	// ErrNoSchema when there is nothing in the storage.
	OpenReadOnly(onFail func(error)) (Backend, error)
	// Restore replaces the whole content by a checkpoint. The storage must
	// not be open. The copy of the checkpoint is given to prepare before it
	// takes the place of the old content, at once or not at all: if Restore or
	// prepare fails, the old content is still there.
	Restore(checkpoint string, prepare func(Backend) error) error
}

// Backend is an open Storage: an ordered map of byte keys with atomic batches,
// all that the engine asks of a store. Reads may come from any goroutine;
// batches from one.
type Backend interface {
	// Reader reads the present state.
	Reader
	// View returns a stable snapshot; close it.
	View() View
	// Batch returns an empty batch.
	Batch() Batch
	// Flush writes out what the next Open would have to replay, so that it has
	// little to do.
	Flush() error
	// Checkpoint makes a consistent copy under a name that is not in use yet.
	Checkpoint(name string) error
	// Free returns how many bytes there is room for, without what the storage
	// needs for what it holds already; math.MaxUint64 when nobody can tell.
	Free() (uint64, error)
	// Shrink gives back room that is taken beyond what is stored. It is called
	// when nothing was committed for a while and when there is little room, from
	// any goroutine, perhaps while or after Close is.
	Shrink() error
	// Close releases the storage. After a failure it gives up what it cannot
	// write, and guarantees that nothing of this backend is written later.
	Close() error
}

// Weighed is a Backend that can tell how much memory it holds.
type Weighed interface {
	// Memory returns the bytes of what waits to be written out, and of caches. It
	// comes and goes with what is committed, up to a bound of the storage.
	Memory() uint64
}

// Patient is a Backend whose commits may wait, for room on a full disk.
type Patient interface {
	// Hurry says that Close comes next: what waits fails soon, and the backend with
	// it. A commit may be under way.
	Hurry()
}

// Reader reads an ordered map.
type Reader interface {
	// Get returns a copy of the value, appended to dst, and whether it exists.
	Get(dst, key []byte) ([]byte, bool, error)
	// Scan visits [lo, hi) upwards until visit returns false. The slices are
	// valid only during the call.
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
	// Len is the number of bytes collected so far, about.
	Len() int
	// Commit applies the batch and returns when it is as durable as the
	// storage was asked to make it. The batch is empty afterwards. After an
	// error the backend has failed, and the batch is not used again.
	Commit() error
}
