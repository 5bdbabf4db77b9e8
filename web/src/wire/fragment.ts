// Payloads in several packets: the envelope of a chunk, and joining them.

import { blake2b } from "@noble/hashes/blake2.js";
import { Malformed, Reader, toHex } from "./bytes";
import { chunkSize, maxTransfer } from "./codes.gen";

export interface Fragment {
  version: number;
  hash_algo: number;
  chunk_index: number;
  chunk_count: number;
  total_len: number;
  transfer_id: number;
  hash: string;
  chunk: Uint8Array;
}

export function readFragment(payload: Uint8Array): Fragment {
  const r = new Reader(payload);
  const f = {
    version: r.u8(),
    hash_algo: r.u8(),
    chunk_index: r.u16(),
    chunk_count: r.u16(),
    total_len: r.u32(),
    transfer_id: r.u32(),
    hash: r.hex(32),
    chunk: r.take(r.u16()),
  };
  r.end();
  if (f.version !== 1 || f.hash_algo !== 1 || f.chunk_index >= f.chunk_count) throw new Malformed("fragment");
  return f;
}

/** Reassembler joins the fragments of one transfer at a time. */
export class Reassembler {
  private key = "";
  private whole = new Uint8Array(0);
  private have = new Set<number>();

  /** add returns the whole payload when this chunk was the last one missing. */
  add(code: number, f: Fragment): Uint8Array | null {
    if (f.total_len > maxTransfer || f.chunk_count !== Math.max(1, Math.ceil(f.total_len / chunkSize))) return null;
    const at = f.chunk_index * chunkSize;
    if (f.chunk.length !== Math.min(chunkSize, f.total_len - at)) return null;
    const key = [code, f.chunk_count, f.total_len, f.transfer_id, f.hash].join();
    if (key !== this.key) {
      this.key = key;
      this.whole = new Uint8Array(f.total_len);
      this.have.clear();
    }
    this.whole.set(f.chunk, at);
    this.have.add(f.chunk_index);
    if (this.have.size < f.chunk_count) return null;
    this.key = "";
    this.have.clear();
    return toHex(blake2b(this.whole, { dkLen: 32 })) === f.hash ? this.whole : null;
  }
}
