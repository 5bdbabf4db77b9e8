package loader

import (
	"math/bits"
	"time"
)

// Latency counts durations in buckets whose width is at most 1/64 of the duration, from 1 µs to
// 71 minutes; shorter and longer ones count in the first and last bucket. The zero value is
// empty.
type Latency struct {
	counts [latencyBuckets]uint64
	n      uint64
	sum    time.Duration
	max    time.Duration
}

const (
	latencyBits    = 6 // 1 << latencyBits buckets per octave
	latencyBuckets = (32 - latencyBits + 1) << latencyBits
)

// Add counts d.
func (l *Latency) Add(d time.Duration) {
	l.counts[bucketOf(d)]++
	l.n++
	l.sum += d
	l.max = max(l.max, d)
}

// bucketOf returns the bucket of a duration, by the position of the highest bit and the bits
// after it.
func bucketOf(d time.Duration) int {
	us := uint64(max(d/time.Microsecond, 0))
	us = min(us, 1<<32-1)
	shift := max(bits.Len64(us)-latencyBits-1, 0)
	return shift<<latencyBits + int(us>>shift)
}

// upper returns the longest duration of a bucket.
func upper(bucket int) time.Duration {
	shift := max(bucket>>latencyBits-1, 0)
	us := uint64(bucket-shift<<latencyBits+1)<<shift - 1
	return time.Duration(us) * time.Microsecond
}

// Count returns how many durations were added.
func (l *Latency) Count() uint64 { return l.n }

// Max returns the longest duration.
func (l *Latency) Max() time.Duration { return l.max }

// Mean returns the average, 0 if there is none.
func (l *Latency) Mean() time.Duration {
	if l.n == 0 {
		return 0
	}
	return l.sum / time.Duration(l.n)
}

// Quantile returns a duration that the share q (0 to 1) of all did not exceed, within 1/64; 0
// if there is none.
func (l *Latency) Quantile(q float64) time.Duration {
	if l.n == 0 {
		return 0
	}
	rank := max(uint64(q*float64(l.n)+0.5), 1)
	var seen uint64
	for i, c := range l.counts {
		if seen += c; seen >= rank {
			return min(upper(i), l.max)
		}
	}
	return l.max
}
