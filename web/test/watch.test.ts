// Watching over scripted sockets: the wall, and who only watches.

import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";
import { Watcher } from "../src/session/watch";
import { encode, type Field, Flag, Notice } from "../src/wire";
import { online, open, rig, settle, start, stopClock, token, welcome } from "./sockets";

beforeEach(stopClock);

test("the wall follows summaries, and forgets older generations", async () => {
  const r = await online();
  let now = 0;
  const w = new Watcher(r.session, () => now);
  const of = (generation: number): Field => ({ key: "spectate.summary_generation", type: "int", value: generation });
  w.watch({ kind: "summary", standard: true, chess960: false });
  assert.equal(r.socket().last.flags & 0x06, 0x04);
  r.socket().ack();
  r.socket().board("SPECTATE_UPDATE", 0, "", 0, { key: "spectate.state", type: "string", value: "summary" }, of(7));
  await settle();
  assert.equal(w.state.value, "summary");
  r.socket().board("SPECTATE_UPDATE", 1, start, 1, of(7));
  r.socket().board("SPECTATE_UPDATE", 2, start, 1, of(7));
  r.socket().board("SPECTATE_UPDATE", 3, start, 1, of(6));
  assert.deepEqual([...w.boards.keys()], ["1", "2"]);
  now = 10;
  r.socket().board("SPECTATE_UPDATE", 2, "8/8/8/8/8/8/8/K1k5 w", 2, of(7));
  assert.equal(w.boards.get("2")?.seen, 10);
  r.socket().board("SPECTATE_UPDATE", 0, "", 0, of(8));
  r.socket().board("SPECTATE_UPDATE", 1, start, 1, of(8));
  assert.equal(w.boards.size, 2, "a new summary takes its time");
  for (const generation of [8, 9, 10, 11]) {
    r.socket().board("SPECTATE_UPDATE", 0, "", 0, of(generation));
    r.socket().board("SPECTATE_UPDATE", 1, start, 1, of(generation));
    mock.timers.tick(10_000); // sooner than boards are dropped
  }
  assert.deepEqual([...w.boards.keys()], ["1"]);
  r.socket().board("SPECTATE_UPDATE", 1, "", 2, of(11));
  assert.equal(w.boards.get("1")?.gone, 10, "it is seen for a moment how it ended");
  assert.equal(w.boards.get("1")?.version, 2, "what is stored of it is known by that");
  mock.timers.tick(5_000);
  r.socket().board("SPECTATE_UPDATE", 1, start, 3, of(11));
  mock.timers.tick(2_000);
  assert.equal(w.boards.get("1")?.gone, 0, "somebody plays on");
  r.socket().board("SPECTATE_UPDATE", 1, "", 4, of(11));
  mock.timers.tick(6_000);
  assert.equal(w.boards.size, 0);
});

test("another wall shows nothing of the one before", async () => {
  const r = await online();
  const w = new Watcher(r.session);
  const of = (generation: number): Field => ({ key: "spectate.summary_generation", type: "int", value: generation });
  w.watch({ kind: "summary", standard: true, chess960: true });
  r.socket().ack();
  r.socket().board("SPECTATE_UPDATE", 0, "", 0, { key: "spectate.state", type: "string", value: "summary" }, of(7));
  await settle();
  r.socket().board("SPECTATE_UPDATE", 1, start, 1, of(7));
  w.watch({ kind: "summary", standard: false, chess960: true });
  r.socket().board("SPECTATE_UPDATE", 2, start, 1, of(7)); // was under way
  r.socket().ack();
  r.socket().board("SPECTATE_UPDATE", 0, "", 0, { key: "spectate.state", type: "string", value: "summary" }, of(8));
  await settle();
  r.socket().board("SPECTATE_UPDATE", 3, start, 1, of(8));
  assert.deepEqual([...w.boards.keys()], ["3"]);
});

test("a board says whether a program made its last move", async () => {
  const r = await online();
  const w = new Watcher(r.session);
  w.watch({ kind: "focus", board: 5 });
  r.socket().ack();
  r.socket().board("SPECTATE_UPDATE", 5, start, 1, { key: "spectate.state", type: "string", value: "focus" }, { key: "board.bot", type: "int", value: 1 });
  await settle();
  assert.equal(w.boards.get("5")?.bot, true);
  r.socket().board("SPECTATE_UPDATE", 5, "8/8/8/8/8/8/8/K1k5 w", 2); // a person's
  assert.equal(w.boards.get("5")?.bot, false);
});

