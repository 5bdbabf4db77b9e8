// What became of a move.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fateOf } from "../src/fate";
import type { Game } from "../src/api";

const fools = ["f2f3", "e7e5", "g2g4", "d8h4"];
const game = (plies: number, result?: Game["result"]): Game => ({
  board: 7,
  status: result ? "ARCHIVED" : "ACTIVE",
  version: 1,
  fen: "",
  moves: fools.slice(0, plies).map((uci, i) => ({ ply: i + 1, uci })),
  result,
});
const step = (ply: number) => ({ board: "7", san: "", piece: "P", at: 0, ply });
const mate = { winner: "black", reason: "checkmate", plies: 4 };

test("a move waits, is answered, and is won or lost with its side", () => {
  assert.deepEqual(fateOf(step(1), game(1)), { state: "waits" });
  assert.deepEqual(fateOf(step(1), game(2)), { state: "answered", reply: "e5", moves: 1 });
  assert.deepEqual(fateOf(step(3), game(4)), { state: "answered", reply: "Qh4#", moves: 1 });
  assert.equal(fateOf(step(1), game(4, mate)).state, "lost");
  assert.equal(fateOf(step(2), game(4, mate)).state, "won");
  assert.equal(fateOf(step(4), game(4, mate)).state, "won");
  assert.equal(fateOf(step(4), game(4, { ...mate, winner: "draw" })).state, "draw");
});
