// How payloads are read and written: one row for each control code that the
// browser sends or receives.

import { Malformed, Reader, Writer } from "./bytes";
import { type CtrlName, type LeaderboardRow, maxRows, maxUCI, type Messages, type Prediction } from "./codes.gen";

interface Codec<M> {
  read(r: Reader): M;
  write(w: Writer, m: M): void;
}

function atMost(n: number, most: number): number {
  if (n > most) throw new Malformed("too many");
  return n;
}

function rows<T>(n: number, read: () => T): T[] {
  return Array.from({ length: n }, read);
}

const nothing: Codec<Messages["ACK"]> = { read: () => ({}), write: () => {} };
const fen: Codec<Messages["BOARD_UPDATE"]> = { read: (r) => ({ fen: r.rest() }), write: (w, m) => w.text(m.fen) };
const name: Codec<Messages["GET_PROFILE_INFO"]> = { read: (r) => ({ name: r.text(r.u8()) }), write: (w, m) => w.text8(m.name) };
const refusal: Codec<Messages["ERROR"]> = {
  read: (r) => ({ code: r.u16(true), reason: r.text(r.u8()) }),
  write: (w, m) => w.u16(m.code, true).text8(m.reason),
};

const table = {
  CLIENT_HELLO: nothing,
  SERVER_HELLO: fen,
  PLAYER_MOVE: {
    read: (r) => ({ uci: r.text(atMost(r.u8(), maxUCI)) }),
    write: (w, m) => w.text8(m.uci),
  },
  BOARD_UPDATE: fen,
  ACK: nothing,
  LIST_PROFILES: nothing,
  PROFILE_INFO: { read: (r) => ({ info: r.rest() }), write: (w, m) => w.text(m.info) },
  ERROR: refusal,
  SERVER_NOTIFICATION: {
    read: (r) => ({ type: r.u8(), text: r.rest() }),
    write: (w, m) => w.u8(m.type).text(m.text),
  },
  CLIENT_GOODBYE: nothing,
  SPECTATE_GAME: nothing,
  SPECTATE_UPDATE: fen,
  LOGIN_REQUEST: {
    read(r) {
      const public_key = r.hex(32);
      if (r.left === 0) return { public_key };
      const m = { public_key, signature: r.hex(64) };
      r.end();
      return m;
    },
    write: (w, m) => w.hex(m.public_key).hex(m.signature ?? ""),
  },
  LOGIN_CHALLENGE: {
    read(r) {
      const m = { challenge: r.hex(32) };
      r.end();
      return m;
    },
    write: (w, m) => w.hex(m.challenge),
  },
  LOGOUT: nothing,
  LOGIN_SUCCESS: fen,
  LOGIN_FAILED: refusal,
  SET_NAME: { read: (r) => ({ name: r.rest() }), write: (w, m) => w.text(m.name) },
  GET_PLAYER_STATS: nothing,
  PLAYER_STATS_DATA: {
    read: (r) => ({ score: r.f64(true), games: r.u32(), games_960: r.left >= 4 ? r.u32() : 0 }),
    write: (w, m) => w.f64(m.score, true).u32(m.games).u32(m.games_960),
  },
  GET_PROFILE_INFO: name,
  PROFILES_LIST: { read: (r) => ({ names: r.rest() }), write: (w, m) => w.text(m.names) },
  SPECTATE_STOP: nothing,
  GET_LEADERBOARD: {
    read(r) {
      atMost(r.left, 2);
      if (r.left === 0) return { type: 1, limit: 10 };
      const type = r.left === 1 ? 1 : r.u8();
      return { type, limit: r.u8() };
    },
    write: (w, m) => w.u8(m.type).u8(m.limit),
  },
  LEADERBOARD_DATA: {
    read(r) {
      const type = r.u8();
      const n = atMost(r.u8(), maxRows);
      const self_rank = r.u32();
      return { type, self_rank, rows: rows(n, () => readRow(r)) };
    },
    write(w, m) {
      w.u8(m.type).u8(m.rows.length).u32(m.self_rank);
      for (const x of m.rows) writeRow(w, x);
    },
  },
  SUBMIT_PREDICTION: {
    read(r) {
      const m = { uci: r.text(atMost(r.u8(), maxUCI)), parent: r.u64() };
      r.end();
      return m;
    },
    write: (w, m) => w.text8(m.uci).u64(m.parent),
  },
  GET_PREDICTIONS: {
    read(r) {
      atMost(r.left, 2);
      return { depth: r.left ? r.u8() : 0, limit: r.left ? r.u8() : 0 };
    },
    write: (w, m) => w.u8(m.depth).u8(m.limit),
  },
  PREDICTION_DATA: {
    read(r) {
      const n = atMost(r.u8(), maxRows);
      return { rows: rows(n, () => readPrediction(r)) };
    },
    write(w, m) {
      w.u8(m.rows.length);
      for (const x of m.rows) writePrediction(w, x);
    },
  },
  GET_PROFILE_TOS: name,
  PROFILE_TOS_DATA: { read: (r) => ({ terms: r.rest() }), write: (w, m) => w.text(m.terms) },
  ACCEPT_PROFILE_TOS: name,
  GET_SESSIONS: nothing,
  SESSIONS_DATA: {
    read(r) {
      const n = atMost(r.u8(), 64);
      return { rows: rows(n, () => ({ session_id: r.u64(), created_at: r.u64(), last_seen_at: r.u64(), own: r.u8() !== 0 })) };
    },
    write(w, m) {
      w.u8(m.rows.length);
      for (const x of m.rows) w.u64(x.session_id).u64(x.created_at).u64(x.last_seen_at).u8(x.own ? 1 : 0);
    },
  },
  REVOKE_SESSIONS: { read: (r) => ({ session_id: r.u64() }), write: (w, m) => w.u64(m.session_id) },
} satisfies { [K in CtrlName]?: Codec<Messages[K]> };

/** MessageName is a control code that the browser knows the payload of. */
export type MessageName = keyof typeof table;

export const messages: { readonly [K in MessageName]: Codec<Messages[K]> } = table;

function readRow(r: Reader): LeaderboardRow {
  return {
    rank: r.u32(),
    session_id: r.u64(),
    score: r.f64(),
    rating: r.f64(),
    games: r.u32(),
    has_identity: r.u8() !== 0,
    public_key: r.hex(32),
    handle: r.text(r.u16()),
  };
}

function writeRow(w: Writer, x: LeaderboardRow): void {
  w.u32(x.rank).u64(x.session_id).f64(x.score).f64(x.rating).u32(x.games);
  w.u8(x.has_identity ? 1 : 0).hex(x.public_key);
  const handle = new Writer().text(x.handle).bytes();
  w.u16(handle.length).put(handle);
}

function readPrediction(r: Reader): Prediction {
  const p = {
    id: r.u64(),
    parent: r.u64(),
    author: r.hex(16),
    points: r.f64(),
    target_ply: r.u16(),
    depth: r.u8(),
    status: r.u8(),
  };
  const n = atMost(r.u8(), maxUCI);
  const uci = new Reader(r.take(maxUCI)).text(n);
  return { ...p, uci };
}

function writePrediction(w: Writer, x: Prediction): void {
  w.u64(x.id).u64(x.parent).hex(x.author).f64(x.points).u16(x.target_ply).u8(x.depth).u8(x.status);
  const uci = new Uint8Array(maxUCI);
  const text = new Writer().text(x.uci).bytes();
  uci.set(text);
  w.u8(text.length).put(uci);
}
