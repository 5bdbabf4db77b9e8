// The trailer of typed fields that a payload may end in.

import { encodeText, type Int, Malformed, Reader, Writer } from "./bytes";
import { type Keys, maxFields, maxKey, maxString } from "./codes.gen";

export type Field =
  | { key: string; type: "string"; value: string }
  | { key: string; type: "int"; value: Int }
  | { key: string; type: "double"; value: number }
  | { key: string; type: "bool"; value: boolean };

const types = ["", "string", "int", "double", "bool"] as const;
const magic = 0x5758; // "WX"

/** writeTrailer appends fields behind a payload. */
export function writeTrailer(w: Writer, fields: readonly Field[]): void {
  const start = w.length;
  w.u8(1).u8(fields.length);
  for (const f of fields) {
    w.text8(f.key).u8(types.indexOf(f.type));
    switch (f.type) {
      case "string": {
        const b = encodeText(f.value).subarray(0, maxString);
        w.u16(b.length).put(b);
        break;
      }
      case "int":
        w.i64(f.value);
        break;
      case "double":
        w.f64(f.value);
        break;
      case "bool":
        w.u8(f.value ? 1 : 0);
    }
  }
  const n = w.length - start;
  w.u16(magic).u16(n);
}

/** looksLikeTrailer reports whether a receiver would cut off the end of a payload. */
export function looksLikeTrailer(payload: Uint8Array): boolean {
  try {
    return readTrailer(payload) !== null;
  } catch {
    return false;
  }
}

/**
 * readTrailer returns the fields at the end of a payload and the length of what
 * is before them; null when the payload is too short for any. It throws
 * Malformed when there is none or a broken one.
 */
export function readTrailer(payload: Uint8Array): { fields: Field[]; before: number } | null {
  if (payload.length < 4) return null;
  const tail = new Reader(payload.subarray(payload.length - 4));
  if (tail.u16() !== magic) throw new Malformed("no trailer");
  const n = tail.u16();
  const before = payload.length - 4 - n;
  if (n < 2 || before < 0) throw new Malformed("trailer length");
  const r = new Reader(payload.subarray(before, before + n));
  if (r.u8() !== 1) throw new Malformed("trailer version");
  const count = r.u8();
  if (count > maxFields) throw new Malformed("too many fields");
  const fields: Field[] = [];
  for (let i = 0; i < count; i++) fields.push(readField(r));
  r.end();
  return { fields, before };
}

function readField(r: Reader): Field {
  const n = r.u8();
  if (n === 0 || n > maxKey) throw new Malformed("key length");
  const key = r.text(n);
  switch (r.u8()) {
    case 1: {
      const b = r.take(r.u16());
      return { key, type: "string", value: new Reader(b.subarray(0, maxString)).rest() };
    }
    case 2:
      return { key, type: "int", value: r.i64() };
    case 3:
      return { key, type: "double", value: r.f64() };
    case 4:
      return { key, type: "bool", value: r.u8() !== 0 };
    default:
      throw new Malformed("field type");
  }
}

/** KeyOf are the keys of fields of a type. */
type KeyOf<T extends Field["type"]> = { [K in keyof Keys]: Keys[K] extends T ? K : never }[keyof Keys];

/** Fields finds values by key; the first of a key counts. */
export class Fields {
  constructor(readonly list: readonly Field[]) {}

  private find(key: string, type: Field["type"]) {
    return this.list.find((f) => f.key === key && f.type === type)?.value;
  }
  text(key: KeyOf<"string">): string | undefined {
    return this.find(key, "string") as string | undefined;
  }
  /** int is for numbers that are exact in JavaScript: counts, times, squares. */
  int(key: KeyOf<"int">): number | undefined {
    const v = this.find(key, "int");
    return v === undefined ? undefined : Number(v);
  }
  double(key: KeyOf<"double">): number | undefined {
    return this.find(key, "double") as number | undefined;
  }
}

/** intField is a field of a request. */
export function intField(key: KeyOf<"int">, value: number): Field {
  return { key, type: "int", value };
}

/** textField is a field of a request. */
export function textField(key: KeyOf<"string">, value: string): Field {
  return { key, type: "string", value };
}
