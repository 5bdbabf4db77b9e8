package runner

import (
	"errors"
	"testing"
	"time"
)

// TestSchedules: the times of each schedule after a start, one after the other.
func TestSchedules(t *testing.T) {
	for _, x := range []struct {
		spec, from string
		want       []string
	}{
		{"10m", "2026-03-01T10:00:30Z", []string{"2026-03-01T10:10:30Z", "2026-03-01T10:20:30Z"}},
		{"@every 1h", "2026-03-01T10:00:30Z", []string{"2026-03-01T11:00:30Z"}},
		{"* * * * *", "2026-03-01T10:00:30Z", []string{"2026-03-01T10:01:00Z", "2026-03-01T10:02:00Z"}},
		{"*/20 9-10 * * *", "2026-03-01T09:30:00Z", []string{"2026-03-01T09:40:00Z", "2026-03-01T10:00:00Z", "2026-03-01T10:20:00Z", "2026-03-01T10:40:00Z", "2026-03-02T09:00:00Z"}},
		{"5/25 * * * *", "2026-03-01T09:30:00Z", []string{"2026-03-01T09:55:00Z", "2026-03-01T10:05:00Z"}},
		{"0 8 * * mon-fri", "2026-03-06T09:00:00Z", []string{"2026-03-09T08:00:00Z"}},
		{"0 8 * JAN,jul *", "2026-03-06T09:00:00Z", []string{"2026-07-01T08:00:00Z"}},
		{"0 0 13 * fri", "2026-03-01T00:00:00Z", []string{"2026-03-06T00:00:00Z", "2026-03-13T00:00:00Z", "2026-03-20T00:00:00Z"}},
		{"0 0 */10 * 0", "2026-03-01T00:00:00Z", []string{"2026-05-31T00:00:00Z"}}, // both must fit
		{"0 0 * * 7", "2026-03-02T00:00:00Z", []string{"2026-03-08T00:00:00Z"}},
		{"0 0 29 2 *", "2026-03-01T00:00:00Z", []string{"2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z"}},
		{"0 0 31 * *", "2026-03-31T00:00:00Z", []string{"2026-05-31T00:00:00Z"}},
		{"@daily", "2026-12-31T12:00:00Z", []string{"2027-01-01T00:00:00Z"}},
		{"@weekly", "2026-03-02T00:00:00Z", []string{"2026-03-08T00:00:00Z"}},
		{"@monthly", "2026-03-02T00:00:00Z", []string{"2026-04-01T00:00:00Z"}},
		{"@yearly", "2026-03-02T00:00:00Z", []string{"2027-01-01T00:00:00Z"}},
		{"@hourly", "2026-03-02T00:00:00Z", []string{"2026-03-02T01:00:00Z"}},
		// The clocks go forward on March 29 at 2 and back on October 25 at 3.
		{"TZ=Europe/Berlin 30 2 * * *", "2026-03-28T00:00:00Z", []string{"2026-03-28T01:30:00Z", "2026-03-30T00:30:00Z"}},
		{"TZ=Europe/Berlin 30 2 * * *", "2026-10-24T12:00:00Z", []string{"2026-10-25T01:30:00Z", "2026-10-26T01:30:00Z"}},
		{"CRON_TZ=America/New_York @daily", "2026-06-01T12:00:00Z", []string{"2026-06-02T04:00:00Z"}},
	} {
		s, err := parseSchedule(x.spec)
		if err != nil {
			t.Errorf("%s: %v", x.spec, err)
			continue
		}
		at, err := time.Parse(time.RFC3339, x.from)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range x.want {
			at = s.next(at)
			if got := at.UTC().Format(time.RFC3339); got != want {
				t.Errorf("%s from %s: got %s, want %s", x.spec, x.from, got, want)
				break
			}
		}
	}
}

func TestBadSchedules(t *testing.T) {
	for _, spec := range []string{
		"", "hourly", "10ms", "-1h", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * 32 * *",
		"* * * 13 *", "* * * * 8", "5-1 * * * *", "*/0 * * * *", "1,,2 * * * *", "x * * * *", "* * * foo *",
		"0 0 30 2 *", "TZ=Nowhere/City @daily", "*/-1 * * * *", "1-x * * * *",
	} {
		if _, err := parseSchedule(spec); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: got %v, want ErrInvalid", spec, err)
		}
	}
}

// FuzzSchedule: an accepted schedule has a next time, which is later.
func FuzzSchedule(f *testing.F) {
	for _, spec := range []string{"10m", "0 8 * * mon-fri", "*/20 9-10 1,15 * *", "TZ=Europe/Berlin 30 2 * * *",
		"@monthly", "0 0 29 2 1"} {
		f.Add(spec, int64(1_790_000_000))
	}
	f.Fuzz(func(t *testing.T, spec string, from int64) {
		s, err := parseSchedule(spec)
		if err != nil || len(spec) > 100 {
			return
		}
		start := time.Unix(from%(1<<36), 0)
		if next := s.next(start); !next.After(start) {
			t.Errorf("%q after %v: %v", spec, start, next)
		}
	})
}
