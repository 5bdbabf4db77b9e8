package pebblestore_test

import (
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wamble/runner"
)

// logFile is the baseline of the benchmarks: the least that a durable queue in a plain file
// has to do. A message is encoded, as the frame that the runner stores, into the group that
// is being filled; the group gets its length and checksum, is appended and synced; then each
// producer gets the number of its message. Messages posted while a group is on its way to the
// disk are in the next group, as in the runner. The runner does in addition: rows that are
// found by key, leases, counts, checks of free space.
type logFile struct {
	f     *os.File
	fsync bool
	syncs atomic.Uint64 // groups written
	acker *acker        // nil if no consumer takes the messages
	plain bool          // it takes the waiting messages at once, without waiting for further producers
	mu    sync.Mutex
	ready sync.Cond
	next  *fileGroup
	count uint64 // messages posted
	spare [][]byte
	done  bool
	ended chan struct{}
}

// fileGroup is a header of length and checksum, frames, and acknowledgements.
type fileGroup struct {
	bytes   []byte
	acks    []byte // to be written after the frames
	first   uint64 // the number of its first message
	frames  int
	durable chan struct{}
	err     error
}

func (g *fileGroup) empty() bool { return len(g.bytes) == fileHead && len(g.acks) == 0 }

const fileHead = 8

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func newLogFile(b *testing.B, fsync, plain bool) *logFile {
	f, err := os.Create(filepath.Join(b.TempDir(), "log"))
	if err != nil {
		b.Fatal(err)
	}
	l := &logFile{f: f, fsync: fsync, plain: plain, ended: make(chan struct{})}
	l.ready.L = &l.mu
	l.next = l.group()
	go l.commit()
	b.Cleanup(func() {
		l.mu.Lock()
		l.done = true
		l.mu.Unlock()
		l.ready.Signal()
		<-l.ended
		if err := f.Close(); err != nil {
			b.Error(err)
		}
	})
	return l
}

// group returns an empty group; l.mu is held.
func (l *logFile) group() *fileGroup {
	g := &fileGroup{first: l.count, durable: make(chan struct{})}
	if n := len(l.spare); n > 0 {
		g.bytes, l.spare = l.spare[n-1], l.spare[:n-1]
	}
	g.bytes = append(g.bytes[:0], make([]byte, fileHead)...)
	return g
}

// post appends a message and returns its number when it is durable.
func (l *logFile) post(m *runner.Message) (uint64, error) {
	l.mu.Lock()
	g, seq := l.next, l.count
	empty := g.empty()
	var err error
	if g.bytes, err = m.Append(g.bytes); err != nil {
		l.mu.Unlock()
		return 0, err
	}
	g.frames++
	l.count++
	if empty {
		l.ready.Signal()
	}
	l.mu.Unlock()
	<-g.durable
	return seq, g.err
}

// ack appends acknowledgements and returns when they are durable.
func (l *logFile) ack(b []byte) error {
	l.mu.Lock()
	g := l.next
	if g.empty() {
		l.ready.Signal()
	}
	g.acks = append(g.acks, b...)
	l.mu.Unlock()
	<-g.durable
	return g.err
}

func (l *logFile) commit() {
	defer close(l.ended)
	for {
		if !l.plain {
			runtime.Gosched() // as the committer does: the grouping is the same
		}
		l.mu.Lock()
		for l.next.empty() && !l.done {
			l.ready.Wait()
		}
		g := l.next
		l.next = l.group()
		l.mu.Unlock()
		if g.empty() {
			return
		}
		l.syncs.Add(1)
		g.bytes = append(g.bytes, g.acks...)
		binary.LittleEndian.PutUint32(g.bytes, uint32(len(g.bytes)))
		binary.LittleEndian.PutUint32(g.bytes[4:], crc32.Checksum(g.bytes[fileHead:], castagnoli))
		_, g.err = l.f.Write(g.bytes)
		if g.err == nil && l.fsync {
			g.err = unix.Fdatasync(int(l.f.Fd()))
		}
		if l.acker != nil && g.frames > 0 && g.err == nil {
			l.acker.deliver(g)
		} else {
			l.recycle(g)
		}
		close(g.durable)
	}
}

