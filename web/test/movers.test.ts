// Who has moved in a game.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { GameMove } from "../src/api";
import { moversOf } from "../src/movers";

const move = (ply: number, session?: number, handle?: string): GameMove => ({ ply, uci: "e2e4", session, handle });

test("who moved last comes first, and everybody once, whatever the session", () => {
  const all = moversOf([move(1, 10), move(2, 11, "ada"), move(3, 12), move(4, 10), move(5, 13, "ada"), move(6)]);
  assert.deepEqual(all.map((w) => w.handle ?? w.session), ["ada", 10, 12]);
});

test("nobody has moved", () => assert.deepEqual(moversOf([]), []));
