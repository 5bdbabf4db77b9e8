package wamble

import "time"

// SeasonOf returns the season of a time: the year and month of UTC, as 202611.
func SeasonOf(t time.Time) int {
	t = t.UTC()
	return t.Year()*100 + int(t.Month())
}
