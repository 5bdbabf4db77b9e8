// A player's session: the token, the board that he holds, the move under way.
// It outlives connections, and pages through what the browser keeps.

import { Caps, Flag, intField, NO_TOKEN, Notice, type Packet } from "../wire";
import { type Board, boardOf } from "./board";
import { type Ask, Caller, type LinkState } from "./caller";
import { Denied, Lost, type Sock } from "./connection";
import { Keep, keys, type Pending, type Shelf } from "./keep";
import { Store } from "./store";

export interface Status {
  link: LinkState;
  elsewhere: boolean; // another tab of this browser has taken over
  token: string;
  board: Board | null;
  caps: number;
  source: string; // of predictions: "tree", "moves" or ""
  sending: Pending | null; // a move that is not answered yet
  refusal: Denied | null; // why there is no session
}

/** Happening is what a view may want to tell the player. */
export type Happening =
  | { kind: "switched"; from: Board; to: Board; moved: Pending | null }
  | { kind: "refused"; move: Pending; why: Denied }
  | { kind: "renewed" } // the server did not know the token any more
  | { kind: "notice"; type: number; text: string; board: number };

const queueing = 3_000; // ms after which a player without a board asks again
const turnedAway = 15_000; // ms after which one whom the server did not take does

export class Session {
  readonly status: Store<Status>;
  readonly caller: Caller;
  readonly keep: Keep;
  private listeners = new Set<(h: Happening) => void>();
  private packets = new Set<(p: Packet) => void>();
  private waiting: ReturnType<typeof setTimeout> | undefined;
  private tab = Math.random().toString(36).slice(2);

  constructor(open: () => Sock, shelf: Shelf) {
    this.keep = new Keep(shelf);
    const token = this.keep.get(keys.token) ?? NO_TOKEN;
    this.status = new Store<Status>({
      link: "stopped",
      elsewhere: false,
      token,
      board: null,
      caps: 0,
      source: "",
      sending: null,
      refusal: null,
    });
    this.caller = new Caller({
      open,
      token: () => this.status.value.token,
      greet: (ask) => this.greet(ask),
      changed: (link) => this.status.patch({ link }),
      pushed: (p) => this.pushed(p),
    });
  }

  /** start connects, and sends a move that an earlier page left behind. */
  start(): void {
    this.keep.set(keys.tab, this.tab);
    this.status.patch({ elsewhere: false });
    this.caller.start();
    const left = this.keep.read<Pending>(keys.pending);
    if (left && left.token === this.status.value.token && !this.status.value.sending) void this.send(left);
  }

  /** yieldTo stops this page when another tab has started: two would count packets of one session. */
  yieldTo(tab: string | null): void {
    if (!tab || tab === this.tab) return;
    this.status.patch({ elsewhere: true });
    this.caller.stop();
  }

  on(listener: (h: Happening) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** onPacket hears of packets that nobody asked for. */
  onPacket(listener: (p: Packet) => void): () => void {
    this.packets.add(listener);
    return () => this.packets.delete(listener);
  }

  may(cap: keyof typeof Caps): boolean {
    return (this.status.value.caps & Caps[cap]) !== 0;
  }

  /** play sends a move of the board that the player holds. */
  play(uci: string): void {
    const { board, token, sending } = this.status.value;
    if (!board || sending) return;
    void this.send({ token, board: String(board.id), uci });
  }

  private async send(move: Pending): Promise<void> {
    this.keep.write(keys.pending, move);
    this.status.patch({ sending: move });
    try {
      const request = { name: "PLAYER_MOVE", body: { uci: move.uci }, board: BigInt(move.board) } as const;
      const answer = await this.caller.ask(request, "BOARD_UPDATE");
      this.settle();
      this.adopt(answer, move);
    } catch (e) {
      if (e instanceof Lost) return; // the page ends, or another tab has taken over; it is kept
      this.settle();
      this.tell({ kind: "refused", move, why: e as Denied });
      this.refresh();
    }
  }

  private settle(): void {
    this.keep.write(keys.pending, null);
    this.status.patch({ sending: null });
  }

  /** refresh asks which board the player holds. A new connection does so anyway. */
  refresh(): void {
    if (this.status.value.link === "online") this.greet(this.caller.ask).catch(() => {});
  }

  /** forget ends the session in this browser; the next start is a new player. */
  forget(): void {
    this.caller.stop();
    this.keep.set(keys.token, null);
    this.settle();
    this.status.patch({ token: NO_TOKEN, board: null, caps: 0 });
  }

  // Of the capabilities it asks for profile state only: then the bit of the
  // other one, 0x01, is free to mean that the board plays Chess960.
  private async greet(ask: Ask): Promise<void> {
    const { token } = this.status.value;
    const ext = [intField("hello.without_board", 1)]; // who finds none may watch
    const hello = { name: "CLIENT_HELLO", body: {}, token, flags: Flag.CAP_PROFILE_STATE, ext } as const;
    try {
      const p = await ask(hello, "SERVER_HELLO");
      this.status.patch({ refusal: null });
      if (p.token !== token) this.renew(p.token, token !== NO_TOKEN);
      this.adopt(p, null);
      if (Number(p.board) === 0) {
        this.status.patch({ board: null }); // all are taken
        this.askLater(queueing);
      }
    } catch (e) {
      if (e instanceof Denied) {
        this.status.patch({ refusal: e });
        this.askLater(turnedAway);
      }
      throw e;
    }
  }

  private askLater(ms: number): void {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.refresh(), ms);
  }

  private renew(token: string, known: boolean): void {
    this.keep.set(keys.token, token);
    this.status.patch({ token });
    if (known) this.tell({ kind: "renewed" });
  }

  /** adopt takes over what a packet with a board says about the session. */
  adopt(p: Packet, moved: Pending | null): void {
    const from = this.status.value.board;
    const to = boardOf(p);
    this.learn(p);
    if (p.board === 0 || p.board === 0n) return;
    if (from && from.id === to.id && from.version === to.version && from.fen === to.fen) return;
    this.status.patch({ board: to });
    if (from) this.tell({ kind: "switched", from, to, moved });
  }

  /** learn reads the fields that describe a session. */
  learn(p: Packet): void {
    this.status.patch({
      caps: p.ext.int("session.caps") ?? this.status.value.caps,
      source: p.ext.text("prediction.source") ?? this.status.value.source,
    });
  }

  private pushed(p: Packet): void {
    const m = p.message;
    if (m?.name === "BOARD_UPDATE" && p.token === this.status.value.token) this.adopt(p, null);
    else if (m?.name === "SERVER_NOTIFICATION") {
      this.tell({ kind: "notice", type: m.body.type, text: m.body.text, board: Number(p.board) });
      if (m.body.type === Notice.sessionExpired) this.refresh();
    }
    for (const l of [...this.packets]) l(p);
  }

  private tell(h: Happening): void {
    for (const l of [...this.listeners]) l(h);
  }
}
