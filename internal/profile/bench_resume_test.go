package profile

import (
	"runtime"
	"testing"
	"time"
)

// BenchmarkResume measures a start from slices: one operation is a profile with boards of
// which three quarters have one move since the slices were written.
func BenchmarkResume(b *testing.B) {
	for _, size := range []struct {
		name   string
		boards int
	}{{"10k", 10_000}, {"100k", 100_000}, {"1M", 1_000_000}} {
		b.Run(size.name, func(b *testing.B) {
			c := newCrowd(b, size.boards, 2000, 2000)
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			began := cpuTime()
			longest, bytes := time.Duration(0), 0
			var slices []walkSlice
			at := time.Now()
			for data := range c.p.Walk(128<<10, func() []byte { return nil }) {
				longest = max(longest, time.Since(at))
				slices, bytes = append(slices, walkSlice{c.seq, data}), bytes+len(data)
				at = time.Now()
			}
			walk := cpuTime() - began
			var tail []TailMessage
			mark := c.seq
			for moves := 0; moves < size.boards*3/4; moves += perStep {
				c.prepare(b, perStep)
				c.run()
				for i := range c.out.Frames.Len() {
					tail = append(tail, TailMessage{mark + uint64(len(tail)) + 1,
						append([]byte(nil), c.out.Frames.At(i)...)})
				}
			}
			boards := c.p.Gauges().Boards
			options := Options{Config: c.p.cfg, Seed: [32]byte{9}, Now: c.now}
			c.p = nil
			var before, after runtime.MemStats
			cpu := time.Duration(0)
			b.ResetTimer()
			for range b.N {
				b.StopTimer()
				runtime.GC()
				runtime.ReadMemStats(&before)
				b.StartTimer()
				began := cpuTime()
				p := New(options)
				var out Output
				for _, s := range slices {
					p.Step(c.now, []Input{&ResumeSlice{Mark: s.mark, Data: s.data}}, &out)
				}
				p.Step(c.now, []Input{&ResumeTail{Messages: tail}}, &out)
				p.Step(c.now, []Input{&ResumeEnd{Last: mark + uint64(len(tail)), Alone: true}, &Ready{}}, &out)
				if got := p.Gauges().Boards; got != boards || len(out.Troubles) > 0 {
					b.Fatalf("%d boards came back, want %d: %v", got, boards, out.Troubles)
				}
				cpu += cpuTime() - began
				b.StopTimer()
				out = Output{}
				runtime.GC()
				runtime.ReadMemStats(&after)
				runtime.KeepAlive(p)
				b.StartTimer()
			}
			b.ReportMetric(cpu.Seconds()/float64(b.N), "cpu-s/op")
			b.ReportMetric(float64(walk.Nanoseconds())/float64(size.boards), "walk-cpu-ns/board")
			b.ReportMetric(float64(longest.Microseconds()), "longest-slice-us")
			b.ReportMetric(float64(bytes)/float64(size.boards), "file-B/board")
			b.ReportMetric(float64(int64(after.HeapAlloc)-int64(before.HeapAlloc))/float64(size.boards), "heap-B/board")
		})
	}
}
