package reward

import (
	"math"
	"testing"

	"wamble"
)

// side is a player who moved for either side.
func side(white, black int) Player { return Player{White: white, Black: black, Rating: 1200} }

// known is a player with an identity.
func known(white, black int, key byte) Player {
	return Player{White: white, Black: black, Rating: 1200, Rated: true, Key: wamble.PublicKey{key},
		Number: uint32(key)}
}

func TestShare(t *testing.T) {
	for _, tc := range []struct {
		name    string
		pot     float64
		result  wamble.Result
		players []Player
		want    []float64
	}{
		{"white wins: only white is paid, by moves", 20, wamble.WhiteWins, []Player{side(18, 0), side(2, 0), side(0, 20)}, []float64{18, 2, 0}},
		{"black wins, alone", 20, wamble.BlackWins, []Player{side(18, 0), side(2, 0), side(0, 20)}, []float64{0, 0, 10}},
		{"draw: each side has half", 20, wamble.Draw, []Player{side(5, 0), side(0, 5), side(5, 0), side(0, 5)}, []float64{5, 5, 5, 5}},
		{"draw of one against one", 20, wamble.Draw, []Player{side(10, 0), side(0, 10)}, []float64{5, 5}},
		{"draw of one against two", 20, wamble.Draw, []Player{side(10, 0), side(0, 5), side(0, 5)}, []float64{5, 5, 5}},
		{"who played both gets half, the rest stays", 20, wamble.WhiteWins, []Player{side(10, 10), side(10, 0)}, []float64{5, 10}},
		{"who played both, and won for White alone", 20, wamble.WhiteWins, []Player{side(10, 9), side(0, 1)}, []float64{5, 0}},
		{"mated their own side", 20, wamble.WhiteWins, []Player{side(10, 10)}, []float64{0}},
		{"drew with their own side", 20, wamble.Draw, []Player{side(10, 10)}, []float64{0}},
		{"mated their own side from another session", 20, wamble.WhiteWins, []Player{known(10, 0, 1), known(0, 10, 1)}, []float64{0, 0}},
		{"two sessions of one identity are one player", 20, wamble.WhiteWins, []Player{known(5, 0, 1), known(5, 0, 1), known(0, 10, 2)}, []float64{5, 5, 0}},
		{"thirds are rounded down", 20, wamble.WhiteWins, []Player{side(1, 0), side(1, 0), side(1, 0)}, []float64{6.6666, 6.6666, 6.6666}},
		{"a draw by one side's moves", 20, wamble.Draw, []Player{side(2, 0), side(1, 0)}, []float64{6.6666, 3.3333}},
		{"nobody moved for the winner", 20, wamble.BlackWins, []Player{side(1, 0), side(1, 0)}, []float64{0, 0}},
		{"no pot", 0, wamble.WhiteWins, []Player{side(1, 0)}, []float64{0}},
		{"the least of a pot", 0.0001, wamble.WhiteWins, []Player{side(1, 0), side(1, 0)}, []float64{0, 0}},
		{"nobody", 20, wamble.Draw, nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for i := range tc.players {
				tc.players[i].Session = wamble.SessionID(i + 1)
			}
			Share(tc.pot, tc.result, tc.players)
			for i := range tc.players {
				if got := tc.players[i].Points; math.Abs(got-tc.want[i]) > unit/10 {
					t.Errorf("player %d: got %v, want %v", i, got, tc.want[i])
				}
			}
		})
	}
}

func TestShareAllocatesNothing(t *testing.T) {
	players := make([]Player, 100)
	for i := range players {
		players[i] = side(1+i%3, i%2)
	}
	if got := testing.AllocsPerRun(100, func() {
		Share(20, wamble.Draw, players)
		Rate(32, wamble.Draw, players)
	}); got != 0 {
		t.Errorf("%v allocations, want none", got)
	}
}
