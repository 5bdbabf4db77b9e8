// The queue of requests of a page, over one connection after the other. It
// connects, says hello, and connects again when the connection breaks; requests
// wait meanwhile, and the request under way is sent again.

import { type Answer, type MessageName, NO_TOKEN, type Outgoing, type Packet, type RequestName } from "../wire";
import { type Call, Connection, type Counter, Lost, type Socket } from "./connection";

export type LinkState = "connecting" | "online" | "away" | "stopped";

interface CallerOptions {
  /** open connects to a host; "" is that of the page. */
  open(host: string): Socket;
  /** token returns the token of the session, which a request carries when it is sent. */
  token(): string;
  /** hello asks for the session over a new connection; requests wait until it is answered. */
  hello(ask: Ask): Promise<void>;
  changed(state: LinkState): void;
  /** held tells why the server does not answer yet, in its words; "" when it does. */
  held(why: string): void;
  pushed(p: Packet): void;
  /** here reports whether the player has shown lately that they are there. */
  here(): boolean;
}

/** Ask sends a request and waits for its answer; an ERROR is thrown as Denied. */
export type Ask = <K extends RequestName>(request: Outgoing<K>) => Promise<Answer<K>>;

const firstDelay = 250; // ms before the second attempt
const maxDelay = 15_000;
const maxDelayToOthers = 1_000; // where another machine takes over when one is lost
const timeout = 12_000; // ms for an answer
const timeoutWithOthers = 3_000;
const moveEvery = 30_000; // ms that a page stays at a machine to which it has gone because that serves it
const movePause = 600_000; // ms that it stays where it is when it could not go there
const heartbeat = 25_000; // ms between two requests that show whether the server is there

/** pageHost is the host of the page, without the brackets of an IPv6 address. */
const pageHost = (): string | undefined => globalThis.location?.hostname.replace(/[[\]]/g, "");

export class Caller implements Counter {
  private connection: Connection | null = null;
  private ready = false; // the hello of this connection was answered
  private queue: Call[] = [];
  private delay = 0;
  private hosts = [""]; // of the machines that serve the session, the page's first
  private turn = 0; // whose of them it is
  private home: string | null = null; // of the one that serves the session, while another one is called
  private mayMove = 0; // when the page may go there
  private back: number | null = null; // whose turn it was before; null: it is not on its way
  host = ""; // of the machine that serves the session, or did last; "" is that of the page
  private retryTimer: ReturnType<typeof setTimeout> | undefined;
  private heartbeatTimer: ReturnType<typeof setTimeout> | undefined;
  private seq = 1 + Math.floor(Math.random() * 0x3fffffff);
  state: LinkState = "stopped";

  constructor(private options: CallerOptions) {}

  next(): number {
    return this.seq++;
  }

  /** others reports whether another machine takes over when this one is lost. */
  get others(): boolean {
    return this.hosts.length > 1;
  }

  private get called(): string {
    return this.hosts[this.turn % this.hosts.length];
  }

  /** learn takes the hosts of all machines, separated by spaces, as a SERVER_HELLO names them. */
  learn(hosts: string | undefined): void {
    if (hosts === undefined) return;
    const now = this.called;
    this.hosts = ["", ...hosts.split(" ").filter((h) => h && h !== pageHost())];
    this.turn = Math.max(0, this.hosts.indexOf(now));
  }

  /** prefer takes the host of the machine that serves the session, as an answer says that another one has passed on; undefined: none has. */
  prefer(host: string | undefined): void {
    const at = host ? this.hosts.indexOf(host === pageHost() ? "" : host) : -1;
    this.home = at < 0 || this.hosts[at] === this.called ? null : this.hosts[at];
    this.move();
  }

  /** move goes to the machine that serves the session when nothing is asked, and not too often. */
  private move(): void {
    const { connection, home } = this;
    if (home === null || !this.ready || !connection || connection.busy || this.queue.length > 0 || Date.now() < this.mayMove) return;
    this.mayMove = Date.now() + moveEvery;
    this.back = this.turn % this.hosts.length;
    this.turn = this.hosts.indexOf(home);
    this.home = null;
    this.connection = null; // its end is none of the session
    clearTimeout(this.heartbeatTimer);
    connection.end(false);
    this.setState("connecting"); // who watches asks again
    this.connect();
  }

  start(): void {
    if (this.state !== "stopped") return;
    this.setState("connecting");
    this.connect();
  }

  /** stop ends the connection; requests that wait are Lost. */
  stop(): void {
    clearTimeout(this.retryTimer);
    clearTimeout(this.heartbeatTimer);
    this.setState("stopped");
    this.connection?.end(false);
    this.connection = null;
    for (const call of this.queue.splice(0)) call.reject(new Lost("stopped"));
  }

