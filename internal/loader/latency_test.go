package loader

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// Buckets follow each other without gap or overlap, and none is wider than 1/64.
func TestLatencyBuckets(t *testing.T) {
	for i := range latencyBuckets - 1 {
		last, next := upper(i), upper(i)+time.Microsecond
		if got := bucketOf(last); got != i {
			t.Fatalf("%v is in bucket %d, want %d", last, got, i)
		}
		if got := bucketOf(next); got != i+1 {
			t.Fatalf("%v is in bucket %d, want %d", next, got, i+1)
		}
		if width := upper(i+1) - last; width > time.Microsecond && width > last/64+time.Microsecond {
			t.Fatalf("bucket %d from %v is %v wide", i+1, last, width)
		}
	}
	for _, d := range []time.Duration{-time.Second, 0, 1<<63 - 1} {
		if i := bucketOf(d); i < 0 || i >= latencyBuckets {
			t.Errorf("%v is in bucket %d", d, i)
		}
	}
}

func TestLatencyQuantiles(t *testing.T) {
	var l Latency
	if l.Quantile(0.5) != 0 || l.Mean() != 0 || l.Max() != 0 {
		t.Error("an empty histogram has quantiles")
	}
	r := rand.New(rand.NewPCG(1, 2))
	var all []time.Duration
	var sum time.Duration
	for range 10_000 {
		d := time.Duration(r.ExpFloat64() * float64(3*time.Millisecond)).Truncate(time.Microsecond)
		all = append(all, d)
		sum += d
		l.Add(d)
	}
	slices.Sort(all)
	for _, q := range []float64{0, 0.5, 0.9, 0.99, 0.999, 1} {
		want := all[min(int(q*10_000), 9_999)]
		if got := l.Quantile(q); got < want-want/32 || got > want+want/32+time.Microsecond {
			t.Errorf("quantile %v is %v, want about %v", q, got, want)
		}
	}
	if l.Max() != all[9_999] || l.Mean() != sum/10_000 || l.Count() != 10_000 {
		t.Errorf("max %v, mean %v, count %d", l.Max(), l.Mean(), l.Count())
	}
}
