package pebblestore

import (
	"errors"
	"strings"
	"sync/atomic"
)

// names is what the fence knows of the names in Pebble's directory: whether some
// of them are not durable yet.
//
// While Pebble opens it syncs its directory after every single step, one sync
// after the other, and whoever waits for the journal waits for them all. So until
// it is open a sync of the directory is left to the next sync of a file, beside
// which it is done. What an order must hold for is seen to here:
//
//   - a marker appears only after the manifest that it names is durable;
//   - a log appears only after the marker of the manifest that makes the logs
//     before it obsolete: Pebble forgives the last log an end that is none;
//   - nothing is removed, but for the marker before, while a name that came
//     during the opening is not durable: what is removed may be what a crash
//     would fall back to;
//   - the log is durable by name before anything in it is acknowledged.
type names struct {
	came   atomic.Uint64 // names that have come
	safe   atomic.Uint64 // as many of them are durable
	log    atomic.Uint64 // which of them the newest log is
	opened atomic.Uint64 // how many had come when Pebble was open; 0: it is not
}

// note notes that a name in the directory has come, perhaps.
func (f *fencedFS) note(name string) {
	if !f.within(name) {
		return
	}
	n := f.names.came.Add(1)
	if isLog(name) {
		f.names.log.Store(n)
	}
}

func isLog(name string) bool { return strings.HasSuffix(name, ".log") }

// syncNames makes all names durable.
func (f *fencedFS) syncNames() error {
	n := f.names.came.Load()
	if err := syncDir(f.FS, f.dir); err != nil {
		return err
	}
	for {
		safe := f.names.safe.Load()
		if safe >= n || f.names.safe.CompareAndSwap(safe, n) {
			return nil
		}
	}
}

// syncNamesTo makes names durable if some of the first n are not.
func (f *fencedFS) syncNamesTo(n uint64) error {
	if f.names.safe.Load() >= n {
		return nil
	}
	return f.syncNames()
}

// beside syncs a file of Pebble that opens, and the names at the same time.
func (f *fencedFS) beside(sync func() error) error {
	named := make(chan error, 1)
	go func() { named <- f.syncNamesTo(f.names.came.Load()) }()
	return errors.Join(sync(), <-named)
}

// beforeRemoval makes durable what must be before a name goes.
func (f *fencedFS) beforeRemoval(name string) error {
	if !f.within(name) || isMarker(f.PathBase(name)) {
		return nil
	}
	if f.opening() {
		return f.syncNamesTo(f.names.came.Load())
	}
	return f.syncNamesTo(f.names.opened.Load())
}

func (f *fencedFS) opening() bool { return f.names.opened.Load() == 0 }

// within reports whether a name is one in Pebble's directory, and is whether it
// is that directory.
func (f *fencedFS) within(name string) bool { return f.PathDir(name) == f.clean(f.dir) }
func (f *fencedFS) is(name string) bool     { return f.clean(name) == f.clean(f.dir) }

func (f *fencedFS) clean(dir string) string { return f.PathDir(f.PathJoin(dir, "x")) }

func isMarker(base string) bool { return strings.HasPrefix(base, "marker.") }