func (l *logFile) recycle(g *fileGroup) {
	l.mu.Lock()
	l.spare = append(l.spare, g.bytes)
	l.mu.Unlock()
}

// ackLen is the length of an acknowledgement of the baseline: that of a row's key.
const ackLen = 17

// acker is the consumer of the baseline. It takes durable messages, as many at once as a
// worker does, decodes each, passes it to a handler that does nothing, and appends an
// acknowledgement for each.
type acker struct {
	l       *logFile
	handle  func(*runner.Message) error
	mu      sync.Mutex
	ready   sync.Cond
	waiting []*fileGroup
	left    int           // until done is closed
	done    chan struct{} // nil if no producer waits
}

func newAcker(b *testing.B, fsync bool) *acker {
	a := &acker{l: newLogFile(b, fsync, false), handle: func(*runner.Message) error { return nil }}
	a.ready.L = &a.mu
	a.l.acker = a
	go a.run(b)
	return a
}

func (a *acker) deliver(g *fileGroup) {
	a.mu.Lock()
	a.waiting = append(a.waiting, g)
	a.mu.Unlock()
	a.ready.Signal()
}

// take waits for groups and returns all waiting ones, at most 256 messages if the first is no
// larger.
func (a *acker) take(groups []*fileGroup) []*fileGroup {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.waiting) == 0 {
		a.ready.Wait()
	}
	n, frames := 0, 0
	for n < len(a.waiting) && (n == 0 || frames+a.waiting[n].frames <= 256) {
		frames += a.waiting[n].frames
		n++
	}
	groups = append(groups[:0], a.waiting[:n]...)
	a.waiting = append(a.waiting[:0], a.waiting[n:]...)
	return groups
}

// expect returns a channel that is closed when n more acknowledgements are
// durable.
func (a *acker) expect(n int) <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.left, a.done = n, make(chan struct{})
	return a.done
}

// run ends with the benchmark's process: no further groups come then.
func (a *acker) run(b *testing.B) {
	var acks []byte
	var groups []*fileGroup
	for {
		groups = a.take(groups)
		acks = acks[:0]
		for _, g := range groups {
			var err error
			if acks, err = a.handleAll(g, acks); err != nil {
				b.Error(err)
			}
			a.l.recycle(g)
		}
		if err := a.l.ack(acks); err != nil {
			b.Error(err)
		}
		a.mu.Lock()
		if a.left -= len(acks) / ackLen; a.left == 0 && a.done != nil {
			close(a.done)
			a.done = nil
		}
		a.mu.Unlock()
	}
}

// handleAll handles the messages of a group and appends their acknowledgements.
func (a *acker) handleAll(g *fileGroup, acks []byte) ([]byte, error) {
	rest := g.bytes[fileHead:]
	for i := range g.frames {
		size := binary.LittleEndian.Uint32(rest[8:]) // see runner.Message.Append
		m, err := runner.DecodeMessage(rest[:size])
		if err == nil {
			err = a.handle(&m)
		}
		if err != nil {
			return acks, err
		}
		acks = append(acks, 'a')
		acks = binary.BigEndian.AppendUint64(acks, m.To)
		acks = binary.BigEndian.AppendUint64(acks, g.first+uint64(i))
		rest = rest[size:]
	}
	return acks, nil
}

