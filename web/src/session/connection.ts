// One WebSocket, from its opening to its end: packets in and out, and the one
// request that is under way. Answers do not name their request, so requests are
// sent one after the other; an answer counts only after the ACK.

import { decode, decodePayload, encode, Flag, type MessageName, type Outgoing, type Packet, Reassembler, replies, type RequestName, split } from "../wire";

/** Denied is a request that the server refused. */
export class Denied extends Error {
  constructor(
    readonly code: number,
    readonly reason: string,
    readonly blocking: boolean,
  ) {
    super(reason || `error ${code}`);
  }
}

/** Lost is a request that may have been executed or not. */
export class Lost extends Error {}

export interface Call {
  request: Outgoing<RequestName>;
  repeatable: boolean; // it may be sent again over the next connection
  resolve(p: Packet): void;
  reject(e: Error): void;
}

/** Counter numbers the packets of all connections. */
export interface Counter {
  next(): number;
}

/** Socket is the part of WebSocket that is used. */
export interface Socket {
  binaryType: string;
  readonly readyState: number;
  onopen: ((e: any) => void) | null;
  onmessage: ((e: any) => void) | null;
  onclose: ((e: any) => void) | null;
  send(b: Uint8Array<ArrayBuffer>): void;
  close(): void;
}

interface Handlers {
  opened(): void;
  idle(): void; // no request is under way
  held(why: string): void; // the server does not answer yet, and may say why
  pushed(p: Packet): void;
  closed(restarting: boolean, silent: boolean, unfinished: Call | null): void; // silent: nobody answered
}

const shortTimeout = 3_000; // ms for an answer when the connection may be dead
const limitPause = 1_000; // ms after the server said "too many requests"
const goingAway = 1001;
const connecting = 0; // WebSocket.CONNECTING
const open = 1; // WebSocket.OPEN

export class Connection {
  private current: { call: Call; seq: number; bytes: Uint8Array<ArrayBuffer>; acked: boolean } | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private reassembler = new Reassembler();
  private ended = false;

  constructor(
    private socket: Socket,
    private counter: Counter,
    private handlers: Handlers,
    private timeout: () => number, // ms to open, for an ACK, and again for its answer
  ) {
    socket.binaryType = "arraybuffer";
    socket.onopen = () => this.ended || handlers.opened();
    socket.onmessage = (e) => this.ended || this.receive(new Uint8Array(e.data as ArrayBuffer));
    socket.onclose = (e) => this.end(e.code === goingAway);
    this.timer = setTimeout(() => this.leave(), timeout());
  }

  get busy(): boolean {
    return this.current !== null;
  }

  /** ask sends a request; there must be none under way. */
  ask(call: Call): void {
    const seq = this.counter.next();
    const bytes = encode({ ...call.request, seq }) as Uint8Array<ArrayBuffer>;
    this.current = { call, seq, bytes, acked: false };
    this.send(bytes);
  }

  /** tell sends a packet whose answer nobody waits for. */
  tell(packet: Outgoing<MessageName>): void {
    if (this.socket.readyState === open) this.socket.send(encode({ seq: this.counter.next(), ...packet }) as Uint8Array<ArrayBuffer>);
  }

  /** hurry shortens the wait for the request under way. */
  hurry(): void {
    if (this.current) this.wait(() => this.leave(), shortTimeout);
  }

  /** leave ends a connection at which nobody answers. */
  private leave(): void {
    this.end(false, true);
  }

  /** end closes the connection and returns the request under way to the handler. */
  end(restarting: boolean, silent = false): void {
    if (this.ended) return;
    this.ended = true;
    clearTimeout(this.timer);
    const unfinished = this.current?.call ?? null;
    this.current = null;
    this.handlers.held("");
    this.socket.onclose = null;
    if (this.socket.readyState === connecting) this.socket.onopen = () => this.socket.close(); // browsers log an error when it is closed while it opens
    else this.socket.close();
    this.handlers.closed(restarting, silent, unfinished);
  }

  private wait(then: () => void, ms: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(then, ms);
  }

  private receive(message: Uint8Array): void {
    try {
      for (const b of split(message)) {
        const p = this.join(decode(b));
        if (p) this.dispatch(p);
      }
    } catch {
      this.end(false); // malformed: try another connection
    }
  }

  /** join returns the packet; of a fragment, the packet that it completes, or null. */
  private join(p: Packet): Packet | null {
    if (!p.fragment) return p;
    const payload = this.reassembler.add(p.code, p.fragment);
    return payload ? { ...p, ...decodePayload(p.code, 0, payload), fragment: null } : null;
  }

  private dispatch(p: Packet): void {
    const c = this.current;
    const name = p.message?.name;
    if (name === "ACK") {
      if (!c || p.seq !== c.seq) return;
      c.acked = true;
      if (replies[c.call.request.name].length === 0) this.finish((call) => call.resolve(p));
      else this.wait(() => this.leave(), this.timeout());
      return;
    }
    if (c && !c.acked && name === "ERROR" && p.flags & Flag.UNRELIABLE) {
      this.handlers.held((p.message!.body as { reason: string }).reason);
      this.wait(() => this.repeat(), limitPause); // over the limit: the request counts as not received
      return;
    }
    if (c?.acked && p.message && (name === "ERROR" || name === "LOGIN_FAILED")) {
      const { code, reason } = p.message.body as { code: number; reason: string };
      this.finish((call) => call.reject(new Denied(code, reason, p.ext.int("error.blocking") === 1)));
      return;
    }
    if (c?.acked && (replies[c.call.request.name] as readonly string[]).includes(name ?? "")) {
      this.finish((call) => call.resolve(p));
      return;
    }
    this.handlers.pushed(p);
  }

  private repeat(): void {
    if (!this.current) return;
    this.send(this.current.bytes);
  }

  /** send sends a request and waits for its ACK. A socket that is closing will call onclose. */
  private send(bytes: Uint8Array<ArrayBuffer>): void {
    if (this.socket.readyState === open) this.socket.send(bytes);
    this.wait(() => this.leave(), this.timeout());
  }

  private finish(how: (call: Call) => void): void {
    const { call } = this.current!;
    clearTimeout(this.timer);
    this.handlers.held("");
    this.current = null;
    how(call);
    if (!this.ended) this.handlers.idle();
  }
}
