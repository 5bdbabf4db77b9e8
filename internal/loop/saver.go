package loop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"wamble/internal/store"
)

// A saver writes the restart file of a life, again and again: the loop takes one
// slice of the profile's memory at a time between its steps, and a goroutine writes
// them. The file may cost a part of the processor's time in savePart, or in hurryPart
// while a start would have to replay a long tail of the journal, and is not written more
// often than every saveEvery. No slice holds up the loop for longer than a step does.
type saver struct {
	rt    *Runtime
	life  *life
	due   time.Time // when to look whether the next file, or the next slice of this one, is due
	work  *saving   // under way; nil: none
	saved uint64    // newest gate in the last file that is whole
	spent time.Duration
	spare chan []byte // memory of slices
	last  reminder

	// Of the last file:
	ended time.Time
	cost  time.Duration
	first uint64 // the message behind which a start replays the journal
	heard []byte // see heardOthers
}

const (
	savePart   = 50
	hurryPart  = 10
	deafFor    = time.Minute // that a file of a profile in which nothing happens may not know what others have decided
	longTail   = 100_000     // messages: a quarter of a second of a start
	saveEvery  = time.Second
	rarelySave = 10 * time.Minute
	sliceSize  = 128 << 10             // a quarter of a millisecond of the loop
	sliceEvery = 10 * time.Millisecond // at most one
	sliceQueue = 16                    // slices that wait for journal or disk
)

// worth reports whether another file is worth its cost, when a start would replay so
// many messages behind the last one.
func (s *saver) worth(now time.Time, tail uint64) bool {
	part := time.Duration(savePart)
	if tail > longTail {
		part = hurryPart
	}
	return now.Sub(s.ended) >= min(max(part*s.cost, saveEvery), rarelySave)
}

// idle reports whether the last file serves as well as another one would.
func (s *saver) idle(now time.Time, last uint64) bool {
	return last == s.saved && s.saved != 0 && (now.Sub(s.ended) < deafFor || bytes.Equal(s.heard, s.rt.heardOthers()))
}

// tail is how many messages a start would replay.
func (s *saver) tail() uint64 {
	if last := s.rt.drain.Load().Last(); last > s.first {
		return last - s.first
	}
	return 0
}

// saving is one file under way.
type saving struct {
	next   func() ([]byte, bool)
	stop   func()
	cancel context.CancelFunc // of its writing
	gate   uint64
	heard  []byte // of others before the first slice; nil: it is in the queue, or unknown
	slices chan queuedSlice
	over   chan savedFile // holds how it ended
	ended  bool           // all slices are in the queue
}

type queuedSlice struct {
	memorySlice
	marked chan uint64
}

// savedFile is what came of a file: the first mark in it, what it cost beside the
// loop's part, and why it was not written.
type savedFile struct {
	first uint64
	took  time.Duration
	err   error
}

func newSaver(rt *Runtime, l *life, now time.Time) *saver {
	return &saver{rt: rt, life: l, due: now.Add(saveEvery), ended: now, first: rt.drain.Load().Last(), spare: make(chan []byte, sliceQueue+2)}
}

// restartPath is where the restart file of the profile is, "" if there is none.
func (rt *Runtime) restartPath() string {
	d := rt.drain.Load()
	if rt.o.RestartDir == "" || d == nil {
		return ""
	}
	return filepath.Join(rt.o.RestartDir, strconv.FormatUint(uint64(d.Worker()), 10))
}

// turn does what is due, between two steps. Last is the newest gate.
func (s *saver) turn(now time.Time, last uint64) {
	if now.Before(s.due) {
		return
	}
	switch {
	case s.work == nil && (s.rt.restartPath() == "" || s.life.profile.Adopting() || s.idle(now, last) || !s.worth(now, s.tail())):
		s.due = now.Add(saveEvery)
	case s.work == nil:
		s.begin(last)
		s.due = now
	case s.work.ended:
		s.due = now.Add(sliceEvery)
		select {
		case end := <-s.work.over:
			s.end(now, end)
		default:
		}
	default:
		s.due = now.Add(sliceEvery)
		s.slice()
	}
}

