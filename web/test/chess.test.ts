// The rules against the perft tables of the Go package, and the notations.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { arrangement, fromUCI, outcome, Position, reached, san, typed, uci } from "../src/chess";

function perft(p: Position, depth: number): number {
  const moves = p.legal();
  if (depth === 1) return moves.length;
  return moves.reduce((n, m) => n + perft(p.play(m), depth - 1), 0);
}

for (const file of ["wiki", "chess960", "classical"]) {
  const text = readFileSync(new URL(`../../chess/testdata/perft/${file}.txt`, import.meta.url), "utf8");
  const rows = text
    .split("\n")
    .filter((l) => l && !l.startsWith("#"))
    .filter((_, i) => file === "wiki" || i % 10 === 0);
  test(`perft of ${file}`, () => {
    const most = file === "wiki" ? 10_000 : 1_000;
    for (const row of rows) {
      const [counts, fen] = row.split(" | ");
      counts
        .split(" ")
        .map(Number)
        .filter((n) => n <= most)
        .forEach((want, i) => assert.equal(perft(Position.parse(fen), i + 1), want, `${fen} at depth ${i + 1}`));
    }
  });
}

for (const [name, fen, move, want, after] of [
  ["pawn", "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "e2e4", "e4", "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR"],
  ["by file", "4k3/8/8/8/8/8/8/R3K2R w KQ - 0 1", "h1f1", "Rf1", "4k3/8/8/8/8/8/8/R3KR2"],
  ["knights", "4k3/8/8/8/8/5N2/8/1N2K3 w - - 0 1", "b1d2", "Nbd2", "4k3/8/8/8/8/5N2/3N4/4K3"],
  ["by rank", "4k3/8/8/N7/8/8/8/N3K3 w - - 0 1", "a1b3", "N1b3", "4k3/8/8/N7/8/1N6/8/4K3"],
  ["castling", "4k3/8/8/8/8/8/8/R3K2R w KQ - 0 1", "e1g1", "O-O", "4k3/8/8/8/8/8/8/R4RK1"],
  ["castling by the rook", "4k3/8/8/8/8/8/8/R3K2R w HA - 0 1", "e1a1", "O-O-O", "4k3/8/8/8/8/8/8/2KR3R"],
  ["en passant", "4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1", "e5d6", "exd6", "4k3/8/3P4/8/8/8/8/4K3"],
  ["promotion", "8/4P1k1/8/8/8/8/8/4K3 w - - 0 1", "e7e8n", "e8=N+", "4N3/6k1/8/8/8/8/8/4K3"],
  ["mate", "6k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1", "a1a8", "Ra8#", "R5k1/5ppp/8/8/8/8/8/4K3"],
] as const) {
  test(`${name}: ${move} is ${want}`, () => {
    const p = Position.parse(fen);
    const m = fromUCI(p, move);
    assert.ok(m);
    assert.equal(san(p, m), want);
    assert.equal(p.play(m).placement, after);
    assert.deepEqual(reached(p, after), m);
    assert.ok([uci(m, true), uci(m, false)].includes(move));
  });
}

test("the end of a game", () => {
  assert.equal(outcome(Position.parse("rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq - 1 3")), "checkmate");
  assert.equal(outcome(Position.parse("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1")), "stalemate");
  assert.equal(outcome(Position.parse("8/8/8/8/8/8/8/K1k5 w - - 0 1")), null);
});

test("a short FEN has no castling", () => {
  assert.equal(Position.parse("4k3/8/8/8/8/8/8/R3K2R w").legal(4).length, 5);
});

test("Chess960 arrangements by number", () => {
  // The ends of Scharnagl's table, and the classical one.
  assert.equal(arrangement(518), "rnbqkbnr");
  assert.equal(arrangement(0), "bbqnnrkr");
  assert.equal(arrangement(959), "rkrnnqbb");
  const all = new Set(Array.from({ length: 960 }, (_, i) => arrangement(i)));
  assert.equal(all.size, 960);
});

for (const [fen, text, want] of [
  ["rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "e4", "e2e4"],
  ["rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "e2e4", "e2e4"],
  ["rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "E2-E4", "e2e4"],
  ["rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "nf3", "g1f3"],
  ["rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "Nf3!", "g1f3"],
  ["rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "e5", ""],
  ["4k3/8/8/8/8/8/8/4K2R w K - 0 1", "0-0", "e1g1"],
  ["4k3/8/8/8/8/8/8/4K2R w K - 0 1", "O-O", "e1g1"],
  ["8/P6k/8/8/8/8/8/K7 w - - 0 1", "a8=Q", "a7a8q"],
  ["8/P6k/8/8/8/8/8/K7 w - - 0 1", "a8n", "a7a8n"],
  ["4k3/8/8/8/8/8/8/R3K2R w - - 0 1", "Rf1", "h1f1"],
  ["4k3/8/8/3p4/2B1P3/8/8/4K3 w - - 0 1", "Bxd5", "c4d5"],
  ["4k3/8/8/3p4/2B1P3/8/8/4K3 w - - 0 1", "exd5", "e4d5"],
  ["7k/8/8/8/8/8/N7/K3N3 w - - 0 1", "Nc2", "e1c2"],
  ["7k/8/8/8/8/N7/8/K3N3 w - - 0 1", "Nc2", "a3c2 e1c2"],
]) {
  test(`typed ${text} is ${want || "no move"}`, () => {
    const p = Position.parse(fen);
    assert.equal(typed(p, text).map((m) => uci(m, false)).sort().join(" "), want);
  });
}
