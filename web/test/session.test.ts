// The session over scripted sockets: hellos, moves, breaks, refusals.

import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";
import type { Socket } from "../src/session/connection";
import { keys } from "../src/session/storage";
import { type SessionEvent, Session } from "../src/session/session";
import { Watcher } from "../src/session/watch";
import { decode, encode, type Field, type MessageName, type Packet, split } from "../src/wire";

const token = "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf";
const start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w";

class FakeSocket implements Socket {
  binaryType = "";
  readyState = 1;
  onopen: ((e: any) => void) | null = null;
  onmessage: ((e: any) => void) | null = null;
  onclose: ((e: any) => void) | null = null;
  sent: Packet[] = [];
  closed = false;
  send(b: Uint8Array) {
    this.sent.push(...split(b).map(decode));
  }
  close() {
    this.closed = true;
  }
  get last(): Packet {
    return this.sent[this.sent.length - 1];
  }
  say(...packets: Uint8Array[]) {
    for (const p of packets) this.onmessage?.({ data: p.buffer });
  }
  ack() {
    this.say(encode({ name: "ACK", body: {}, token: this.last.token, board: this.last.board, seq: this.last.seq }));
  }
  board(name: "SERVER_HELLO" | "BOARD_UPDATE" | "SPECTATE_UPDATE", board: number, fen: string, version = 1, ...more: Field[]) {
    const ext: Field[] = [{ key: "session.caps", type: "int", value: 0x3ff }, { key: "board.version", type: "int", value: version }, ...more];
    this.say(encode({ name, body: { fen }, token, board, seq: 1, ext }));
  }
  refuse(code: number, reason: string, flags = 0) {
    this.say(encode({ name: "ERROR", body: { code, reason }, token, flags }));
  }
  drop(code = 1006) {
    this.onclose?.({ code });
  }
}

class Area {
  values = new Map<string, string>();
  getItem = (k: string) => this.values.get(k) ?? null;
  setItem = (k: string, v: string) => void this.values.set(k, v);
  removeItem = (k: string) => void this.values.delete(k);
}

function rig(area = new Area()) {
  const sockets: FakeSocket[] = [];
  const session = new Session(() => {
    const s = new FakeSocket();
    sockets.push(s);
    return s;
  }, area);
  const happened: SessionEvent[] = [];
  session.on((h) => happened.push(h));
  const socket = () => sockets[sockets.length - 1];
  const name = () => socket().last.message?.name as MessageName;
  return { session, sockets, socket, area, happened, name };
}

const pawn = (uci: string) => ({ uci, san: uci.slice(2), piece: "P", ply: 1 });

const settle = () => new Promise<void>((r) => setImmediate(r));

type Rig = ReturnType<typeof rig>;

/** welcome answers a hello: the player holds board 42. */
async function welcome(r: Rig) {
  r.socket().ack();
  r.socket().board("SERVER_HELLO", 42, start);
  await settle();
}

/** open lets the last connection come about, and answers its hello. */
async function open(r: Rig) {
  r.socket().onopen?.({});
  await welcome(r);
}

/** moveOn answers a move: the player holds board 17. */
async function moveOn(r: Rig) {
  r.socket().ack();
  r.socket().board("BOARD_UPDATE", 17, start);
  await settle();
}

/** online returns a session that holds board 42. */
async function online(area?: Area) {
  const r = rig(area);
  r.session.start();
  await open(r);
  return r;
}

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout", "Date"], now: 1_800_000_000_000 });
});

test("a new player says hello without a token and keeps the one he gets", async () => {
  const r = rig();
  r.session.start();
  r.socket().onopen?.({});
  assert.equal(r.name(), "CLIENT_HELLO");
  assert.match(r.socket().last.token, /^0+$/);
  await welcome(r);
  assert.equal(r.session.status.value.link, "online");
  assert.equal(r.session.status.value.board?.id, 42);
  assert.equal(r.area.values.get(keys.token), token);
  assert.ok(r.session.may("move"));
});

