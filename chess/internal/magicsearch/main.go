// Command magicsearch finds the multipliers of chess/magic.go. It is run by
// hand, once; the package's tests prove the numbers, not this program.
//
//	go run ./chess/internal/magicsearch > /tmp/magics
package main

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
)

func main() {
	rng := rand.New(rand.NewPCG(518, 960))
	search(rng, "rookMagics", [4][2]int{{0, 1}, {0, -1}, {1, 0}, {-1, 0}})
	search(rng, "bishopMagics", [4][2]int{{1, 1}, {1, -1}, {-1, 1}, {-1, -1}})
}

// search prints one multiplier per square that maps every set of blockers to
// an index of exactly as many bits as there are relevant squares.
func search(rng *rand.Rand, name string, steps [4][2]int) {
	fmt.Printf("var %s = [64]uint64{\n", name)
	for square := range 64 {
		mask := walk(square, 0, steps, true)
		width := bits.OnesCount64(mask)
		var blockers, attacks []uint64
		for set := uint64(0); ; set = (set - mask) & mask {
			blockers = append(blockers, set)
			attacks = append(attacks, walk(square, set, steps, false))
			if (set-mask)&mask == 0 {
				break
			}
		}
		fmt.Printf("\t0x%016x,\n", find(rng, blockers, attacks, width))
	}
	fmt.Println("}")
}

// find tries sparse random numbers until one has no harmful collision.
func find(rng *rand.Rand, blockers, attacks []uint64, width int) uint64 {
	seen := make([]uint64, 1<<width)
	for {
		magic := rng.Uint64() & rng.Uint64() & rng.Uint64()
		clear(seen)
		good := true
		for i, set := range blockers {
			slot := &seen[set*magic>>(64-width)]
			if *slot == 0 {
				*slot = attacks[i]
			} else if *slot != attacks[i] {
				good = false
				break
			}
		}
		if good {
			return magic
		}
	}
}

// walk collects the squares seen along steps until a blocker. With inner set
// the last square before the rim is left out: a piece there blocks nothing.
func walk(square int, blockers uint64, steps [4][2]int, inner bool) uint64 {
	var seen uint64
	for _, step := range steps {
		file, rank := square%8+step[0], square/8+step[1]
		for file >= 0 && file < 8 && rank >= 0 && rank < 8 {
			nextFile, nextRank := file+step[0], rank+step[1]
			if inner && (nextFile < 0 || nextFile > 7 || nextRank < 0 || nextRank > 7) {
				break
			}
			bit := uint64(1) << (rank*8 + file)
			seen |= bit
			if blockers&bit != 0 {
				break
			}
			file, rank = nextFile, nextRank
		}
	}
	return seen
}
