// Package predict lets players predict the next moves of boards, and pays them for correct predictions. It
// is pure: it is given the time, the numbers of new predictions and the positions of boards, and returns
// what must be stored as intents.
//
// Its nouns, and the files that bear their names:
//
//   - the Table is the predictions of all boards of a profile (table.go);
//   - a tree is the predictions of one board: each is a root, or follows another
//     one, its parent (tree.go);
//   - a Submission is a prediction that a player wants to make, a SubmitStatus its
//     result (submit.go);
//   - Erase deletes the predictions of sessions whose data is deleted (erase.go);
//   - Resolve compares a move with the predictions of its ply (resolve.go);
//   - a Row is a prediction as readers see it, under a pseudonym (read.go).
//
// A prediction is about one ply of its board:
//
//	                move of its ply ┌──▶ CORRECT    points grow with the streak
//	Submit ──▶ PENDING ─────────────┤
//	              │                 └──▶ INCORRECT  a penalty; the streak ends
//	              └───────────────────▶ EXPIRED    its parent was wrong or is
//	                                               deleted, its ply has passed
//	                                               unseen, or the game is over
//
// Invariants:
//
//   - Every prediction is resolved once: by the move of its ply or a later one, by
//     the end of its parent, or by the end of the game, unless it is deleted before.
//   - Every prediction was legal, provided that its ancestors come true.
//   - A prediction is in memory while it is pending, while one that follows it is
//     pending, and until the next move after its own. A tree has at most maxTree
//     predictions, and a table maxTable.
//   - No reader learns the token of another player.
package predict
