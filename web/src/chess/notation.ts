// Moves as text: UCI for the server, SAN for people.

import { castlingSquares, fileOf, type Move, Position, rankOf, squareName } from "./position";

/** uci is a move on the wire: castling takes the own rook on a Chess960 board. */
export function uci(m: Move, chess960: boolean): string {
  const to = m.castling && !chess960 ? castlingSquares(m.from, m.to).kingTo : m.to;
  return squareName(m.from) + squareName(to) + m.promotion;
}

/** fromUCI finds the legal move that a text means, in either way of castling. */
export function fromUCI(p: Position, text: string): Move | undefined {
  const legal = p.legal();
  return legal.find((m) => uci(m, true) === text) ?? legal.find((m) => m.castling && uci(m, false) === text);
}

/** san is a move as people write it, with + and #. */
export function san(p: Position, m: Move): string {
  const after = p.play(m);
  const mark = after.inCheck ? (after.legal().length === 0 ? "#" : "+") : "";
  if (m.castling) return (m.to > m.from ? "O-O" : "O-O-O") + mark;
  const kind = p.at(m.from).toUpperCase();
  const takes = p.captures(m) ? "x" : "";
  if (kind === "P") {
    const promotes = m.promotion ? "=" + m.promotion.toUpperCase() : "";
    return (takes ? squareName(m.from)[0] + "x" : "") + squareName(m.to) + promotes + mark;
  }
  return kind + from(p, m) + takes + squareName(m.to) + mark;
}

/** from returns as much of the square as tells the piece from others of its kind. */
function from(p: Position, m: Move): string {
  const like = p.legal().filter((x) => x.to === m.to && x.from !== m.from && !x.castling && p.at(x.from) === p.at(m.from));
  if (like.length === 0) return "";
  const name = squareName(m.from);
  if (like.every((x) => fileOf(x.from) !== fileOf(m.from))) return name[0];
  if (like.every((x) => rankOf(x.from) !== rankOf(m.from))) return name[1];
  return name;
}

/** typed finds the legal moves that a typed text means: UCI, or SAN with as much of it as people write. */
export function typed(p: Position, text: string): Move[] {
  const plain = (s: string) => s.replace(/[-x+#=!?:\s.]/g, "");
  const asked = plain(text).replace(/^[0oO]{3}$/, "OOO").replace(/^[0oO]{2}$/, "OO");
  const byUCI = fromUCI(p, asked.toLowerCase());
  if (byUCI && asked.length >= 4 && !/^[KQRBN]/.test(asked)) return [byUCI];
  const legal = p.legal();
  const exact = legal.filter((m) => plain(san(p, m)) === asked);
  if (exact.length > 0) return exact;
  const loose = legal.filter((m) => plain(san(p, m)).toLowerCase() === asked.toLowerCase());
  if (loose.length > 0) return loose;
  const [, piece, square] = /^([KQRBN])([a-h][1-8])$/.exec(asked) ?? [];
  return piece ? legal.filter((m) => !m.castling && p.at(m.from).toUpperCase() === piece && squareName(m.to) === square) : [];
}

/** reached finds the move that leads from one position to another's placement. */
export function reached(p: Position, placement: string): Move | undefined {
  return p.legal().find((m) => p.play(m).placement === placement);
}

export type Outcome = "checkmate" | "stalemate" | null;

export function outcome(p: Position): Outcome {
  if (p.legal().length > 0) return null;
  return p.inCheck ? "checkmate" : "stalemate";
}
