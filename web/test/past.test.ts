// A minute of the past.

import assert from "node:assert/strict";
import { test } from "node:test";
import { addressOf, Minute, minuteOf } from "../src/wall/past";

const noon = Date.parse("2026-11-15T12:00:00Z");
const mate = new Minute(noon, [
  { board: 18, fen: "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", ply: 0, from: 1500, moves: [{ after: 4000, uci: "e2e4" }] },
  {
    board: 17,
    fen: "rnbqkbnr/pppp1ppp/8/4p3/8/5P2/PPPPP1PP/RNBQKBNR w KQkq - 0 2",
    ply: 2,
    last: "e7e5",
    moves: [
      { after: 1000, uci: "g2g4" },
      { after: 2000, uci: "d8h4" },
    ],
    end: { after: 2000, winner: "black", reason: "checkmate" },
  },
]);
const over = new Minute(noon, [{ board: 15, fen: "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", ply: 0, end: { after: -2000, winner: "draw", reason: "archived" } }]);
const at = (after: number) => mate.look(noon + after).map((s) => `${s.id}:${s.ply}${s.end ? ` ${s.end.winner}` : ""}`);

test("a game that ended a moment before the minute is still shown", () => {
  assert.deepEqual(over.look(noon).map((s) => s.end?.winner), ["draw"]);
  assert.deepEqual(over.look(noon + 4001), []);
});

test("boards are made, change and end at their moment", () => {
  assert.deepEqual(at(0), ["17:2"]);
  assert.deepEqual(at(999), ["17:2"]);
  assert.deepEqual(at(1500), ["17:3", "18:0"]);
  assert.deepEqual(at(2000), ["17:4 black", "18:0"]);
  assert.deepEqual(at(5000), ["17:4 black", "18:1"]);
  assert.deepEqual(at(9000), ["18:1"]);
  assert.deepEqual(at(500), ["17:2"]); // and back
});

test("a board says its last move", () => {
  assert.deepEqual(mate.look(noon)[0].lastMove, [52, 36]);
  const [queen] = mate.look(noon + 2000);
  assert.deepEqual(queen.lastMove, [59, 31]);
  assert.equal(queen.fen, "rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w");
});

test("a time has an address, and a minute", () => {
  assert.equal(addressOf(noon + 1234), "/at/2026-11-15T12:00:01Z");
  assert.equal(minuteOf(noon + 59_999), noon);
  assert.equal(minuteOf(noon + 60_000), noon + 60_000);
});