  /**
   * wake is called when the network or the page comes back: it connects at once, or asks whether the server is there.
   * A connection that slept may be dead without a close event, so the wait for the answer is short.
   */
  wake(): void {
    if (this.state === "away") {
      this.delay = 0;
      clearTimeout(this.retryTimer);
      const attempt = this.connection;
      this.connection = null; // an attempt under way may have begun in the network of before
      attempt?.end(false);
      this.connect();
    } else if (this.state === "online" && this.connection) {
      if (!this.connection.busy) this.options.hello(this.ask).catch(() => {});
      this.connection.hurry();
      this.helloLater();
    }
  }

  /** rest closes the connection until wake: the server need not wait to find out that nobody is here. */
  rest(): void {
    if (this.state === "stopped" || this.state === "away") return;
    this.setState("away");
    this.connection?.end(false);
    clearTimeout(this.retryTimer);
  }

  /** tell sends a packet whose answer nobody waits for, if there is a connection. */
  tell(request: Outgoing<MessageName>): void {
    if (this.ready) this.connection?.tell(request);
  }

  ask: Ask = (request) => this.enqueue(request, true);

  /** askOnce is for a request that must not be sent twice: Lost when the connection breaks. */
  askOnce: Ask = (request) => this.enqueue(request, false);

  private enqueue<K extends RequestName>(request: Outgoing<K>, repeatable: boolean): Promise<Answer<K>> {
    if (this.state === "stopped") return Promise.reject(new Lost("stopped"));
    return new Promise((resolve, reject) => {
      this.queue.push({ request, repeatable, resolve: resolve as Call["resolve"], reject });
      this.sendNext();
    });
  }

  private setState(state: LinkState): void {
    if (this.state === state) return;
    this.state = state;
    this.options.changed(state);
  }

  private connect(): void {
    this.ready = false;
    const connection = new Connection(this.options.open(this.called), this, {
      opened: () => this.hello(connection),
      idle: () => this.sendNext(),
      held: (why) => this.options.held(why),
      pushed: (p) => this.options.pushed(p),
      closed: (restarting, silent, unfinished) => this.disconnected(connection, restarting, silent, unfinished),
    }, () => (this.others ? timeoutWithOthers : timeout)); // a hello may name them
    this.connection = connection;
  }

  private hello(connection: Connection): void {
    const ask: Ask = (request) => new Promise((resolve, reject) => connection.ask({ request, repeatable: false, resolve: resolve as Call["resolve"], reject }));
    this.options.hello(ask).then(
      () => {
        if (this.connection !== connection) return;
        this.ready = true;
        this.host = this.called;
        this.delay = 0;
        this.back = null;
        this.setState("online");
        this.helloLater();
        this.sendNext();
      },
      () => connection.end(false), // refused, or broken: try again later
    );
  }

  /**
   * helloLater asks for the session again: the answer shows that the server is there, and what has changed. Of a player
   * who is not there it asks without their token: a packet with it would be their sign of life, and keep their board from others.
   */
  private helloLater(): void {
    clearTimeout(this.heartbeatTimer);
    this.heartbeatTimer = setTimeout(() => {
      if (this.state !== "online") return;
      if (this.options.here()) this.connection?.busy || this.options.hello(this.ask).catch(() => {});
      else this.connection?.busy || this.connection?.ask({ request: { name: "LIST_PROFILES", body: {}, token: NO_TOKEN }, repeatable: false, resolve: () => {}, reject: () => {} });
      this.helloLater();
    }, heartbeat);
  }

  private sendNext(): void {
    if (!this.ready || !this.connection || this.connection.busy) return;
    const call = this.queue.shift();
    if (call) this.connection.ask({ ...call, request: { ...call.request, token: this.options.token() } });
    else this.move();
  }

  private disconnected(connection: Connection, restarting: boolean, silent: boolean, unfinished: Call | null): void {
    if (this.connection !== connection) return;
    this.connection = null;
    const wasReady = this.ready;
    this.ready = false;
    clearTimeout(this.heartbeatTimer);
    if (unfinished?.repeatable) this.queue.unshift(unfinished);
    else unfinished?.reject(new Lost("the connection broke"));
    if (this.state === "stopped") return;
    this.setState("away");
    if (this.back !== null) {
      this.turn = this.back;
      this.back = null;
      this.mayMove = Date.now() + movePause;
    } else if (!wasReady || silent) this.turn++; // who has closed it may only have been restarted
    const delay = restarting && wasReady ? 0 : this.delay;
    this.delay = Math.min(this.others ? maxDelayToOthers : maxDelay, Math.max(firstDelay, 2 * this.delay));
    this.retryTimer = setTimeout(() => this.connect(), delay * (0.75 + Math.random() / 2));
  }
}
