// Package reward computes what a finished game is worth to its players: the points of its pot, the changes
// of their ratings, and when they are told. It is pure: it takes plain values, and returns what must be
// stored.
//
// Its nouns, and the files that bear their names:
//
//   - a Player is one who has moved: the moves for either side, and the rating
//     (player.go);
//   - the pot is divided among the winning side by moves, or among both after a
//     draw; in full only for a side of two players or more (pot.go);
//   - a rating changes by the surprise of the result, weighted by the share of
//     moves (rating.go);
//   - a Ledger makes the intents of a finished game (finish.go);
//   - a Prize is what a player has won since they were last told (prize.go).
//
// Invariants:
//
//   - The payouts sum to at most the pot, and none is negative.
//   - What one side's ratings gain the other's lose, to the last ten-thousandth,
//     counting players without a rating that is kept.
//   - Both count in whole units of 1/10,000, which is what the stores keep, so
//     memory and store never drift apart.
package reward