// cpuTime returns the processor time of this process, background work included. Unlike
// elapsed time it does not depend on other processes.
func cpuTime(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// load has the results of a number of producers.
type load struct {
	took time.Duration
	cpu  time.Duration
	lat  []time.Duration
}

func (l *load) add(m load) {
	l.took += m.took
	l.cpu += m.cpu
	l.lat = append(l.lat, m.lat...)
}

func (l *load) perSecond() float64 { return float64(len(l.lat)) / l.took.Seconds() }

// quantile returns the latency below which q of all posts stayed, in µs.
func (l *load) quantile(q float64) float64 {
	slices.Sort(l.lat)
	return float64(l.lat[int(q*float64(len(l.lat)-1))]) / float64(time.Microsecond)
}

// produce lets a number of producers post n messages in all. Each waits for
// its message to be durable before it posts the next.
func produce(b *testing.B, producers, n int, post func() error) load {
	var left atomic.Int64
	left.Store(int64(n))
	var wg sync.WaitGroup
	lats := make([][]time.Duration, producers)
	start, cpu := time.Now(), cpuTime(b)
	for p := range producers {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				t := time.Now()
				if err := post(); err != nil {
					b.Error(err)
					return
				}
				lats[p] = append(lats[p], time.Since(t))
			}
		})
	}
	wg.Wait()
	return load{took: time.Since(start), cpu: cpuTime(b) - cpu, lat: slices.Concat(lats...)}
}

// serially makes post one message at a time, so that every message has a sync
// of its own.
func serially(post func() error) func() error {
	var mu sync.Mutex
	return func() error {
		mu.Lock()
		defer mu.Unlock()
		return post()
	}
}

// rounds is how often baseline and runner take turns in one benchmark, so that a noisy
// neighbour disturbs both.
const rounds = 40

// contender is one side of a comparison.
type contender struct {
	post func() error
	// expect returns a channel that is closed when n more messages are done;
	// nil where a message is done when it is posted.
	expect func(n int) <-chan struct{}
}

// turn lets a number of producers post n messages, and waits until all is done.
func (c *contender) turn(b *testing.B, producers, n int) load {
	done := make(<-chan struct{})
	if c.expect != nil {
		done = c.expect(n)
	}
	start, cpu := time.Now(), cpuTime(b)
	l := produce(b, producers, n, c.post)
	if c.expect != nil {
		<-done
	}
	l.took, l.cpu = time.Since(start), cpuTime(b)-cpu
	return l
}

// compare posts b.N messages to each contender, in turns, and reports. The first is the
// runner, the second its baseline, the third the plain file.
func compare(b *testing.B, producers int, all [3]contender) {
	var loads [3]load
	var ratios [3][]float64
	b.StopTimer()
	for i := range rounds {
		n := b.N*(i+1)/rounds - b.N*i/rounds
		if n == 0 {
			continue
		}
		var took [3]float64
		for k := range all {
			if k == 0 {
				b.StartTimer()
			}
			l := all[k].turn(b, producers, n)
			b.StopTimer()
			took[k] = l.took.Seconds()
			loads[k].add(l)
			ratios[k] = append(ratios[k], took[k]/took[0])
		}
	}
	if b.Failed() {
		return
	}
	report(b, &loads[0], &loads[1], ratios[1])
	b.ReportMetric(median(ratios[2]), "plain-ratio")
	b.ReportMetric(loads[2].perSecond(), "plain-msg/s")
}

func median(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)/2]
}

// report prints the runner's figures and their ratio to the file's: the median of all rounds,
// because one stall of the disk outweighs the rest of a run.
func report(b *testing.B, ours, theirs *load, ratios []float64) {
	b.ReportMetric(ours.perSecond(), "msg/s")
	b.ReportMetric(theirs.perSecond(), "file-msg/s")
	b.ReportMetric(median(ratios), "ratio")
	b.ReportMetric(float64(ours.cpu)/float64(len(ours.lat)), "cpu-ns/msg")
	b.ReportMetric(float64(theirs.cpu)/float64(len(theirs.lat)), "file-cpu-ns/msg")
	b.ReportMetric(ours.quantile(0.5), "p50-µs")
	b.ReportMetric(ours.quantile(0.99), "p99-µs")
	b.ReportMetric(theirs.quantile(0.5), "file-p50-µs")
	b.ReportMetric(theirs.quantile(0.99), "file-p99-µs")
}
