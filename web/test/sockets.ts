// Scripted sockets, and a session over them.

import { mock } from "node:test";
import type { Socket } from "../src/session/connection";
import { type SessionEvent, Session } from "../src/session/session";
import { decode, encode, type Field, type MessageName, type Packet, split } from "../src/wire";

export const token = "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf";
export const start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w";

export class FakeSocket implements Socket {
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

export class Area {
  values = new Map<string, string>();
  getItem = (k: string) => this.values.get(k) ?? null;
  setItem = (k: string, v: string) => void this.values.set(k, v);
  removeItem = (k: string) => void this.values.delete(k);
}

export function rig(area = new Area()) {
  const sockets: FakeSocket[] = [];
  const hosts: string[] = []; // that were called
  const session = new Session((host) => {
    const s = new FakeSocket();
    sockets.push(s);
    hosts.push(host);
    return s;
  }, area);
  const happened: SessionEvent[] = [];
  session.on((h) => happened.push(h));
  const socket = () => sockets[sockets.length - 1];
  const name = () => socket().last.message?.name as MessageName;
  return { session, sockets, hosts, socket, area, happened, name };
}

export const pawn = (uci: string) => ({ uci, san: uci.slice(2), piece: "P", ply: 1 });

export const settle = () => new Promise<void>((r) => setImmediate(r));

export type Rig = ReturnType<typeof rig>;

/** welcome answers a hello: the player holds board 42. */
export async function welcome(r: Rig) {
  r.socket().ack();
  r.socket().board("SERVER_HELLO", 42, start);
  await settle();
}

/** open lets the last connection come about, and answers its hello. */
export async function open(r: Rig) {
  r.socket().onopen?.({});
  await welcome(r);
}

/** moveOn answers a move: the player holds board 17. */
export async function moveOn(r: Rig) {
  r.socket().ack();
  r.socket().board("BOARD_UPDATE", 17, start);
  await settle();
}

/** online returns a session that holds board 42. */
export async function online(area?: Area) {
  const r = rig(area);
  r.session.start();
  await open(r);
  return r;
}

/** stopClock lets time pass only when a test says so. */
export function stopClock() {
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout", "Date"], now: 1_800_000_000_000 });
}