test("watching goes on after a reconnect", async () => {
  const r = await online();
  const w = new Watcher(r.session);
  w.watch({ kind: "focus", board: 5 });
  r.socket().drop();
  mock.timers.tick(2000);
  await open(r);
  assert.equal(r.name(), "SPECTATE_GAME");
  assert.equal(r.socket().last.board, 5);
});

test("a board that sleeps is watched on when it is played on again", async () => {
  const r = await online();
  const w = new Watcher(r.session);
  const sees = (state: string): Field => ({ key: "spectate.state", type: "string", value: state });
  w.watch({ kind: "focus", board: 5 });
  r.socket().ack();
  r.socket().board("SPECTATE_UPDATE", 5, start, 1, sees("focus"));
  await settle();
  r.socket().say(encode({ name: "SERVER_NOTIFICATION", body: { type: Notice.spectateEnded, text: "" }, token, seq: 2, flags: Flag.SPECTATE_NOTICE_SUMMARY_FALLBACK }));
  assert.equal(w.state.value, "over");
  assert.equal(r.name(), "SPECTATE_STOP");
  r.socket().board("SPECTATE_UPDATE", 5, start, 2, sees("summary")); // sent before the server heard of it
  assert.equal(w.state.value, "over");
  r.socket().ack();
  r.socket().board("SPECTATE_UPDATE", 0, "", 0, sees("idle"));
  await settle();
  w.retry();
  assert.equal(r.name(), "SPECTATE_GAME");
  r.socket().ack();
  r.socket().refuse(1005, "asleep");
  await settle();
  assert.equal(w.state.value, "refused");
  w.retry();
  assert.equal(r.socket().last.board, 5);
  r.socket().ack();
  r.socket().board("SPECTATE_UPDATE", 5, "8/8/8/8/8/8/8/K1k5 w", 3, sees("focus"));
  await settle();
  assert.equal(w.state.value, "focus");
  assert.equal(w.boards.get("5")?.version, 3);
  const n = r.socket().sent.length;
  w.retry();
  assert.equal(r.socket().sent.length, n, "it is watched already");
});

test("who only watches takes no board, and gets one when they come to play", async () => {
  const r = rig();
  r.session.wantBoard(false);
  r.session.start();
  r.socket().onopen?.({});
  assert.equal(r.socket().last.ext.int("hello.without_board"), 2);
  r.socket().ack();
  r.socket().board("SERVER_HELLO", 0, "");
  await settle();
  const n = r.socket().sent.length;
  mock.timers.tick(20_000);
  assert.equal(r.socket().sent.length, n, "they ask for a board");
  assert.equal(r.session.status.value.full, false);
  r.session.wantBoard(true);
  assert.equal(r.socket().last.ext.int("hello.without_board"), 1);
  await welcome(r);
  assert.equal(r.session.status.value.board?.id, 42);
  r.session.wantBoard(false);
  assert.equal(r.session.status.value.board?.id, 42, "a board that they hold stays theirs");
});

test("the server is told of a player who goes on to watch, and when they are back", async () => {
  const r = await online();
  r.session.wantBoard(false);
  assert.equal(r.name(), "CLIENT_HELLO");
  assert.equal(r.socket().last.ext.int("hello.without_board"), 2);
  await welcome(r); // it is still theirs
  const n = r.socket().sent.length;
  mock.timers.tick(20_000);
  r.session.alive();
  assert.equal(r.socket().sent.length, n, "what they do is a sign of life of a player");
  mock.timers.tick(5_000);
  assert.equal(r.socket().last.ext.int("hello.without_board"), 2, "the heartbeat asks for a board");
  r.socket().ack();
  r.socket().board("SERVER_HELLO", 0, ""); // now it is not
  await settle();
  assert.ok(!r.session.status.value.board);
  r.session.wantBoard(true);
  assert.equal(r.socket().last.ext.int("hello.without_board"), 1);
});

test("who comes back to their board says so", async () => {
  const r = await online();
  r.session.wantBoard(false);
  await welcome(r);
  r.session.wantBoard(true);
  assert.equal(r.socket().last.ext.int("hello.without_board"), 1);
});

test("who comes to play while a hello to watch is under way asks again at once", async () => {
  const r = rig();
  r.session.wantBoard(false);
  r.session.start();
  r.socket().onopen?.({});
  r.session.wantBoard(true);
  r.socket().ack();
  r.socket().board("SERVER_HELLO", 0, "");
  await settle();
  mock.timers.tick(0);
  assert.equal(r.socket().last.ext.int("hello.without_board"), 1);
});
