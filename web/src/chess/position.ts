// A position of chess, standard or Chess960: FEN in, legal moves, the position
// after a move. The server is the judge; this is here so that the dots appear
// at once and a move list can be walked.
//
// Squares are numbers as on the wire: a1 is 0, h1 is 7, h8 is 63.

export type Color = "w" | "b";

/** A piece is its FEN letter; "" is none. */
export type Piece = string;

export interface Move {
  from: number;
  to: number; // of a castling: the square of the rook
  promotion: string; // "q", "r", "b", "n" or ""
  castling: boolean;
}

export const fileOf = (s: number): number => s & 7;
export const rankOf = (s: number): number => s >> 3;
export const squareName = (s: number): string => "abcdefgh"[fileOf(s)] + (rankOf(s) + 1);
const squareOf = (name: string): number => name.charCodeAt(0) - 97 + 8 * (name.charCodeAt(1) - 49);
export const colorOf = (p: Piece): Color => (p === p.toUpperCase() ? "w" : "b");
const is = (p: Piece, color: Color, kind: string): boolean => p === (color === "w" ? kind.toUpperCase() : kind);
const other = (c: Color): Color => (c === "w" ? "b" : "w");

const straight = [[1, 0], [-1, 0], [0, 1], [0, -1]];
const diagonal = [[1, 1], [1, -1], [-1, 1], [-1, -1]];
const around = [...straight, ...diagonal];
const leaps = [[1, 2], [2, 1], [-1, 2], [-2, 1], [1, -2], [2, -1], [-1, -2], [-2, -1]];

/** step is the square df files and dr ranks away, or -1. */
function step(s: number, df: number, dr: number): number {
  const f = fileOf(s) + df;
  const r = rankOf(s) + dr;
  return f < 0 || f > 7 || r < 0 || r > 7 ? -1 : 8 * r + f;
}

export class Position {
  private constructor(
    readonly squares: readonly Piece[],
    readonly turn: Color,
    readonly rooks: readonly number[], // that may still castle
    readonly enPassant: number, // square, or -1
    readonly clock: number,
    readonly number: number,
  ) {}

  /** parse reads a FEN; fields that are missing are "no castling, no en passant". */
  static parse(fen: string): Position {
    const [placement, turn, castling, ep, clock, number] = fen.trim().split(/\s+/);
    const squares: Piece[] = Array(64).fill("");
    placement.split("/").forEach((row, i) => {
      let s = 8 * (7 - i);
      for (const c of row) {
        if (c >= "1" && c <= "8") s += Number(c);
        else squares[s++] = c;
      }
    });
    const rooks = [...(castling ?? "-")].filter((c) => c !== "-").map((c) => castlingRook(squares, c));
    return new Position(
      squares.slice(0, 64),
      turn === "b" ? "b" : "w",
      rooks.filter((s) => s >= 0),
      ep && ep !== "-" ? squareOf(ep) : -1,
      Number(clock ?? 0) || 0,
      Number(number ?? 1) || 1,
    );
  }

  /** ply is how many moves were made before this position. */
  get ply(): number {
    return 2 * (this.number - 1) + (this.turn === "b" ? 1 : 0);
  }

  at(s: number): Piece {
    return this.squares[s];
  }

  king(color: Color): number {
    return this.squares.indexOf(color === "w" ? "K" : "k");
  }

  get inCheck(): boolean {
    return attacked(this.squares, this.king(this.turn), other(this.turn));
  }

  /** placement is the first field of a FEN. */
  get placement(): string {
    const rows: string[] = [];
    for (let r = 7; r >= 0; r--) {
      let row = "";
      for (let f = 0; f < 8; f++) row += this.squares[8 * r + f] || "1";
      rows.push(row.replace(/1+/g, (ones) => String(ones.length)));
    }
    return rows.join("/");
  }

  /** legal are the legal moves, or those of one square. */
  legal(from?: number): Move[] {
    const all: Move[] = [];
    for (let s = 0; s < 64; s++) {
      const p = this.squares[s];
      if (p && colorOf(p) === this.turn && (from === undefined || from === s)) this.pseudo(s, p.toLowerCase(), all);
    }
    return all.filter((m) => m.castling || this.isSafe(m));
  }

  private isSafe(m: Move): boolean {
    const after = this.placed(m);
    const king = after.indexOf(this.turn === "w" ? "K" : "k");
    return king < 0 || !attacked(after, king, other(this.turn));
  }

  private pseudo(s: number, kind: string, out: Move[]): void {
    const add = (to: number, promotion = "", castling = false) => out.push({ from: s, to, promotion, castling });
    const free = (to: number) => to >= 0 && (!this.squares[to] || colorOf(this.squares[to]) !== this.turn);
    switch (kind) {
      case "p":
        this.pawn(s, add);
        break;
      case "n":
        for (const [f, r] of leaps) if (free(step(s, f, r))) add(step(s, f, r));
        break;
      case "k":
        for (const [f, r] of around) if (free(step(s, f, r))) add(step(s, f, r));
        for (const rook of this.rooks) if (this.mayCastle(s, rook)) add(rook, "", true);
        break;
      default: {
        const rays = kind === "r" ? straight : kind === "b" ? diagonal : around;
        for (const [f, r] of rays) {
          for (let to = step(s, f, r); free(to); to = step(to, f, r)) {
            add(to);
            if (this.squares[to]) break;
          }
        }
      }
    }
  }

