// Package chess is the rules of chess and Chess960, and the notations in
// which games are written. It has no clock, opens nothing and keeps no state:
// everything but the reader and the writer of files is a value.
//
//   - Position: the board, whose turn it is, castling, en passant, counters.
//     A comparable value of 40 bytes. ParseFEN, Start and Chess960 make one,
//     FEN writes it, Key hashes it.
//   - Move: 16 bits that mean something in one Position. LegalMoves,
//     LegalFrom, ParseUCI and ParseSAN make one; Play applies it and returns
//     the next Position; Apply plays it on a Position itself.
//   - Square, Piece, Kind, Color: what stands where.
//   - History: the keys of the positions that can still be repeated.
//   - Outcome: how a game stands, from a Position and its History.
//   - Game: tags, moves, comments, annotations, variations and result, read and
//     written as PGN; PGNReader and PGNWriter do so for files of any length.
//   - SVG: a drawing of a Position.
//   - Perft, Divide: the proof that the generator is right.
//
// Invariants:
//
//   - A Position made here obeys the rules listed at ParseFEN, and
//     ParseFEN(p.FEN()) == p.
//   - Moves are legal when they are made; nothing pseudo-legal is ever seen.
//   - Castling is one Move. It is written as the king's two steps (e1g1) on a
//     classical board and as king takes own rook (e1h1) on a Chess960 board,
//     never the other way round.
//   - No call allocates, except to return a string, a slice or an error;
//     every such call has an Append form.
//
// Inside, a board is four 64-bit words seen by the side to move, which always
// plays up the board (see board). Legal moves come from three facts about the
// own king that are computed once: who gives check, which own pieces are
// pinned on which line, and which squares the king may step on.
//
//	ParseFEN ──► Position ──LegalMoves──► Move ──┐
//	                ▲                            │
//	                └──────────── Play ◄─────────┘
package chess
