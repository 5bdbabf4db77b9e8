// The map and the board that is shown large.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Camera } from "../src/wall/camera";
import { cellOf, placeOf, sideOf } from "../src/wall/shells";
import { happeningOf, Spotlight } from "../src/wall/spotlight";

test("a board that many watch is shown, but not over a check, and not for two watchers", () => {
  const light = new Spotlight();
  assert.ok(light.happens({ id: "1", what: "move", at: 0, ply: 9 }));
  assert.equal(light.watched({ id: "2", at: 5_000, ply: 9, watchers: 2 }), false);
  assert.ok(light.watched({ id: "3", at: 5_000, ply: 9, watchers: 3 }));
  assert.equal(light.shown?.watchers, 3);
  light.happens({ id: "3", what: "check", at: 9_100, ply: 10 });
  assert.equal(light.watched({ id: "3", at: 9_200, ply: 10, watchers: 4 }), false);
  assert.equal(light.shown?.what, "check");
  assert.ok(light.watched({ id: "3", at: 14_000, ply: 10, watchers: 4 })); // that was long ago
  assert.equal(light.shown?.what, "watched");
});

test("every place of the map has a cell of its own, which does not depend on how many there are", () => {
  const seen = new Set<string>();
  for (let place = 0; place < 10_000; place++) {
    const [x, y] = cellOf(place);
    assert.equal(placeOf(x, y), place);
    assert.ok(Math.max(x, y) < sideOf(place + 1));
    seen.add(`${x},${y}`);
  }
  assert.equal(seen.size, 10_000);
  assert.equal(sideOf(10_000), 100);
});

test("the map shows everything, zooms around a point, and never leaves the screen", () => {
  const c = new Camera();
  c.fit(100, 1000, 700);
  assert.equal(c.scale, 7);
  const before = c.at(300, 200);
  c.zoom(4, 300, 200);
  assert.deepEqual(c.at(300, 200).map((v) => v.toFixed(6)), before.map((v) => v.toFixed(6)));
  c.pan(1e6, 1e6);
  assert.deepEqual(c.at(0, 0), [0, 0]);
  c.pan(-1e6, -1e6);
  assert.equal(c.at(1000, 700)[0].toFixed(6), "100.000000");
  c.show(0, 0);
  assert.deepEqual(c.at(0, 0), [0, 0]);
  c.zoom(1e9);
  assert.equal(c.scale, 320);
  c.zoom(1e-9);
  assert.equal(c.scale, 7);
  c.fit(200, 1000, 700);
  assert.equal(c.scale, 3.5, "it goes on to show everything");
});

const start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w";

test("what happens is read from the positions", () => {
  const of = happeningOf;
  assert.equal(of(undefined, start), "move");
  assert.equal(of(start, "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPP1/RNBQKBNR b"), "capture");
  assert.equal(of(start, "rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w"), "mate");
  assert.equal(of(start, "rnb1kbnr/pppp1ppp/8/4p3/7q/5P2/PPPPP1PP/RNBQKBNR w"), "check");
});

test("the light goes where something happens, and stays for a while", () => {
  const l = new Spotlight();
  const happens = (id: string, what: "mate" | "check" | "move", at: number) => l.happens({ id, what, at, ply: 10 });
  assert.ok(happens("1", "move", 0));
  assert.ok(!happens("2", "check", 1000), "one can look at the first for a moment");
  assert.ok(l.look(4100));
  assert.equal(l.shown?.id, "2");
  assert.ok(happens("3", "mate", 5000), "a mate does not wait");
  assert.ok(!happens("4", "mate", 6000), "but another mate does");
  assert.ok(!happens("5", "check", 9000));
  assert.ok(!l.look(11_900));
  assert.ok(l.look(12_100));
  assert.notEqual((l.shown as { id: string } | null)?.id, "3");
  for (let i = 0; i < 10_000; i++) happens(String(i), "move", 20_000 + i * 10);
  assert.ok((l as any).scenes.size < 2500, "old scenes are forgotten");
});
