// The places of the wall.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Places } from "../src/wall/places";

const boards = (...ids: number[]) => new Map(ids.map((id) => [String(id), true]));

test("a board keeps its place, and a free place goes to the next that comes", () => {
  const p = new Places();
  assert.ok(p.settle(boards(1, 2, 3, 4)));
  assert.ok(!p.settle(boards(4, 3, 2, 1)), "another order is no change");
  assert.ok(p.settle(boards(4, 1, 3)));
  assert.deepEqual(p.slice(0, 9), ["1", null, "3", "4"]);
  p.settle(boards(9, 4, 3, 1, 8));
  assert.deepEqual(p.slice(0, 9), ["1", "9", "3", "4", "8"]);
  p.settle(boards(1));
  assert.deepEqual(p.slice(0, 9), ["1"]);
});

test("a board that comes back has its place again, unless another needed it", () => {
  const p = new Places();
  p.settle(boards(1, 2, 3, 4));
  p.settle(boards(1, 3));
  assert.deepEqual(p.slice(0, 9), ["1", null, "3"]);
  p.settle(boards(1, 3, 4));
  assert.deepEqual(p.slice(0, 9), ["1", null, "3", "4"]);
  p.settle(boards(1, 4));
  p.settle(boards(1, 4, 5));
  assert.deepEqual(p.slice(0, 9), ["1", "5", null, "4"], "the place that was free for longest");
  p.settle(boards(1, 4, 5, 2, 3));
  assert.deepEqual(p.slice(0, 9), ["1", "5", "3", "4", "2"], "the place of 2 is taken, that of 3 is not");
});

test("whatever comes and goes, no board moves", () => {
  const p = new Places();
  let seed = 1;
  const random = (n: number) => (seed = (seed * 48271) % 0x7fffffff) % n;
  const live = new Set<number>();
  let before = new Map<string, number>();
  for (let i = 0; i < 2000; i++) {
    const id = random(300);
    if (!live.delete(id)) live.add(id);
    p.settle(boards(...live));
    const now = new Map(p.slice(0, p.length).flatMap((b, at) => (b === null ? [] : [[b, at] as const])));
    assert.equal(now.size, live.size);
    for (const [b, at] of now) if (before.has(b)) assert.equal(at, before.get(b));
    before = now;
  }
});
