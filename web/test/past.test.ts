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

test("a minute has the pages that were asked for, says when there are more, and goes on there", async () => {
  const fen = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
  const asked: string[] = [];
  const ask = async (time: string, from: string) => {
    asked.push(`${time} ${from}`);
    const board = Number(from || 9);
    return { boards: board === 7 ? [] : [{ board, fen, ply: 0 }], next: board > 1 ? String(board - 2) : undefined }; // 9, 7 (none), 5, 3, 1
  };
  const boards = (m: Minute) => m.look(noon).map((s) => s.id);
  const some = await Minute.load(noon, 3, ask);
  assert.deepEqual(boards(some), ["5", "9"]);
  assert.equal(some.next, "3");
  const all = await Minute.load(noon, 7, ask, some);
  assert.deepEqual(boards(all), ["1", "3", "5", "9"]);
  assert.equal(all.next, "");
  assert.deepEqual(asked, ["", "7", "5", "3", "1"].map((from) => `2026-11-15T12:00:00.000Z ${from}`));
});