test("a move is answered by the next board", async () => {
  const r = await online();
  r.session.play(pawn("e2e4"));
  assert.equal(r.name(), "PLAYER_MOVE");
  assert.equal(r.socket().last.token, token);
  assert.ok(r.area.values.has(keys.pending));
  await moveOn(r);
  assert.equal(r.session.status.value.board?.id, 17);
  assert.equal(r.session.status.value.sending, null);
  assert.ok(!r.area.values.has(keys.pending));
  const [played, h] = r.happened;
  assert.ok(played.kind === "played" && played.move.uci === "e2e4");
  assert.ok(h.kind === "switched" && h.from.id === 42 && h.to.id === 17 && h.moved?.uci === "e2e4");
});

test("a push before the ACK is not the answer", async () => {
  const r = await online();
  r.session.play(pawn("e2e4"));
  r.socket().board("BOARD_UPDATE", 9, start);
  await settle();
  assert.equal(r.session.status.value.sending?.uci, "e2e4");
  await moveOn(r);
  assert.equal(r.session.status.value.sending, null);
  assert.equal(r.session.status.value.board?.id, 17);
});

for (const code of [1001, 1006]) {
  test(`a connection that ends with ${code} is made again, and the move is sent again`, async () => {
    const r = await online();
    r.session.play(pawn("e2e4"));
    r.socket().drop(code);
    assert.equal(r.session.status.value.link, "away");
    mock.timers.tick(2000);
    assert.equal(r.sockets.length, 2);
    r.socket().onopen?.({});
    assert.equal(r.name(), "CLIENT_HELLO");
    assert.equal(r.socket().last.token, token);
    await welcome(r);
    assert.equal(r.name(), "PLAYER_MOVE");
    await moveOn(r);
    assert.equal(r.session.status.value.board?.id, 17);
    assert.equal(r.session.status.value.sending, null);
  });
}

test("numbers go on across connections", async () => {
  const r = await online();
  const before = r.socket().last.seq;
  r.socket().drop();
  mock.timers.tick(2000);
  r.socket().onopen?.({});
  assert.equal(r.socket().last.seq, before + 1);
});

test("a move made while the connection is away is sent when it is back", async () => {
  const r = await online();
  r.socket().drop();
  r.session.play(pawn("d2d4"));
  assert.equal(r.session.status.value.sending?.uci, "d2d4");
  mock.timers.tick(2000);
  await open(r);
  assert.equal(r.name(), "PLAYER_MOVE");
});

test("a move made while the connection is closing is sent over the next one", async () => {
  const r = await online();
  const closing = r.socket();
  const before = closing.sent.length;
  closing.readyState = 2;
  r.session.play(pawn("e2e4"));
  assert.equal(closing.sent.length, before, "a closing socket takes nothing");
  closing.drop(1001);
  mock.timers.runAll();
  await open(r);
  assert.equal(r.name(), "PLAYER_MOVE");
  await moveOn(r);
  assert.equal(r.session.status.value.board?.id, 17);
});

test("a move that an earlier page left behind is sent", async () => {
  const first = await online();
  first.session.play(pawn("e2e4")); // and the page is closed
  const r = await online(first.area);
  assert.equal(r.name(), "PLAYER_MOVE");
  assert.equal(r.socket().last.board, 42);
});

test("a refused move is told, and the board is asked for", async () => {
  const r = await online();
  r.session.play(pawn("e2e5"));
  r.socket().ack();
  r.socket().refuse(1009, "move rejected (5)");
  await settle();
  const [h] = r.happened;
  assert.ok(h.kind === "refused" && h.move.uci === "e2e5" && h.why.code === 1009);
  assert.equal(r.name(), "CLIENT_HELLO");
});

test("a server that holds a request back may say why, until it answers", async () => {
  const r = await online();
  r.session.play(pawn("e2e4"));
  r.socket().refuse(1006, "the server is read-only at present", 0x80);
  assert.equal(r.session.status.value.held, "the server is read-only at present");
  mock.timers.tick(1000);
  await moveOn(r);
  assert.equal(r.session.status.value.held, "");
});

