//go:build unix

package board

import (
	"fmt"
	"syscall"
	"testing"
	"time"
)

// cpu returns the processor time of this process, which does not depend on other processes.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkMove measures one move and the next board. Its cost must not grow much with the
// number of boards.
func BenchmarkMove(b *testing.B) {
	for _, tc := range []struct{ boards, sessions int }{{10_000, 1000}, {1_000_000, 100_000}} {
		b.Run(fmt.Sprintf("boards=%d", tc.boards), func(b *testing.B) {
			tb := newTable(b, tc.boards, tc.sessions)
			for range 3 * tc.sessions {
				tb.move(b)
			}
			b.ReportAllocs()
			before := cpu(b)
			for b.Loop() {
				tb.move(b)
			}
			b.ReportMetric(float64(cpu(b)-before)/float64(b.N), "cpu-ns/op")
		})
	}
}

// BenchmarkCreate measures a new board.
func BenchmarkCreate(b *testing.B) {
	o := defaultOptions()
	o.MaxBoards = 1 << 40
	p := New(o, counter(1<<40), newRand(1))
	b.ReportAllocs()
	for b.Loop() {
		grow(b, p, p.Len()+1, silence{})
	}
}

// BenchmarkStates and BenchmarkLoad measure the handoff of 100,000 boards.
func BenchmarkStates(b *testing.B) {
	p := busyPool(b, 100_000, 1_000_000)
	var state []byte
	for b.Loop() {
		state = state[:0]
		for board := range p.WalkInOrder() {
			state = board.AppendState(state)
		}
	}
	b.ReportMetric(float64(len(state)), "bytes")
}

func BenchmarkLoad(b *testing.B) {
	p := busyPool(b, 100_000, 1_000_000)
	state := statesOf(p)
	before := cpu(b)
	for b.Loop() {
		if _, err := resumed(p.opts, state, timeOf(p.now), true); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(cpu(b)-before)/float64(b.N), "cpu-ns/op")
}

// BenchmarkRestore measures the restore of one board of 40 plies.
func BenchmarkRestore(b *testing.B) {
	stored := longGame(b, 40)
	p := New(defaultOptions(), counter(0), newRand(1))
	for b.Loop() {
		stored.ID++
		if err := p.Restore(epoch, stored, silence{}); err != nil {
			b.Fatal(err)
		}
	}
}
