package wamble

import "time"

// PlaysForBlack reports for which team somebody plays in a season: Who is the number of a
// player, or of a guest's session below 0. Every season deals the teams anew.
func PlaysForBlack(who int64, season int) bool { return (who+int64(season))%2 != 0 }

// SeasonOf returns the season of a time: the year and month of UTC, as 202611.
func SeasonOf(t time.Time) int {
	t = t.UTC()
	return t.Year()*100 + int(t.Month())
}
