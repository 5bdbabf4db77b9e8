package runner

import (
	"testing"
	"time"

	"wamble/internal/prooftest"
)

// TestMarksAreBounded lets a queue grow for a day while nothing leaves it, and checks the
// estimated age of its rows.
func TestMarksAreBounded(t *testing.T) {
	day := prooftest.Sized[int64](2, 24, 24) * 60 * 60 * 1000 // ms
	var m marks
	seq := uint64(0)
	for now := int64(0); now < day; now += markEvery {
		seq++
		m.note(seq, 1, now)
		if len(m) > maxMarks {
			t.Fatalf("got %d marks after %d rows, want at most %d", len(m), seq, maxMarks)
		}
	}
	for _, row := range []uint64{1, seq / 2, seq - seq/10} {
		want := time.Duration(day-int64(row-1)*markEvery) * time.Millisecond
		got := m.age(row, day, 0)
		if got < want || got > want+time.Duration(day/100)*time.Millisecond {
			t.Errorf("row %d: got %v, want %v or a little more", row, got, want)
		}
	}
	// All rows but the last leave: so do the marks.
	m.note(seq+1, seq, day)
	if len(m) > 2 {
		t.Errorf("got %d marks for two rows", len(m))
	}
}
