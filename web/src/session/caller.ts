// The queue of requests of a page, over one connection after the other. It
// connects, greets, and connects again when the connection breaks; requests wait
// meanwhile, and what was under way is asked again.

import type { MessageName, Outgoing, Packet } from "../wire";
import { type Call, Connection, type Counter, Lost, type Sock } from "./connection";

export type LinkState = "connecting" | "online" | "away" | "stopped";

interface CallerOptions {
  open(): Sock;
  /** token is that of the session, written into a request when it is sent. */
  token(): string;
  /** greet says hello over a fresh connection; requests wait until it is answered. */
  greet(ask: Ask): Promise<void>;
  changed(state: LinkState): void;
  pushed(p: Packet): void;
}

export type Ask = <K extends MessageName>(request: Outgoing<K>, ...expect: MessageName[]) => Promise<Packet>;

const firstDelay = 250; // ms before the second attempt
const maxDelay = 15_000;
const heartbeat = 25_000; // ms of silence after which the server is asked whether it is there

export class Caller implements Counter {
  private connection: Connection | null = null;
  private greeted = false;
  private queue: Call[] = [];
  private delay = 0;
  private retry: ReturnType<typeof setTimeout> | undefined;
  private beat: ReturnType<typeof setTimeout> | undefined;
  private seq = 1 + Math.floor(Math.random() * 0x3fffffff);
  state: LinkState = "stopped";

  constructor(private options: CallerOptions) {}

  next(): number {
    return this.seq++;
  }

  start(): void {
    if (this.state !== "stopped") return;
    this.become("connecting");
    this.connect();
  }

  /** stop ends the connection; what waits is lost. */
  stop(): void {
    clearTimeout(this.retry);
    clearTimeout(this.beat);
    this.become("stopped");
    this.connection?.end(false);
    this.connection = null;
    for (const call of this.queue.splice(0)) call.reject(new Lost("stopped"));
  }

  /**
   * nudge is called when the network or the page comes back: it connects at once, or asks whether the server is there.
   * A connection that slept may be dead without knowing it, so the answer has to come soon.
   */
  nudge(): void {
    if (this.state === "away") {
      this.delay = 0;
      clearTimeout(this.retry);
      const attempt = this.connection;
      this.connection = null; // an attempt under way may have begun in the network before
      attempt?.end(false);
      this.connect();
    } else if (this.state === "online" && this.connection) {
      if (!this.connection.busy) this.options.greet(this.ask).catch(() => {});
      this.connection.hurry();
      this.greetSoon(heartbeat);
    }
  }

  ask: Ask = (request, ...expect) => this.enqueue(request, expect, true);

  /** askOnce is for a request that must not be repeated as it is: Lost when the connection breaks. */
  askOnce: Ask = (request, ...expect) => this.enqueue(request, expect, false);

  private enqueue(request: Outgoing<any>, expect: readonly MessageName[], again: boolean): Promise<Packet> {
    if (this.state === "stopped") return Promise.reject(new Lost("stopped"));
    return new Promise((resolve, reject) => {
      this.queue.push({ request, expect, again, resolve, reject });
      this.pump();
    });
  }

  private become(state: LinkState): void {
    if (this.state === state) return;
    this.state = state;
    this.options.changed(state);
  }

  private connect(): void {
    this.greeted = false;
    const connection = new Connection(this.options.open(), this, {
      opened: () => this.hello(connection),
      idle: () => this.pump(),
      pushed: (p) => this.options.pushed(p),
      closed: (restarting, unfinished) => this.broke(connection, restarting, unfinished),
    });
    this.connection = connection;
  }

  private hello(connection: Connection): void {
    const ask: Ask = (request, ...expect) =>
      new Promise((resolve, reject) => connection.ask({ request, expect, again: false, resolve, reject }));
    this.options.greet(ask).then(
      () => {
        if (this.connection !== connection) return;
        this.greeted = true;
        this.delay = 0;
        this.become("online");
        this.greetSoon(heartbeat);
        this.pump();
      },
      () => connection.end(false), // refused, or broken: try again later
    );
  }

  /** greetSoon asks for the session again: it shows that the server is there, and what has changed. */
  private greetSoon(ms: number): void {
    clearTimeout(this.beat);
    this.beat = setTimeout(() => {
      if (this.state !== "online") return;
      if (!this.connection?.busy) this.options.greet(this.ask).catch(() => {});
      this.greetSoon(heartbeat);
    }, ms);
  }

  private pump(): void {
    if (!this.greeted || !this.connection || this.connection.busy) return;
    const call = this.queue.shift();
    if (call) this.connection.ask({ ...call, request: { ...call.request, token: this.options.token() } });
  }

  private broke(connection: Connection, restarting: boolean, unfinished: Call | null): void {
    if (this.connection !== connection) return;
    this.connection = null;
    const inGreeting = !this.greeted;
    this.greeted = false;
    clearTimeout(this.beat);
    if (unfinished?.again) this.queue.unshift(unfinished);
    else unfinished?.reject(new Lost("the connection broke"));
    if (this.state === "stopped") return;
    this.become("away");
    const delay = restarting && !inGreeting ? 0 : this.delay;
    this.delay = Math.min(maxDelay, Math.max(firstDelay, 2 * this.delay));
    this.retry = setTimeout(() => this.connect(), delay * (0.75 + Math.random() / 2));
  }
}
