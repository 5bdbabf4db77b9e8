package runner_test

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
	mu    sync.Mutex
	ready sync.Cond
	next  *fileGroup
	done  bool
	ended chan struct{}
}

type fileGroup struct {
	bytes   []byte
	durable chan struct{}
	err     error
}

func newLogFile(b *testing.B, fsync bool) *logFile {
	f, err := os.Create(filepath.Join(b.TempDir(), "log"))
	if err != nil {
		b.Fatal(err)
	}
	l := &logFile{f: f, fsync: fsync, next: &fileGroup{durable: make(chan struct{})}, ended: make(chan struct{})}
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
func (l *logFile) post(frame []byte) error {
	l.mu.Lock()
	g := l.next
	g.bytes = append(g.bytes, frame...)
	if len(g.bytes) == len(frame) {
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
		runtime.Gosched() // as the committer does: the grouping is the same
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
		close(g.durable)
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

// compare posts b.N messages to each, in turns, and reports. With a drain, a
// turn of the runner lasts until its worker is done with all of them.
func compare(b *testing.B, producers int, file, runner func() error, d *drain) {
	var ours, theirs load
	var ratios []float64
	b.StopTimer()
	for i := range rounds {
		n := b.N*(i+1)/rounds - b.N*i/rounds
		if n == 0 {
			continue
		}
		yardstick := produce(b, producers, n, file)
		done := d.expect(n)
		start, cpu := time.Now(), cpuTime(b)
		b.StartTimer()
		l := produce(b, producers, n, runner)
		<-done
		b.StopTimer()
		l.took, l.cpu = time.Since(start), cpuTime(b)-cpu
		ours.add(l)
		theirs.add(yardstick)
		ratios = append(ratios, yardstick.took.Seconds()/l.took.Seconds())
	}
	if !b.Failed() {
		report(b, &ours, &theirs, ratios)
	}
}

// report prints the runner's figures and their ratio to the file's: the median
// of all rounds, because one stall of the disk outweighs the rest of a run.
func report(b *testing.B, ours, theirs *load, ratios []float64) {
	slices.Sort(ratios)
	b.ReportMetric(ours.perSecond(), "msg/s")
	b.ReportMetric(theirs.perSecond(), "file-msg/s")
	b.ReportMetric(ratios[len(ratios)/2], "ratio")
	b.ReportMetric(float64(ours.cpu)/float64(len(ours.lat)), "cpu-ns/msg")
	b.ReportMetric(float64(theirs.cpu)/float64(len(theirs.lat)), "file-cpu-ns/msg")
	b.ReportMetric(ours.quantile(0.5), "p50-µs")
	b.ReportMetric(ours.quantile(0.99), "p99-µs")
	b.ReportMetric(theirs.quantile(0.5), "file-p50-µs")
	b.ReportMetric(theirs.quantile(0.99), "file-p99-µs")
}
