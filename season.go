package wamble

import "time"

// PlaysForBlack reports for which team a player plays in a season. Who is the number of a player, or the
// negated number of a guest's session. Teams are dealt anew each season.
func PlaysForBlack(who int64, season int) bool {
	d := DealOf(season)
	lot := (max(who, -who)%d.Modulus*d.Factor + d.Term) % d.Modulus
	return lot*lot%d.Modulus%2 != 0
}

// Deal is how the teams of a season are dealt: the lot of a player is (|who| mod Modulus · Factor + Term)
// mod Modulus, and they play for Black if its square mod Modulus is odd. Databases compute it, too; no
// intermediate result exceeds 63 bits.
type Deal struct{ Factor, Term, Modulus int64 }

// DealOf returns the deal of a season, which is unrelated to those of other seasons.
func DealOf(season int) Deal {
	const modulus = 1<<31 - 1 // a prime
	mixed := func(x uint64) int64 {
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9 // the finalizer of SplitMix64
		x = (x ^ x>>27) * 0x94d049bb133111eb
		return int64((x ^ x>>31) % (modulus - 1))
	}
	return Deal{1 + mixed(uint64(season)), mixed(^uint64(season)), modulus}
}

// SeasonOf returns the season of a time: year and month in UTC, such as 202611.
func SeasonOf(t time.Time) int {
	t = t.UTC()
	return t.Year()*100 + int(t.Month())
}
