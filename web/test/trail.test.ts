// What became of a move.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fateOf, joined, lastHere, newlyLost, newsSince } from "../src/fate";
import type { Game, Kept } from "../src/api";

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

const kept: Kept = {
  seen: "2026-11-15T11:00:00Z",
  boards: [
    {
      board: 7,
      plies: 4,
      moves: [
        { ply: 2, uci: "e7e5", san: "e5", at: "2026-11-15T10:00:00Z", reply: "g4", answered: "2026-11-15T12:00:00Z" },
        { ply: 4, uci: "d8h4", san: "Qh4#", at: "2026-11-15T12:01:00Z" },
      ],
      result: { winner: "black", finished: "2026-11-15T12:01:00Z" },
      points: 3.25,
    },
    { board: 8, plies: 2, moves: [{ ply: 1, uci: "e1g1", san: "O-O", at: "2026-11-15T10:30:00Z", reply: "c5", answered: "2026-11-15T11:30:00Z" }] },
    { board: 9, plies: 1, moves: [{ ply: 1, uci: "g1f3", san: "Nf3", at: "2026-11-15T10:40:00Z" }] },
  ],
};

test("the trail of the server is joined with that of the browser", () => {
  const mine = { board: "7", san: "e5", piece: "p", at: 5, ply: 2 };
  const fresh = { board: "10", san: "d4", piece: "P", at: Date.parse("2026-11-15T13:00:00Z"), ply: 1 };
  const { steps, won } = joined({ steps: [fresh, mine], won: { "3": "1" } }, kept);
  assert.deepEqual(
    steps.map((s) => [s.board, s.ply, s.san, s.piece, s.fate?.state, s.fate?.reply]),
    [
      ["10", 1, "d4", "P", undefined, undefined],
      ["7", 4, "Qh4#", "q", "won", undefined],
      ["9", 1, "Nf3", "N", "waits", undefined],
      ["8", 1, "O-O", "K", "answered", "c5"],
      ["7", 2, "e5", "p", "won", "g4"],
    ],
  );
  assert.deepEqual(won, { "3": "1", "7": "3.25" });
  assert.deepEqual(joined({ steps, won }, kept), { steps, won });
});

test("an end that the browser has seen outlives a trail of the server that is a moment old", () => {
  const mate = { board: "8", san: "O-O", piece: "K", at: 5, ply: 1, fate: { state: "won" as const } };
  const { steps } = joined({ steps: [mate], won: {} }, kept);
  assert.equal(steps.find((s) => s.board === "8")?.fate?.state, "won");
});

test("what happened while the player was away is told once for each board", () => {
  assert.deepEqual(newsSince(Date.parse(kept.seen!), kept), { answered: 1, won: 1, lost: 0, drawn: 0 });
  assert.deepEqual(newsSince(Date.parse("2026-11-15T11:45:00Z"), kept), { answered: 0, won: 1, lost: 0, drawn: 0 });
  assert.equal(newsSince(Date.parse("2026-11-15T13:00:00Z"), kept), null);
  assert.equal(newsSince(Date.parse("2026-11-15T09:00:00Z"), kept), null);
  const hour = (h: number) => Date.parse(`2026-11-15T${h}:00:00Z`);
  assert.equal(lastHere(kept, 0, hour(12)), hour(11)); // another session
  assert.equal(lastHere(kept, hour(12), hour(13)), hour(12) + 60_000); // the last move
  assert.equal(lastHere({ boards: [] }, 0, hour(13)), 0);
});

test("a loss is told once for each board, also when the server's trail brings it", () => {
  const lost = (ply: number) => ({ ...step(ply), fate: { state: "lost" as const } });
  const elsewhere = { ...lost(1), board: "8" };
  const before = [step(3), step(1), { ...step(2), fate: { state: "won" as const } }];
  assert.deepEqual(newlyLost(before, [lost(3), lost(1), elsewhere]), [lost(3)]);
  assert.deepEqual(newlyLost([lost(3), step(1)], [lost(3), lost(1)]), [lost(1)]);
  assert.deepEqual(newlyLost([lost(3), lost(1)], [lost(3), lost(1)]), []);
});
