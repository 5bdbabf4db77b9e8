// The codec against the golden packets of the Go codec.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { blake2b } from "@noble/hashes/blake2.js";
import { Ctrl, decode, encode, type Field, type Fragment, fromHex, Reassembler, Malformed, type MessageName, messages, type Packet, split, toHex } from "../src/wire";

interface Golden {
  id: string;
  title: string;
  result: string;
  hex: string;
  json?: any;
}

function goldens(file: string): Golden[] {
  const text = readFileSync(new URL(`../../wire/testdata/packets/${file}.txt`, import.meta.url), "utf8");
  const all: Golden[] = [];
  for (const record of text.split("\n\n")) {
    const g: Golden = { id: "", title: "", result: "accepted", hex: "" };
    for (const line of record.split("\n")) {
      const [, word, value] = /^(\S+) ?(.*)$/.exec(line) ?? ["", "", ""];
      if (word === "packet" || word === "case") [, g.id, g.title] = /^(\S+) (.*)$/.exec(value)!;
      else if (word === "result") g.result = value;
      else if (word === "hex") g.hex += value;
      else if (word === "json") g.json = JSON.parse(value);
    }
    if (g.id) all.push(g);
  }
  return all;
}

/** plain is a value as the text form spells it. */
function plain(v: unknown): unknown {
  if (typeof v === "bigint") return String(v);
  if (v instanceof Uint8Array) return toHex(v);
  if (Array.isArray(v)) return v.map(plain);
  if (v && typeof v === "object") return Object.fromEntries(Object.entries(v).map(([k, x]) => [k, plain(x)]));
  return v;
}

/** foreign finds what this codec does not keep: bytes that are no text, payloads of NaNs. */
const foreign = (json: any): boolean => JSON.stringify(json).includes('{"hex":');

function textForm(p: Packet): any {
  const form: any = {
    ctrl: p.message?.name,
    code: p.code,
    flags_raw: p.flags,
    version: p.version,
    token: p.token,
    board_id: plain(p.board),
    seq: p.seq,
    payload: p.message ? plain(p.message.body) : null,
    ext: plain(p.ext.list),
  };
  if (p.fragment) {
    const { chunk, ...envelope } = p.fragment;
    form.fragment = { ...envelope, chunk_len: chunk.length, chunk: toHex(chunk) };
  }
  return form;
}

/** unused are the codes of payloads that the browser has no use for. */
const unused = new Set(Object.entries(Ctrl).flatMap(([name, code]) => (name in messages ? [] : [code as number])));

for (const file of ["original", "ours", "decoder", "rules"]) {
  for (const g of goldens(file).filter((g) => !unused.has(parseInt(g.hex.slice(0, 2), 16)))) {
    test(`${g.id} ${g.title}`, () => {
      const bytes = fromHex(g.hex);
      if (g.result !== "accepted") {
        assert.throws(() => decode(bytes), Malformed);
        return;
      }
      const p = decode(bytes);
      if (foreign(g.json)) return;
      const { flags: _, raw, ctrl, ...want } = g.json;
      const { ctrl: got, ...form } = textForm(p);
      assert.deepEqual(form, want);
      if (!p.fragment) assert.equal(got, ctrl);
      if (raw !== undefined || p.fragment || g.json.version !== 1) return;
      const again = encode({
        name: ctrl as MessageName,
        body: p.message!.body as never,
        flags: p.flags & ~8,
        token: p.token,
        board: p.board,
        seq: p.seq,
        ext: p.ext.list as Field[],
      });
      assert.equal(toHex(again), g.hex);
    });
  }
}

test("a message of several packets is split", () => {
  const [a, b] = goldens("original").map((g) => fromHex(g.hex));
  const both = new Uint8Array([...a, ...b]);
  assert.deepEqual(split(both).map(toHex), [toHex(a), toHex(b)]);
  assert.throws(() => split(both.subarray(0, both.length - 1)), Malformed);
});

/** cut makes the fragments of a payload, as a server does. */
function cut(payload: Uint8Array): Fragment[] {
  const chunk_count = Math.max(1, Math.ceil(payload.length / 1152));
  const hash = toHex(blake2b(payload, { dkLen: 32 }));
  return Array.from({ length: chunk_count }, (_, i) => ({
    version: 1,
    hash_algo: 1,
    chunk_index: i,
    chunk_count,
    total_len: payload.length,
    transfer_id: 7,
    hash,
    chunk: payload.slice(i * 1152, (i + 1) * 1152),
  }));
}

for (const size of [0, 1, 1152, 1153, 5000]) {
  test(`a payload of ${size} bytes is joined from its fragments, in any order`, () => {
    const payload = Uint8Array.from({ length: size }, (_, i) => i * 7);
    const reassembler = new Reassembler();
    const results = cut(payload)
      .reverse()
      .map((f) => reassembler.add(31, f));
    assert.deepEqual(results.pop(), payload);
    assert.ok(results.every((r) => r === null));
  });
}

test("a transfer is refused when its hash, its count or a chunk is wrong", () => {
  const payload = new Uint8Array(3000);
  for (const spoil of [
    (f: Fragment) => (f.chunk[0] ^= 1),
    (f: Fragment) => (f.chunk_count += 1),
    (f: Fragment) => (f.chunk = f.chunk.slice(1)),
    (f: Fragment) => (f.total_len = 1 << 21),
  ]) {
    const reassembler = new Reassembler();
    const fragments = cut(payload);
    fragments.forEach(spoil);
    assert.ok(fragments.every((f) => reassembler.add(31, f) === null));
  }
});
