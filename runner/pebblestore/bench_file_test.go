package pebblestore_test

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// logFile is the yardstick of the benchmarks: a plain file to which frames are
// appended, with the group commit of the runner and nothing else. Whoever
// waits while a group is on its way to the disk is in the next group.
type logFile struct {
	f     *os.File
	fsync bool
	syncs atomic.Uint64 // groups written
	acker *acker        // nil when nobody takes the frames
	plain bool          // it takes what waits at once, whoever is about to post
	mu    sync.Mutex
	ready sync.Cond
	next  *fileGroup
	done  bool
	ended chan struct{}
}

type fileGroup struct {
	bytes   []byte
	frames  int
	durable chan struct{}
	err     error
}

func newLogFile(b *testing.B, fsync, plain bool) *logFile {
	f, err := os.Create(filepath.Join(b.TempDir(), "log"))
	if err != nil {
		b.Fatal(err)
	}
	l := &logFile{f: f, fsync: fsync, plain: plain, next: &fileGroup{durable: make(chan struct{})}, ended: make(chan struct{})}
	l.ready.L = &l.mu
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

// post appends a frame and returns when it is durable.
func (l *logFile) post(frame []byte) error { return l.append(frame, 1) }

// append appends bytes that are so many frames, none for acknowledgements.
func (l *logFile) append(b []byte, frames int) error {
	l.mu.Lock()
	g := l.next
	g.bytes = append(g.bytes, b...)
	g.frames += frames
	if len(g.bytes) == len(b) {
		l.ready.Signal()
	}
	l.mu.Unlock()
	<-g.durable
	return g.err
}

func (l *logFile) commit() {
	defer close(l.ended)
	var spare []byte
	for {
		if !l.plain {
			runtime.Gosched() // as the committer does: the grouping is the same
		}
		l.mu.Lock()
		for len(l.next.bytes) == 0 && !l.done {
			l.ready.Wait()
		}
		g := l.next
		l.next = &fileGroup{bytes: spare[:0], durable: make(chan struct{})}
		l.mu.Unlock()
		if len(g.bytes) == 0 {
			return
		}
		l.syncs.Add(1)
		_, g.err = l.f.Write(g.bytes)
		if g.err == nil && l.fsync {
			g.err = unix.Fdatasync(int(l.f.Fd()))
		}
		spare = g.bytes
		if l.acker != nil && g.err == nil {
			l.acker.deliver(g.frames)
		}
		close(g.durable)
	}
}

// ackLen is what the yardstick writes to acknowledge a message: as much as the
// key of its row.
const ackLen = 17

// acker is the consumer of the yardstick. It takes what is durable, as many at
// once as a worker does, and appends an acknowledgement for each.
type acker struct {
	l       *logFile
	mu      sync.Mutex
	ready   sync.Cond
	waiting int
	left    int           // until done is closed
	done    chan struct{} // nil when nobody waits
}

func newAcker(b *testing.B, fsync bool) *acker {
	a := &acker{l: newLogFile(b, fsync, false)}
	a.ready.L = &a.mu
	a.l.acker = a
	go a.run(b)
	return a
}

func (a *acker) deliver(n int) {
	a.mu.Lock()
	a.waiting += n
	a.mu.Unlock()
	a.ready.Signal()
}

// expect returns a channel that is closed when n more acknowledgements are
// durable.
func (a *acker) expect(n int) <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.left, a.done = n, make(chan struct{})
	return a.done
}

// run ends with the benchmark's process: what it waits for comes no more.
func (a *acker) run(b *testing.B) {
	acks := make([]byte, 256*ackLen)
	for {
		a.mu.Lock()
		for a.waiting == 0 {
			a.ready.Wait()
		}
		n := min(a.waiting, 256)
		a.waiting -= n
		a.mu.Unlock()
		if err := a.l.append(acks[:n*ackLen], 0); err != nil {
			b.Error(err)
		}
		a.mu.Lock()
		if a.left -= n; a.left == 0 && a.done != nil {
			close(a.done)
			a.done = nil
		}
		a.mu.Unlock()
	}
}

// cpuTime is what this process has used, background work included. Unlike
// elapsed time it does not depend on what else the machine does.
func cpuTime(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// load is what a number of producers did.
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

// rounds is how often yardstick and runner take turns in one benchmark, so that
// a noisy neighbour disturbs both.
const rounds = 40

// contender is what takes part in a comparison.
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

// compare posts b.N messages to each contender, in turns, and reports. The
// first is the runner, the second its yardstick, the third the plain file.
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

// report prints the runner's figures and their ratio to the file's: the median
// of all rounds, because one stall of the disk outweighs the rest of a run.
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
