// The session over scripted sockets: hellos, moves, breaks, refusals.

import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";
import { keys } from "../src/session/storage";
import { encode } from "../src/wire";
import { Area, moveOn, online, open, pawn, rig, settle, start, stopClock, token, welcome } from "./sockets";

beforeEach(stopClock);

test("a new player says hello without a token and keeps the one they get", async () => {
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

test("when all boards are taken they are there without one, and asks again", async () => {
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
  r.session.play(pawn("e2e4"));
  assert.equal(r.session.status.value.sending, null, "what this page shows may be long past");
  assert.equal(r.area.getItem(keys.pending), null, "the other tab would send it");
  r.session.start();
  assert.equal(r.sockets.length, 2);
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

// joined is a player of a server that names other machines.
async function joined(others: string) {
  const r = rig();
  r.session.start();
  r.socket().onopen?.({});
  r.socket().ack();
  r.socket().board("SERVER_HELLO", 42, start, 1, { key: "cluster.endpoint", type: "string", value: others });
  await settle();
  return r;
}

test("a player whose machine is gone goes on at another one, by their token", async () => {
  const r = await joined("one two");
  r.session.play(pawn("e2e4"));
  r.socket().drop();
  for (let i = 0; i < 4; i++) {
    mock.timers.tick(1_300); // longer than any pause
    r.socket().drop();
  }
  assert.deepEqual(r.hosts, ["", "", "one", "two", ""]);
  assert.equal(r.session.caller.host, ""); // nobody else has answered
  mock.timers.tick(1_300);
  r.socket().onopen?.({});
  assert.equal(r.socket().last.token, token);
  await welcome(r);
  assert.equal(r.name(), "PLAYER_MOVE");
  assert.equal(r.session.caller.host, "one");
  r.socket().drop();
  mock.timers.tick(1_300);
  assert.equal(r.hosts[r.hosts.length - 1], "one"); // it may only have been restarted
});

test("a machine that does not answer is left after three seconds if there are others", async () => {
  const r = await joined("one");
  r.socket().drop();
  mock.timers.tick(1_300);
  mock.timers.tick(3_000); // it does not open
  mock.timers.tick(1_300);
  assert.equal(r.hosts[r.hosts.length - 1], "one");
});

test("a machine that falls silent under a move is left for the next one at once", async () => {
  const r = await joined("one two");
  r.session.play(pawn("e2e4"));
  mock.timers.tick(3_000); // nothing comes back
  mock.timers.tick(400);
  assert.deepEqual(r.hosts, ["", "one"]);
  r.socket().onopen?.({});
  await welcome(r);
  assert.equal(r.name(), "PLAYER_MOVE");
});

const machines = { key: "cluster.endpoint", type: "string", value: "one two" } as const;
const served = (by: string) => ({ key: "cluster.home", type: "string", value: by }) as const;

test("a page goes to the machine that serves it when nothing is asked, and stays there for a while", async () => {
  const r = rig();
  r.session.start();
  r.socket().onopen?.({});
  r.socket().ack();
  r.socket().board("SERVER_HELLO", 42, start, 1, machines, served("one"));
  await settle();
  assert.deepEqual(r.hosts, ["", "one"]);
  assert.ok(r.sockets[0].closed);
  r.session.play(pawn("e2e4"));
  r.socket().onopen?.({});
  assert.equal(r.name(), "CLIENT_HELLO");
  assert.equal(r.socket().last.token, token);
  r.socket().ack();
  r.socket().board("SERVER_HELLO", 42, start, 1, machines);
  await settle();
  assert.equal(r.session.status.value.link, "online");
  assert.equal(r.name(), "PLAYER_MOVE");
  r.socket().ack();
  r.socket().board("BOARD_UPDATE", 17, start, 1, served("two"));
  await settle();
  assert.equal(r.session.status.value.board?.id, 17);
  assert.deepEqual(r.hosts, ["", "one"]);
  mock.timers.tick(25_000);
  r.socket().ack();
  r.socket().board("SERVER_HELLO", 17, start, 1, machines);
  await settle();
  mock.timers.tick(5_000);
  r.session.play(pawn("d2d4"));
  r.socket().ack();
  r.socket().board("BOARD_UPDATE", 18, start, 1, served("two"));
  await settle();
  assert.deepEqual(r.hosts, ["", "one", "two"]);
});

test("a page that does not reach the machine that serves it goes on where it was, and elsewhere never", async () => {
  const r = rig();
  r.session.start();
  r.socket().onopen?.({});
  r.socket().ack();
  r.socket().board("SERVER_HELLO", 42, start, 1, machines, served("one"));
  await settle();
  r.socket().drop();
  mock.timers.tick(1_300);
  assert.deepEqual(r.hosts, ["", "one", ""]);
  r.socket().onopen?.({});
  r.socket().ack();
  r.socket().board("SERVER_HELLO", 42, start, 1, machines, served("one"));
  await settle();
  r.session.play(pawn("e2e4"));
  r.socket().ack();
  r.socket().board("BOARD_UPDATE", 17, start, 1, served("three"));
  await settle();
  assert.equal(r.session.status.value.board?.id, 17);
  assert.deepEqual(r.hosts, ["", "one", ""]);
});