  private pawn(s: number, add: (to: number, promotion?: string) => void): void {
    const up = this.turn === "w" ? 1 : -1;
    const [home, last] = this.turn === "w" ? [1, 7] : [6, 0];
    const put = (to: number) => {
      if (rankOf(to) === last) for (const p of "qrbn") add(to, p);
      else add(to);
    };
    const one = step(s, 0, up);
    if (one >= 0 && !this.squares[one]) {
      put(one);
      const two = step(s, 0, 2 * up);
      if (rankOf(s) === home && !this.squares[two]) add(two);
    }
    for (const side of [-1, 1]) {
      const to = step(s, side, up);
      if (to < 0) continue;
      const target = this.squares[to];
      if (target ? colorOf(target) !== this.turn : to === this.enPassant) put(to);
    }
  }

  private mayCastle(king: number, rook: number): boolean {
    if (rankOf(king) !== rankOf(rook) || !is(this.squares[rook], this.turn, "r")) return false;
    const { kingTo, rookTo } = castlingSquares(king, rook);
    const squares = [...this.squares];
    squares[king] = squares[rook] = "";
    const [low, high] = [Math.min(king, rook, kingTo, rookTo), Math.max(king, rook, kingTo, rookTo)];
    for (let s = low; s <= high; s++) {
      const passed = between(s, king, kingTo) || between(s, rook, rookTo);
      if (passed && squares[s]) return false;
    }
    for (let s = Math.min(king, kingTo); s <= Math.max(king, kingTo); s++) {
      if (attacked(squares, s, other(this.turn))) return false;
    }
    squares[rookTo] = this.turn === "w" ? "R" : "r"; // it may have shielded the king
    return !attacked(squares, kingTo, other(this.turn));
  }

  private placed(m: Move): Piece[] {
    const squares = [...this.squares];
    const piece = squares[m.from];
    if (m.castling) {
      const { kingTo, rookTo } = castlingSquares(m.from, m.to);
      const rook = squares[m.to];
      squares[m.from] = squares[m.to] = "";
      squares[kingTo] = piece;
      squares[rookTo] = rook;
      return squares;
    }
    squares[m.from] = "";
    if (piece.toLowerCase() === "p" && m.to === this.enPassant) squares[8 * rankOf(m.from) + fileOf(m.to)] = "";
    squares[m.to] = m.promotion ? (this.turn === "w" ? m.promotion.toUpperCase() : m.promotion) : piece;
    return squares;
  }

  /** play is the position after a move. */
  play(m: Move): Position {
    const kind = this.squares[m.from].toLowerCase();
    const double = kind === "p" && Math.abs(rankOf(m.from) - rankOf(m.to)) === 2;
    const home = this.turn === "w" ? 0 : 7;
    const rooks = this.rooks.filter((s) => s !== m.from && s !== m.to && !(kind === "k" && rankOf(s) === home));
    const captures = !m.castling && (this.squares[m.to] !== "" || (kind === "p" && m.to === this.enPassant));
    return new Position(
      this.placed(m),
      other(this.turn),
      rooks,
      double ? (m.from + m.to) / 2 : -1,
      captures || kind === "p" ? 0 : this.clock + 1,
      this.number + (this.turn === "b" ? 1 : 0),
    );
  }

  captures(m: Move): boolean {
    return !m.castling && (this.squares[m.to] !== "" || (this.squares[m.from].toLowerCase() === "p" && fileOf(m.from) !== fileOf(m.to)));
  }
}

const between = (s: number, a: number, b: number): boolean => s >= Math.min(a, b) && s <= Math.max(a, b);

/** castlingSquares are where king and rook end: c and d, or g and f. */
export function castlingSquares(king: number, rook: number): { kingTo: number; rookTo: number } {
  const row = 8 * rankOf(king);
  return rook > king ? { kingTo: row + 6, rookTo: row + 5 } : { kingTo: row + 2, rookTo: row + 3 };
}

/** castlingRook is the square of the rook that a letter of a FEN names. */
function castlingRook(squares: Piece[], letter: string): number {
  const white = letter === letter.toUpperCase();
  const row = white ? 0 : 56;
  const rook = white ? "R" : "r";
  const l = letter.toLowerCase();
  if (l !== "k" && l !== "q") return row + l.charCodeAt(0) - 97;
  const king = squares.indexOf(white ? "K" : "k");
  if (l === "k") for (let s = row + 7; s > king; s--) if (squares[s] === rook) return s;
  if (l === "q") for (let s = row; s < king; s++) if (squares[s] === rook) return s;
  return -1;
}

/** attacked reports whether a square is attacked by a colour. */
function attacked(squares: readonly Piece[], s: number, by: Color): boolean {
  if (s < 0) return false;
  const has = (to: number, kind: string) => to >= 0 && is(squares[to], by, kind);
  const up = by === "w" ? -1 : 1;
  if (has(step(s, -1, up), "p") || has(step(s, 1, up), "p")) return true;
  if (leaps.some(([f, r]) => has(step(s, f, r), "n")) || around.some(([f, r]) => has(step(s, f, r), "k"))) return true;
  return around.some(([f, r], i) => {
    let to = step(s, f, r);
    while (to >= 0 && !squares[to]) to = step(to, f, r);
    return has(to, "q") || has(to, i < 4 ? "r" : "b");
  });
}
