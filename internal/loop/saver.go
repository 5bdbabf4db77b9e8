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

// saver writes the restart file of an instance again and again: the loop takes one slice of the profile's memory
// at a time between its steps, and a goroutine writes the slices. A file may cost one part in savePart of
// the processor's time, or one in urgentPart while a start would have to replay a long tail of the journal.
// It is not written more often than every saveEvery. No slice holds up the loop longer than a step does.
type saver struct {
	rt       *Runtime
	instance *instance
	due      time.Time // when turn has something to do again
	work     *saving   // nil if no file is under way
	saved    uint64    // newest durable index in the last complete file
	spent    time.Duration
	spare    chan []byte // memory of slices
	last     reminder

	// Of the last file:
	ended      time.Time
	cost       time.Duration
	first      uint64 // a start replays the journal behind this message
	seenOthers []byte // see seenOthers
}

const (
	savePart        = 50
	urgentPart      = 10
	maxUnseenEvents = time.Minute // how long the file of an idle profile may lack the changes of other profiles
	longTail        = 100_000     // messages: a quarter of a second of a start
	saveEvery       = time.Second
	rarelySave      = 10 * time.Minute
	sliceSize       = 128 << 10             // a quarter of a millisecond of the loop
	sliceEvery      = 10 * time.Millisecond // shortest time between two slices
	sliceQueue      = 16                    // slices that wait for journal or disk
)

// worth reports whether another file is worth its cost, if a start would replay tail messages behind the
// last one.
func (s *saver) worth(now time.Time, tail uint64) bool {
	part := time.Duration(savePart)
	if tail > longTail {
		part = urgentPart
	}
	return now.Sub(s.ended) >= min(max(part*s.cost, saveEvery), rarelySave)
}

// idle reports whether the last file is as good as a new one.
func (s *saver) idle(now time.Time, last uint64) bool {
	return last == s.saved && s.saved != 0 && (now.Sub(s.ended) < maxUnseenEvents ||
		bytes.Equal(s.seenOthers, s.rt.seenOthers()))
}

// tail returns how many messages a start would replay.
func (s *saver) tail() uint64 {
	if last := s.rt.drain.Load().Last(); last > s.first {
		return last - s.first
	}
	return 0
}

// saving is one file under way.
type saving struct {
	next         func() ([]byte, bool)
	stop         func()
	cancel       context.CancelFunc // ends its writing
	durableIndex uint64
	seenOthers   []byte // positions of the other profiles; nil once it is queued, or if unknown
	slices       chan queuedSlice
	result       chan savedFile // receives the result
	ended        bool           // all slices are queued
}

type queuedSlice struct {
	memorySlice
	seqKnown chan uint64
}

// savedFile is the result of a file: the last message in its first slice, the writer's time for it, and the error if it
// was not written.
type savedFile struct {
	first uint64
	took  time.Duration
	err   error
}

func newSaver(rt *Runtime, inst *instance, now time.Time) *saver {
	return &saver{
		rt: rt, instance: inst, due: now.Add(saveEvery), ended: now, first: rt.drain.Load().Last(),
		spare: make(chan []byte, sliceQueue+2),
	}
}

// restartPath returns the path of the restart file of the profile, "" if restart files are disabled.
func (rt *Runtime) restartPath() string {
	d := rt.drain.Load()
	if rt.o.RestartDir == "" || d == nil {
		return ""
	}
	return filepath.Join(rt.o.RestartDir, strconv.FormatUint(uint64(d.Worker()), 10))
}

// turn does the work that is due, between two steps. Last is the newest durable index.
func (s *saver) turn(now time.Time, last uint64) {
	if now.Before(s.due) {
		return
	}
	switch {
	case s.work == nil && (s.rt.restartPath() == "" || s.idle(now, last) ||
		!s.worth(now, s.tail())):
		s.due = now.Add(saveEvery)
	case s.work == nil:
		s.begin(last)
		s.due = now
	case s.work.ended:
		s.due = now.Add(sliceEvery)
		select {
		case end := <-s.work.result:
			s.end(now, end)
		default:
		}
	default:
		s.due = now.Add(sliceEvery)
		s.slice()
	}
}

// begin begins a new file. Messages that reach the store from now on are kept for it.
func (s *saver) begin(last uint64) {
	drain := s.rt.drain.Load()
	drain.NeedAlso(drain.Applied())
	s.seenOthers = s.rt.seenOthers() // these events are in the mailbox, which is taken before the first slice
	w := &saving{
		durableIndex: last, seenOthers: s.seenOthers, slices: make(chan queuedSlice, sliceQueue),
		result: make(chan savedFile, 1),
	}
	w.next, w.stop = iter.Pull(s.instance.profile.Walk(sliceSize, func() []byte {
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
		w.result <- s.write(ctx, path, w.slices)
	})
}

// slice queues the next slice, unless the writer is behind.
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
	if seen := s.work.seenOthers; seen != nil {
		s.work.seenOthers = nil
		s.queue(bytes.Clone(seen))
	}
	s.spent += time.Since(began)
}

func (s *saver) queue(data []byte) {
	_, ahead := s.instance.profile.Now()
	q := queuedSlice{memorySlice{clockOffset: ahead, data: data}, make(chan uint64, 1)}
	s.instance.commit.onDurable(func(seq uint64) { q.seqKnown <- seq })
	s.work.slices <- q
}

// write writes a file of the slices that arrive.
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
			case q.lastSeq = <-q.seqKnown:
			}
		}
		if !more || ctx.Err() != nil {
			break
		}
		if n == 0 {
			end.first = q.lastSeq
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

// end records the result of a file.
func (s *saver) end(now time.Time, end savedFile) {
	drain, w := s.rt.drain.Load(), s.work
	s.work = nil
	s.due, s.ended, s.cost = now.Add(saveEvery), now, s.spent+end.took
	if end.err != nil {
		if s.last.due(now) {
			s.rt.o.Log.Warn("what is in memory cannot be written; after a crash the start reads the database",
				"err", end.err)
		}
		s.rt.forgetRestartFile()
		return
	}
	s.saved, s.first = w.durableIndex, end.first
	drain.Need(end.first)
}

// close abandons the file that is under way.
func (s *saver) close() {
	if s.work != nil {
		s.work.stop()
		s.work.cancel()
		s.work = nil
	}
}

// forgetRestartFile removes the file, and stops keeping messages for it.
func (rt *Runtime) forgetRestartFile() {
	if path := rt.restartPath(); path != "" {
		os.Remove(path)
		rt.drain.Load().NeedNothing()
	}
}

// forgotten returns an error unless the restart file is gone, durably, even after a loss of power.
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
