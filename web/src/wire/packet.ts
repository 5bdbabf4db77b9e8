// A packet: 34 bytes of header, at most 1200 of payload.
//
//	 0   1  ctrl        4  16  token             28   4  sequence number
//	 1   1  flags      20   8  board             32   2  payload length
//	 2   1  version     3   1  reserved, 0

import { type Int, Malformed, Reader, Writer } from "./bytes";
import { Ctrl, Flag, fragmented, headerSize, maxPayload, type Messages, type replies, version } from "./codes.gen";
import { type Field, Fields, looksLikeTrailer, readTrailer, writeTrailer } from "./extension";
import { type Fragment, readFragment } from "./fragment";
import { type MessageName, messages } from "./message";

export const NO_TOKEN = "00000000000000000000000000000000";

const names = new Map<number, MessageName>((Object.keys(messages) as MessageName[]).map((name) => [Ctrl[name], name]));

interface Header {
  code: number;
  flags: number;
  version: number;
  token: string;
  board: Int;
  seq: number;
}

/** Message is a payload with the name of its control code. */
type Message = { [K in MessageName]: { name: K; body: Messages[K] } }[MessageName];

/** Packet has a message, or is a fragment of one, or has a control code that is not in messages. */
export interface Packet extends Header {
  message: Message | null;
  fragment: Fragment | null;
  ext: Fields;
}

/** RequestName is a request that the browser sends. */
export type RequestName = MessageName & keyof typeof replies;

/** Answer is a packet that answers a request. */
export type Answer<K extends RequestName> = Packet & { message: Extract<Message, { name: (typeof replies)[K][number] }> };

/** decode reads one packet. It throws Malformed for what is to be dropped. */
export function decode(b: Uint8Array): Packet {
  if (b.length < headerSize) throw new Malformed("short header");
  const r = new Reader(b);
  const code = r.u8();
  const flags = r.u8();
  const v = r.u8();
  if (r.u8() !== 0) throw new Malformed("reserved byte");
  const h: Header = { code, flags, version: v, token: r.hex(16), board: r.u64(), seq: r.u32() };
  const n = r.u16();
  if (n > maxPayload) throw new Malformed("payload too long");
  const payload = r.take(n);
  if (flags & Flag.FRAGMENT_PAYLOAD) {
    if (flags & Flag.EXT_PAYLOAD || !fragmented.has(code)) throw new Malformed("fragment where none may be");
    return { ...h, message: null, fragment: readFragment(payload), ext: new Fields([]) };
  }
  return { ...h, ...decodePayload(code, flags, payload), fragment: null };
}

/** decodePayload reads a whole payload: of one packet, or joined from fragments. */
export function decodePayload(code: number, flags: number, payload: Uint8Array): { message: Message | null; ext: Fields } {
  let fields: Field[] = [];
  try {
    const trailer = readTrailer(payload);
    if (trailer) {
      fields = trailer.fields;
      payload = payload.subarray(0, trailer.before);
    }
  } catch (e) {
    if (flags & Flag.EXT_PAYLOAD) throw e;
  }
  const name = names.get(code);
  const message = name ? ({ name, body: messages[name].read(new Reader(payload)) } as Message) : null;
  return { message, ext: new Fields(fields) };
}

export interface Outgoing<K extends MessageName> {
  name: K;
  body: Messages[K];
  flags?: number;
  token?: string;
  board?: Int;
  seq?: number;
  ext?: readonly Field[];
}

/** encode writes one packet. */
export function encode<K extends MessageName>(p: Outgoing<K>): Uint8Array {
  const payload = new Writer();
  messages[p.name].write(payload, p.body);
  let flags = p.flags ?? 0;
  if (p.ext?.length || looksLikeTrailer(payload.bytes())) {
    flags |= Flag.EXT_PAYLOAD;
    writeTrailer(payload, p.ext ?? []);
  }
  if (payload.length > maxPayload) throw new Malformed("payload too long");
  return new Writer()
    .u8(Ctrl[p.name])
    .u8(flags)
    .u8(version)
    .u8(0)
    .hex(p.token ?? NO_TOKEN)
    .u64(p.board ?? 0)
    .u32(p.seq ?? 0)
    .u16(payload.length)
    .put(payload.bytes())
    .bytes();
}

/** split cuts a WebSocket message into its packets. */
export function split(b: Uint8Array): Uint8Array[] {
  const packets: Uint8Array[] = [];
  while (b.length > 0) {
    if (b.length < headerSize) throw new Malformed("short header");
    const n = headerSize + ((b[32] << 8) | b[33]);
    if (n > b.length) throw new Malformed("cut off");
    packets.push(b.subarray(0, n));
    b = b.subarray(n);
  }
  return packets;
}
