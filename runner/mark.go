package runner

import (
	"slices"
	"time"
)

// mark is the time when a run of rows was committed.
type mark struct {
	seq  uint64
	time int64
}

// marks record approximately, in little memory, when the rows of a queue were committed, for
// the age of its head in Stats and the waiting time of messages.
type marks []mark

const (
	markEvery = 1 // ms
	maxMarks  = 1024
)

// note records that row seq was committed now; rows below low are gone. When nothing leaves the
// queue, marks get sparser and every other one is dropped: ages are rounded up, by less than a
// hundredth of the oldest.
func (m *marks) note(seq, low uint64, now int64) {
	q := *m
	for len(q) > 1 && q[1].seq <= low {
		q = q[1:]
	}
	if n := len(q); n == 0 || now-q[n-1].time >= max(markEvery, (q[n-1].time-q[0].time)/(maxMarks/2)) {
		q = append(q, mark{seq, now})
	}
	if len(q) > maxMarks {
		for i := range len(q) / 2 {
			q[i] = q[2*i]
		}
		q = q[:len(q)/2]
	}
	*m = q
}

// age returns how long ago row head was committed. Rows of an earlier process count from the
// start of this one.
func (m marks) age(head uint64, now, started int64) time.Duration {
	since := started
	if i, _ := slices.BinarySearchFunc(m, head, func(k mark, head uint64) int {
		if k.seq <= head {
			return -1
		}
		return 1
	}); i > 0 {
		since = m[i-1].time
	}
	return time.Duration(max(now-since, 0)) * time.Millisecond
}
