// Package chess has the rules of chess and Chess960, and reads and writes the notations of
// games. It reads no clock, opens no files and keeps no state; all types but PGNReader and
// PGNWriter are plain values.
//
//   - Position: the board, whose turn it is, castling, en passant, counters.
//     A comparable value of 40 bytes. ParseFEN, Start and Chess960 return one,
//     FEN writes it, Key hashes it.
//   - Move: 16 bits that are valid in one Position only. LegalMoves, LegalFrom,
//     ParseUCI and ParseSAN return them; Play applies one and returns the next
//     Position; Apply changes the Position itself.
//   - Square, Piece, Kind, Color: the parts of a board.
//   - History: the keys of the positions that can still be repeated.
//   - Outcome: whether a game is over and why, from a Position and its History.
//   - Game: tags, moves, comments, annotations, variations and result, read and
//     written as PGN; PGNReader and PGNWriter do so for files of any length.
//   - SVG: a drawing of a Position.
//   - Perft, Divide: counts of legal moves, to check the move generator.
//
// Invariants:
//
//   - A Position returned by this package obeys the rules listed at ParseFEN,
//     and ParseFEN(p.FEN()) == p.
//   - Every returned Move is legal in its Position.
//   - Castling is one Move. It is written as the king's two steps (e1g1) on a
//     classical board and as king takes own rook (e1h1) on a Chess960 board,
//     never the other way round.
//   - Methods of Position and Move allocate only what they return. Those that
//     return a string have an Append form.
//
// Internally, a board is four 64-bit words as the side to move sees it (see board). Legal moves
// follow from three facts about its king, which are computed once: which pieces give check,
// which own pieces are pinned on which line, and which squares the king may step on.
//
//	ParseFEN ──► Position ──LegalMoves──► Move ──┐
//	                ▲                            │
//	                └──────────── Play ◄─────────┘
package chess
