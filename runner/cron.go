package runner

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A schedule is text:
//
//	10m                       every ten minutes, from when it was declared on
//	0 8 * * mon-fri           minute, hour, day of month, month, day of week (0 and 7 are Sunday)
//	TZ=Europe/Berlin @daily   in another time zone than UTC
//
// A field is *, a number, a name of three letters, a range a-b, each with an optional step /n,
// or a comma-separated list of these. If day of month and day of week are both restricted, a
// day must match only one of them. A time that a clock change skips is left out, one that it
// repeats is used once.
type schedule struct {
	every time.Duration // an interval; 0 if the fields below apply
	zone  *time.Location
	// The sets have a bit for each matching value.
	minute, hour, dom, month, dow uint64
	anyDay                        bool // dom or dow is *: both must match
}

var shortcuts = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

var (
	monthNames = strings.Fields("jan feb mar apr may jun jul aug sep oct nov dec")
	dayNames   = strings.Fields("sun mon tue wed thu fri sat")
)

// minInterval is the shortest interval of a schedule.
const minInterval = time.Second

// parseSchedule parses a schedule. Errors: ErrInvalid.
func parseSchedule(text string) (schedule, error) {
	s := schedule{zone: time.UTC}
	spec := strings.TrimSpace(text)
	if d, err := time.ParseDuration(strings.TrimPrefix(spec, "@every ")); err == nil {
		if d < minInterval {
			return s, fmt.Errorf("schedule %q: less than %v: %w", text, minInterval, ErrInvalid)
		}
		s.every = d
		return s, nil
	}
	if zone, rest, ok := strings.Cut(strings.TrimPrefix(spec, "CRON_"), " "); ok && strings.HasPrefix(zone, "TZ=") {
		loc, err := time.LoadLocation(zone[3:])
		if err != nil {
			return s, fmt.Errorf("schedule %q: %w: %w", text, ErrInvalid, err)
		}
		s.zone, spec = loc, strings.TrimSpace(rest)
	}
	if full, ok := shortcuts[spec]; ok {
		spec = full
	}
	fields := strings.Fields(strings.ToLower(spec))
	if len(fields) != 5 {
		return s, fmt.Errorf("schedule %q: want a duration or five fields: %w", text, ErrInvalid)
	}
	for i, f := range []struct {
		set      *uint64
		min, max int
		names    []string
		first    int // value of the first name
	}{
		{&s.minute, 0, 59, nil, 0}, {&s.hour, 0, 23, nil, 0}, {&s.dom, 1, 31, nil, 0},
		{&s.month, 1, 12, monthNames, 1}, {&s.dow, 0, 7, dayNames, 0},
	} {
		for part := range strings.SplitSeq(fields[i], ",") {
			set, err := parseCron(part, f.min, f.max, func(name string) (int, error) {
				if k := slices.Index(f.names, name); k >= 0 {
					return k + f.first, nil
				}
				return strconv.Atoi(name)
			})
			if err != nil {
				return s, fmt.Errorf("schedule %q: %w", text, err)
			}
			*f.set |= set
		}
	}
	if s.dow&(1<<7) != 0 {
		s.dow |= 1
	}
	s.anyDay = strings.HasPrefix(fields[2], "*") || strings.HasPrefix(fields[4], "*")
	if s.next(time.Unix(0, 0)).IsZero() {
		return s, fmt.Errorf("schedule %q: no such day: %w", text, ErrInvalid)
	}
	return s, nil
}

// parseCron parses one part of a field: *, a value or a range, with an optional step.
func parseCron(part string, least, most int, value func(string) (int, error)) (set uint64, err error) {
	span, stepText, stepped := strings.Cut(part, "/")
	step := 1
	if stepped {
		if step, err = strconv.Atoi(stepText); err != nil || step < 1 {
			return 0, fmt.Errorf("step %q: %w", stepText, ErrInvalid)
		}
	}
	lo, hi := least, most
	if span != "*" {
		from, to, ranged := strings.Cut(span, "-")
		if lo, err = value(from); err != nil {
			return 0, fmt.Errorf("%q: %w", part, ErrInvalid)
		}
		if hi = lo; ranged {
			if hi, err = value(to); err != nil {
				return 0, fmt.Errorf("%q: %w", part, ErrInvalid)
			}
		} else if stepped {
			hi = most
		}
	}
	if lo < least || hi > most || lo > hi {
		return 0, fmt.Errorf("%q is not within %d to %d: %w", part, least, most, ErrInvalid)
	}
	for v := lo; v <= hi; v += min(step, most+1) {
		set |= 1 << v
	}
	return set, nil
}

// farthest is how many years ahead next searches: a February 29 on a given day of the week
// occurs within 40.
const farthest = 40

// next returns the first matching time after t, zero if there is none. For an interval t must
// be a time of the schedule.
func (s *schedule) next(t time.Time) time.Time {
	if s.every > 0 {
		return t.Add(s.every)
	}
	local := t.In(s.zone)
	day := time.Date(local.Year(), local.Month(), local.Day(), 0, 0, 0, 0, time.UTC)
	for end := day.AddDate(farthest, 0, 0); day.Before(end); day = day.AddDate(0, 0, 1) {
		if s.month&(1<<day.Month()) == 0 {
			// Skip to the last day of the month.
			day = time.Date(day.Year(), day.Month()+1, 0, 0, 0, 0, 0, time.UTC)
			continue
		}
		if !s.fits(day) {
			continue
		}
		for hours := s.hour; hours != 0; hours &= hours - 1 {
			h := bits.TrailingZeros64(hours)
			for minutes := s.minute; minutes != 0; minutes &= minutes - 1 {
				m := bits.TrailingZeros64(minutes)
				at := time.Date(day.Year(), day.Month(), day.Day(), h, m, 0, 0, s.zone)
				if at.After(t) && at.Hour() == h && at.Minute() == m {
					return at
				}
			}
		}
	}
	return time.Time{}
}

// fits reports whether the schedule has times on a day.
func (s *schedule) fits(day time.Time) bool {
	dom, dow := s.dom&(1<<day.Day()) != 0, s.dow&(1<<day.Weekday()) != 0
	if s.anyDay {
		return dom && dow
	}
	return dom || dow
}