// begin begins a new file. What the store has from now on must be kept for it.
func (s *saver) begin(last uint64) {
	drain := s.rt.drain.Load()
	drain.NeedAlso(drain.Applied())
	s.heard = s.rt.heardOthers() // the news are in the mail, which is taken before the first slice
	w := &saving{gate: last, heard: s.heard, slices: make(chan queuedSlice, sliceQueue), over: make(chan savedFile, 1)}
	w.next, w.stop = iter.Pull(s.life.profile.Walk(sliceSize, func() []byte {
		select {
		case b := <-s.spare:
			return b[:0]
		default:
			return make([]byte, 0, sliceSize+sliceSize/8)
		}
	}))
	s.work, s.spent = w, 0
	path := s.rt.restartPath()
	ctx, cancel := context.WithCancel(s.rt.ctx)
	w.cancel = cancel
	s.rt.guard("the restart file", func() {
		defer cancel()
		w.over <- s.write(ctx, path, w.slices)
	})
}

// slice takes the next slice, if the writer keeps up.
func (s *saver) slice() {
	if len(s.work.slices) == cap(s.work.slices) {
		return
	}
	began := time.Now()
	data, more := s.work.next()
	if !more {
		close(s.work.slices)
		s.work.ended = true
		return
	}
	s.queue(data)
	if heard := s.work.heard; heard != nil {
		s.work.heard = nil
		s.queue(bytes.Clone(heard))
	}
	s.spent += time.Since(began)
}

func (s *saver) queue(data []byte) {
	_, ahead := s.life.profile.Now()
	q := queuedSlice{memorySlice{ahead: ahead, data: data}, make(chan uint64, 1)}
	s.life.commit.mark(func(seq uint64) { q.marked <- seq })
	s.work.slices <- q
}

// write writes a file of the slices that come.
func (s *saver) write(ctx context.Context, path string, slices <-chan queuedSlice) (end savedFile) {
	w, err := createRestartFile(path, store.JournalID(s.rt.journal().Runner.JournalID()), s.rt.o.Name)
	for n := 0; ; n++ {
		var q queuedSlice
		var more bool
		select {
		case <-ctx.Done():
			more, err = false, ctx.Err()
		case q, more = <-slices:
		}
		if more {
			select {
			case <-ctx.Done():
				err = ctx.Err()
			case q.mark = <-q.marked:
			}
		}
		if !more || ctx.Err() != nil {
			break
		}
		if n == 0 {
			end.first = q.mark
		}
		began := time.Now()
		if err == nil {
			err = w.add(q.memorySlice)
		}
		end.took += time.Since(began)
		select {
		case s.spare <- q.data:
		default:
		}
	}
	switch {
	case w == nil:
	case err == nil:
		err = w.finish()
	default:
		w.drop()
	}
	end.err = err
	return end
}

// end takes note of a file that was written, or was not.
func (s *saver) end(now time.Time, end savedFile) {
	drain, w := s.rt.drain.Load(), s.work
	s.work = nil
	s.due, s.ended, s.cost = now.Add(saveEvery), now, s.spent+end.took
	if end.err != nil {
		if s.last.due(now) {
			s.rt.o.Log.Warn("what is in memory cannot be written; after a crash the start reads the database", "err", end.err)
		}
		s.rt.forgetRestartFile()
		return
	}
	s.saved, s.first = w.gate, end.first
	drain.Need(end.first)
}

// close gives up the file that is under way.
func (s *saver) close() {
	if s.work != nil {
		s.work.stop()
		s.work.cancel()
		s.work = nil
	}
}

// forgetRestartFile removes the file, and needs nothing for it.
func (rt *Runtime) forgetRestartFile() {
	if path := rt.restartPath(); path != "" {
		os.Remove(path)
		rt.drain.Load().NeedNothing()
	}
}

// forgotten makes sure that no restart file is there, even after a loss of power.
func (rt *Runtime) forgotten() error {
	path := rt.restartPath()
	if path == "" {
		return nil
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the restart file %s cannot be removed", path)
	}
	dir, err := os.Open(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}