test("over the limit the same request is sent again after a while", async () => {
  const r = await online();
  r.session.play(pawn("e2e4"));
  const { seq } = r.socket().last;
  r.socket().refuse(1001, "", 0x80);
  assert.equal(r.session.status.value.sending?.uci, "e2e4");
  const n = r.socket().sent.length;
  mock.timers.tick(1000);
  assert.equal(r.socket().sent.length, n + 1);
  assert.equal(r.socket().last.seq, seq);
});

test("a server that does not answer is left, and tried again ever more rarely", async () => {
  const r = await online();
  r.session.play(pawn("e2e4"));
  mock.timers.tick(12_000);
  assert.ok(r.sockets[0].closed);
  assert.equal(r.session.status.value.link, "away");
  for (let i = 0; i < 8; i++) {
    mock.timers.tick(20_000);
    r.socket().drop();
  }
  assert.ok(r.sockets.length >= 8 && r.sockets.length <= 10);
});

test("after sleep a silent connection is given a moment, then another one is made", async () => {
  const r = await online();
  r.session.caller.wake();
  assert.equal(r.name(), "CLIENT_HELLO");
  mock.timers.tick(2999);
  assert.ok(!r.sockets[0].closed);
  mock.timers.tick(1);
  assert.ok(r.sockets[0].closed);
  mock.timers.tick(500);
  assert.equal(r.sockets.length, 2);
});

test("after sleep a move under way does not wait for long either, and is sent again", async () => {
  const r = await online();
  r.session.play(pawn("e2e4"));
  r.session.caller.wake();
  mock.timers.tick(3500);
  assert.equal(r.sockets.length, 2);
  await open(r);
  assert.equal(r.name(), "PLAYER_MOVE");
});

test("after sleep a connection that answers stays", async () => {
  const r = await online();
  r.session.caller.wake();
  await welcome(r);
  mock.timers.tick(10_000);
  assert.equal(r.sockets.length, 1);
  assert.equal(r.session.status.value.link, "online");
});

test("a page that is left closes its connection, and connects again when it is back", async () => {
  const r = await online();
  r.session.play(pawn("e2e4"));
  r.session.caller.rest();
  assert.ok(r.socket().closed);
  mock.timers.tick(60_000);
  assert.equal(r.sockets.length, 1, "nobody is here");
  r.session.caller.wake();
  assert.equal(r.sockets.length, 2);
  await open(r);
  assert.equal(r.name(), "PLAYER_MOVE");
});

test("the network is back: an attempt that began without it is given up for another", async () => {
  const r = await online();
  r.socket().drop();
  mock.timers.tick(500);
  assert.equal(r.sockets.length, 2); // and hears nothing
  r.session.caller.wake();
  assert.equal(r.sockets.length, 3);
  assert.ok(r.sockets[1].closed);
  await open(r);
  assert.equal(r.session.status.value.link, "online");
  mock.timers.tick(20_000);
  assert.equal(r.sockets.length, 3);
});

test("when all boards are taken he is there without one, and asks again", async () => {
  const r = rig();
  r.session.start();
  r.socket().onopen?.({});
  assert.equal(r.socket().last.ext.int("hello.without_board"), 1);
  r.socket().ack();
  r.socket().board("SERVER_HELLO", 0, "");
  await settle();
  assert.equal(r.session.status.value.link, "online");
  const held = () => r.session.status.value.board?.id;
  assert.equal(held(), undefined);
  const n = r.socket().sent.length;
  mock.timers.tick(3000);
  assert.equal(r.socket().sent.length, n + 1);
  await welcome(r);
  assert.equal(held(), 42);
});

test("who is turned away knows why, and is let in later", async () => {
  const r = await online();
  r.session.refresh();
  r.socket().ack();
  r.socket().refuse(1001, "you are banned");
  await settle();
  assert.equal(r.session.status.value.refusal?.reason, "you are banned");
  mock.timers.tick(15_000);
  assert.equal(r.name(), "CLIENT_HELLO");
  await welcome(r);
  assert.equal(r.session.status.value.refusal, null);
});

