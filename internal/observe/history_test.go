package observe

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"wamble/internal/loop"
)

// TestHistory: three days of samples leave an hour and two days, with rates that survive the
// restart of a profile; a file restores all of it, except what is too old.
func TestHistory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "history.json")
	h := NewHistory(file)
	now := time.Unix(1_800_000_000, 0)
	r := map[string]reading{"red": {}, "blue": {}}
	for i := range 3 * 24 * 360 {
		now = now.Add(hourEvery)
		red := reading{moves: r["red"].moves + 30, ended: r["red"].ended + 1, players: 3, boards: 10}
		if i%1000 == 999 {
			red.moves, red.ended = 30, 1 // it has begun anew
		}
		lag := time.Duration(0)
		if i%6 == 3 {
			lag = 2 * time.Second
		}
		r = map[string]reading{"red": red, "blue": {moves: 7, players: 2, boards: 5, lag: lag}}
		h.add(now, r, 64<<20)
	}
	hour, days := h.Hour(), h.Days()
	if len(hour.At) != hourPoints || len(days.At) != daysPoints {
		t.Fatalf("there are %d points of the hour, %d of the days", len(hour.At), len(days.At))
	}
	for name, c := range map[string]Columns{"hour": hour, "days": days} {
		if !slices.IsSorted(c.At) || time.Duration(c.At[1]-c.At[0])*time.Second != time.Duration(c.Every)*time.Second {
			t.Errorf("%s: the times begin with %v", name, c.At[:3])
		}
		for i := range c.At {
			got := [...]float64{c.Moves[i], c.Ended[i], c.Players[i], c.Boards[i], c.Memory[i]}
			if got != [...]float64{3, 6, 5, 15, 64} {
				t.Fatalf("%s, point %d: %v", name, i, got)
			}
		}
	}
	if most := slices.Max(days.Lag); slices.Min(days.Lag) != 2 || most != 2 {
		t.Errorf("a lag of two seconds in each minute is kept as %v", most)
	}
	if err := h.Save(); err != nil {
		t.Fatal(err)
	}
	again := NewHistory(file)
	if err := again.read(now); err != nil {
		t.Fatal(err)
	}
	if got := again.Days(); !slices.Equal(got.At, days.At) || !slices.Equal(got.Moves, days.Moves) ||
		len(again.Hour().At) < hourPoints-1 {
		t.Errorf("the file has %d points of the days and %d of the hour", len(got.At), len(again.Hour().At))
	}
	later := NewHistory(file)
	if err := later.read(now.Add(24 * time.Hour)); err != nil {
		t.Fatal(err)
	}
	if hour, days := len(later.Hour().At),
		len(later.Days().At); hour != 0 || days < daysPoints/2-2 || days > daysPoints/2+2 {
		t.Errorf("a day later there are %d points of the hour, %d of the days", hour, days)
	}
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := NewHistory(file).read(now); err == nil {
		t.Error("a damaged file is taken without a word")
	}
	if err := NewHistory(file + ".none").read(now); err != nil {
		t.Errorf("without a file: %v", err)
	}
}

// TestHistoryOutlives: a history takes a point every ten seconds, and the next process goes
// on with it.
func TestHistoryOutlives(t *testing.T) {
	file := filepath.Join(t.TempDir(), "history.json")
	synctest.Test(t, func(t *testing.T) {
		for life := 1; life <= 2; life++ {
			h := NewHistory(file)
			ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
			h.Keep(ctx, func() []*loop.Runtime { return nil }, func(err error) {
				if err != nil {
					t.Error(err)
				}
			})
			stop()
			// The first point of a process has nothing to compare with; its last minute is
			// not over.
			if hour, days := len(h.Hour().At),
				len(h.Days().At); hour < 28*life || hour > 30*life || days < 4*life || days > 5*life {
				t.Errorf("after %d lives there are %d points of the hour, %d of the days", life, hour, days)
			}
			if h.Hour().Memory[0] <= 0 {
				t.Error("the process has no memory")
			}
		}
	})
}
