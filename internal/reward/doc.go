// Package reward says what a finished game is worth to those who played it: the
// points of its pot, the change of their ratings, and when they are told. It is a
// pure room: it takes plain values, and returns what is to be written down.
//
// Its nouns, and the files that bear their names:
//
//   - a Player is one who moved: how often for either side, and how strong he
//     is (player.go);
//   - the pot is shared among the winning side by moves, or among both after a
//     draw; in full only by a side of two players or more (pot.go);
//   - a rating changes by the surprise of the result, weighed by the share of
//     moves (rating.go);
//   - a Ledger makes the intents of a finished game (finish.go);
//   - a Prize is what a player has won since he was told (prize.go).
//
// Invariants:
//
//   - All that is paid is at most the pot, and nobody is paid less than nothing.
//   - What one side's ratings win the other's lose, to the last ten-thousandth,
//     counting those who have no rating to be kept.
//   - Both count in whole units of 1/10,000, which is what the stores keep, so
//     memory and store never drift apart.
package reward