test("an attempt that is given up before it has opened is closed when it opens", async () => {
  const r = await online();
  r.socket().drop();
  mock.timers.tick(500);
  const attempt = r.socket();
  attempt.readyState = 0;
  r.session.caller.wake();
  assert.ok(!attempt.closed);
  attempt.onopen?.({});
  assert.ok(attempt.closed);
  assert.equal(attempt.sent.length, 0);
});

test("an unknown token gives a new player, who is told", async () => {
  const area = new Area();
  area.setItem(keys.token, "ffffffffffffffffffffffffffffffff");
  const r = await online(area);
  assert.deepEqual(r.happened.map((h) => h.kind), ["renewed"]);
  assert.equal(area.getItem(keys.token), token);
});

test("another tab takes over", async () => {
  const r = await online();
  r.session.yieldTo("another");
  assert.ok(r.session.status.value.elsewhere);
  assert.ok(r.socket().closed);
  r.session.start();
  assert.equal(r.sockets.length, 2);
});

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

test("who only watches takes no board, and gets one when he comes to play", async () => {
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
  assert.equal(r.socket().sent.length, n, "he asks for a board");
  assert.equal(r.session.status.value.full, false);
  r.session.wantBoard(true);
  assert.equal(r.socket().last.ext.int("hello.without_board"), 1);
  await welcome(r);
  assert.equal(r.session.status.value.board?.id, 42);
  r.session.wantBoard(false);
  assert.equal(r.session.status.value.board?.id, 42, "a board that he holds stays his");
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

test("a page that is hidden says goodbye, and takes it back when it returns", async () => {
  const r = await online();
  r.session.leave();
  assert.equal(r.name(), "CLIENT_GOODBYE");
  assert.equal(r.socket().last.ext.int("goodbye.returns"), 1);
  assert.ok(r.socket().closed);
  r.session.caller.wake();
  await open(r);
  assert.equal(r.session.status.value.board?.id, 42);
});

test("a page that is hidden while a move is under way does not give the board back", async () => {
  const r = await online();
  r.session.play(pawn("e2e4"));
  r.session.leave();
  assert.equal(r.name(), "PLAYER_MOVE");
  assert.ok(r.socket().closed);
});

test("a player who thinks shows it, at most every half minute", async () => {
  const r = await online();
  const signs = () => r.socket().sent.filter((p) => p.message?.name === "ACK" && p.seq === 0).length;
  for (let s = 0; s < 65; s++) {
    r.session.alive();
    mock.timers.tick(1000);
    if (r.name() === "CLIENT_HELLO") await welcome(r); // of the heartbeat
  }
  assert.equal(signs(), 3);
});

test("a page that nobody looks at asks whether the server is there without its token, until the player is back", async () => {
  const r = await online();
  mock.timers.tick(25_000);
  await welcome(r);
  mock.timers.tick(25_000);
  assert.equal(r.name(), "LIST_PROFILES");
  assert.equal(r.socket().last.token, "0".repeat(32));
  r.socket().ack();
  r.socket().say(encode({ name: "PROFILES_LIST", body: { names: "" }, token }));
  await settle();
  mock.timers.tick(5_000);
  r.session.alive();
  assert.equal(r.name(), "CLIENT_HELLO");
});

for (const answer of ["board", "error"]) {
  test(`a move after which all boards are taken was played, and the player waits (${answer})`, async () => {
    const r = await online();
    r.session.play(pawn("e2e4"));
    r.socket().ack();
    if (answer === "board") r.socket().board("BOARD_UPDATE", 42, "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b", 2, { key: "wait.place", type: "int", value: 2 });
    else r.socket().refuse(1006, "the move was made; no board is available");
    await settle();
    assert.deepEqual(r.happened.map((h) => h.kind), ["played"]);
    const { board, full, place } = r.session.status.value;
    assert.deepEqual([board, full, place], [null, true, answer === "board" ? 2 : 0]);
    r.socket().board("BOARD_UPDATE", 7, start);
    assert.equal(r.session.status.value.board?.id, 7);
  });
}
