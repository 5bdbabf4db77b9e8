// Bytes in and out. Everything is big-endian unless it says otherwise.

/** A whole number of up to 64 bits: a number where that is exact, else a bigint. */
export type Int = number | bigint;

/** Malformed is thrown for bytes that a receiver must drop. */
export class Malformed extends Error {}

const text = new TextDecoder();
const bytes = new TextEncoder();

function toInt(v: bigint): Int {
  return v >= BigInt(Number.MIN_SAFE_INTEGER) && v <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(v) : v;
}

export function toHex(b: Uint8Array): string {
  let s = "";
  for (const x of b) s += x.toString(16).padStart(2, "0");
  return s;
}

export function fromHex(s: string): Uint8Array {
  const b = new Uint8Array(s.length >> 1);
  for (let i = 0; i < b.length; i++) b[i] = parseInt(s.slice(2 * i, 2 * i + 2), 16);
  return b;
}

export function encodeText(s: string): Uint8Array {
  return bytes.encode(s);
}

/** Reader takes fields from the front; a field that is cut off is Malformed. */
export class Reader {
  private view: DataView;
  private at = 0;

  constructor(private b: Uint8Array) {
    this.view = new DataView(b.buffer, b.byteOffset, b.byteLength);
  }

  get left(): number {
    return this.b.length - this.at;
  }

  private skip(n: number): number {
    if (n > this.left) throw new Malformed("cut off");
    const at = this.at;
    this.at += n;
    return at;
  }

  u8(): number {
    return this.view.getUint8(this.skip(1));
  }
  u16(littleEndian = false): number {
    return this.view.getUint16(this.skip(2), littleEndian);
  }
  u32(): number {
    return this.view.getUint32(this.skip(4));
  }
  u64(): Int {
    return toInt(this.view.getBigUint64(this.skip(8)));
  }
  i64(): Int {
    return toInt(this.view.getBigInt64(this.skip(8)));
  }
  f64(littleEndian = false): number {
    return this.view.getFloat64(this.skip(8), littleEndian);
  }
  take(n: number): Uint8Array {
    const at = this.skip(n);
    return this.b.subarray(at, at + n);
  }
  hex(n: number): string {
    return toHex(this.take(n));
  }
  text(n: number): string {
    return text.decode(this.take(n));
  }
  rest(): string {
    return this.text(this.left);
  }
  /** end refuses bytes that are left over. */
  end(): void {
    if (this.left > 0) throw new Malformed("bytes left over");
  }
}

/** Writer collects fields; it grows as it needs to. */
export class Writer {
  private b = new Uint8Array(256);
  private view = new DataView(this.b.buffer);
  length = 0;

  private grow(n: number): number {
    const at = this.length;
    this.length += n;
    if (this.length > this.b.length) {
      const bigger = new Uint8Array(Math.max(this.length, 2 * this.b.length));
      bigger.set(this.b);
      this.b = bigger;
      this.view = new DataView(bigger.buffer);
    }
    return at;
  }

  u8(v: number): this {
    const at = this.grow(1);
    this.view.setUint8(at, v);
    return this;
  }
  u16(v: number, littleEndian = false): this {
    const at = this.grow(2);
    this.view.setUint16(at, v, littleEndian);
    return this;
  }
  u32(v: number): this {
    const at = this.grow(4);
    this.view.setUint32(at, v);
    return this;
  }
  u64(v: Int): this {
    const at = this.grow(8);
    this.view.setBigUint64(at, BigInt(v));
    return this;
  }
  i64(v: Int): this {
    const at = this.grow(8);
    this.view.setBigInt64(at, BigInt(v));
    return this;
  }
  f64(v: number, littleEndian = false): this {
    const at = this.grow(8);
    this.view.setFloat64(at, v, littleEndian);
    return this;
  }
  put(b: Uint8Array): this {
    const at = this.grow(b.length);
    this.b.set(b, at);
    return this;
  }
  hex(s: string): this {
    return this.put(fromHex(s));
  }
  text(s: string): this {
    return this.put(bytes.encode(s));
  }
  /** text8 is a text behind its length in one byte. */
  text8(s: string): this {
    const b = bytes.encode(s);
    return this.u8(b.length).put(b);
  }
  bytes(): Uint8Array {
    return this.b.slice(0, this.length);
  }
}
