package reward

import (
	"fmt"
	"testing"

	"wamble"
)

// One operation is the end of a game by so many players.
func BenchmarkScore(b *testing.B) {
	for _, n := range []int{2, 40, 100} {
		b.Run(fmt.Sprintf("players=%d", n), func(b *testing.B) {
			players := make([]Player, n)
			for i := range players {
				players[i] = Player{White: 1 - i%2, Black: i % 2, Rating: 1200}
			}
			b.ReportAllocs()
			for b.Loop() {
				Share(20, wamble.WhiteWins, players)
				Rate(32, wamble.WhiteWins, players)
			}
		})
	}
}
