package reward

import (
	"math"
	"testing"

	"wamble"
	"wamble/internal/prooftest"
)

// The expectations of FIDE's handbook (B.02, table 8.1.2: the scoring
// probability of a difference of ratings), for the stronger side. The table is
// of the normal distribution, which the logistic one follows to about two
// hundredths.
func TestExpectedFollowsTheTableOfFIDE(t *testing.T) {
	for _, tc := range []struct{ difference, want float64 }{
		{0, 0.50}, {50, 0.57}, {100, 0.64}, {200, 0.76}, {300, 0.85}, {400, 0.92},
	} {
		got := Expected(1500+tc.difference, 1500)
		if math.Abs(got-tc.want) > 0.02 {
			t.Errorf("a difference of %v: got %.3f, want %.2f", tc.difference, got, tc.want)
		}
		if sum := got + Expected(1500, 1500+tc.difference); math.Abs(sum-1) > 1e-12 {
			t.Errorf("a difference of %v: both sides expect %v together, want 1", tc.difference, sum)
		}
	}
}

// The published example of a tournament (Wikipedia, "Elo rating system", mathematical
// details): a player of 1613 loses to 1609, draws with 1477, beats 1388 and 1586, loses to
// 1720; the expected score is 2.88 points, the score 2.5, and with K = 32 the rating is 1601
// afterwards.
func TestRateOfOneAgainstOne(t *testing.T) {
	expected, change := 0.0, 0.0
	for _, game := range []struct {
		other  float64
		result wamble.Result
	}{
		{1609, wamble.BlackWins}, {1477, wamble.Draw}, {1388, wamble.WhiteWins}, {1586, wamble.WhiteWins}, {1720, wamble.BlackWins},
	} {
		players := []Player{{White: 40, Rating: 1613}, {Black: 40, Rating: game.other}}
		Rate(32, game.result, players)
		expected += Expected(1613, game.other)
		change += players[0].Change
		if sum := players[0].Change + players[1].Change; math.Abs(sum) > unit/10 {
			t.Errorf("against %v: both changes together are %v, want 0", game.other, sum)
		}
	}
	if math.Abs(expected-2.88) > 0.02 {
		t.Errorf("expected %.3f points, want 2.88", expected)
	}
	if got := math.Round(1613 + change); got != 1601 {
		t.Errorf("got %v, want 1601", got)
	}
}

func TestRateOfTeams(t *testing.T) {
	for _, tc := range []struct {
		name    string
		k       float64
		result  wamble.Result
		players []Player
		want    []float64
	}{
		{"even sides, by moves", 32, wamble.WhiteWins, []Player{side(3, 0), side(1, 0), side(0, 4)}, []float64{12, 4, -16}},
		{"even sides, a draw", 32, wamble.Draw, []Player{side(3, 0), side(1, 0), side(0, 4)}, []float64{0, 0, 0}},
		{"who played both evenly stays where they are", 32, wamble.WhiteWins, []Player{side(2, 2), side(2, 0), side(0, 2)}, []float64{0, 8, -8}},
		{"a side is as strong as its moves", 32, wamble.BlackWins, // 3 × 1100 and 1 × 1500 are 1200
			[]Player{{White: 3, Rating: 1100}, {White: 1, Rating: 1500}, {Black: 4, Rating: 1200}},
			[]float64{-12, -4, 16}},
		{"the weaker side wins much", 32, wamble.WhiteWins, []Player{{White: 1, Rating: 1000}, {Black: 1, Rating: 1400}}, []float64{29.0909, -29.0909}},
		{"one side only", 32, wamble.Draw, []Player{side(1, 0), side(1, 0)}, []float64{0, 0}},
		{"ratings are off", 0, wamble.WhiteWins, []Player{side(1, 0), side(0, 1)}, []float64{0, 0}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for i := range tc.players {
				tc.players[i].Change = 7 // of another game
			}
			Rate(tc.k, tc.result, tc.players)
			for i := range tc.players {
				if got := tc.players[i].Change; math.Abs(got-tc.want[i]) > unit/10 {
					t.Errorf("player %d: got %v, want %v", i, got, tc.want[i])
				}
			}
		})
	}
}

// units returns a number in the unit that the stores keep.
func units(v float64) int64 { return int64(math.Round(v / unit)) }

// TestConservation checks the invariants of both in random games: the payouts never exceed
// the pot, and the changes of ratings sum to zero.
func TestConservation(t *testing.T) {
	games := prooftest.Sized(2000, 2000, 40_000)
	rng := prooftest.Random(t)
	for range games {
		players := make([]Player, 1+rng.IntN(120))
		for i := range players {
			players[i] = Player{White: rng.IntN(4), Black: rng.IntN(4), Rating: rng.Float64() * 3000}
		}
		pot, k := rng.Float64()*100, rng.Float64()*64
		result := []wamble.Result{wamble.WhiteWins, wamble.BlackWins, wamble.Draw}[rng.IntN(3)]
		Share(pot, result, players)
		Rate(k, result, players)
		paid, changed := int64(0), int64(0)
		for i := range players {
			p := &players[i]
			loser := result == wamble.WhiteWins && p.White == 0 || result == wamble.BlackWins && p.Black == 0
			if p.Points < 0 || loser && p.Points > 0 {
				t.Fatalf("%+v is paid after %v", *p, result)
			}
			if math.Abs(p.Change) > k+unit {
				t.Fatalf("%+v is changed by more than %v", *p, k)
			}
			paid, changed = paid+units(p.Points), changed+units(p.Change)
		}
		if paid > units(pot) || changed != 0 {
			t.Fatalf("paid %d of %d, changed by %d, in %d", paid, units(pot), changed, len(players))
		}
	}
}
