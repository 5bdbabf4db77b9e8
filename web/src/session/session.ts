// A player's session: the token, the board that they hold, the move under way.
// It outlives connections, and pages because the browser stores it.

import { Caps, Flag, intField, NO_TOKEN, Notice, type Packet } from "../wire";
import { type Board, boardOf } from "./board";
import { type Ask, Caller, type LinkState } from "./caller";
import { Denied, Lost, type Socket } from "./connection";
import { type Area, keys, LocalData, type Pending } from "./storage";
import { Store } from "./store";

export interface Status {
  link: LinkState;
  elsewhere: boolean; // another tab of this browser has taken over
  token: string;
  board: Board | null;
  full: boolean; // the player has no board because all are taken
  place: number; // so many get a board before them and with them; 0: nobody knows
  caps: number;
  source: string; // of predictions: "tree", "moves" or ""
  sending: Pending | null; // a move that is not answered yet
  refusal: Denied | null; // why there is no session
  held: string; // why the server does not answer yet, in its words
}

/** SessionEvent is something that a view may show to the player. */
export type SessionEvent =
  | { kind: "played"; move: Pending; fen: string; crowd: string } // the server has taken it, on this board; crowd is how others moved there: "e2e4 12 d2d4 5"
  | { kind: "switched"; from: Board; to: Board; moved: Pending | null }
  | { kind: "refused"; move: Pending; why: Denied }
  | { kind: "renewed" } // the server did not know the token any more
  | { kind: "notice"; type: number; text: string; board: number; stays?: Stays };

/** Stays is about an announcement that stays: for how long from now on (0: it is withdrawn), and whether something happens then. */
export interface Stays {
  id: number;
  seconds: number;
  countdown: boolean;
}

const signPause = 30_000; // ms between two signs of life
const absent = 30_000; // ms after which a player who does nothing may not be there
const noBoardPause = 3_000; // ms after which a player without a board asks again
const madeAnyway = "the move was made"; // what an ERROR begins with when there is no other board
const refusedPause = 15_000; // ms after which a player without a session asks again

export class Session {
  readonly status: Store<Status>;
  readonly caller: Caller;
  readonly stored: LocalData;
  private listeners = new Set<(e: SessionEvent) => void>();
  private packets = new Set<(p: Packet) => void>();
  private waiting: ReturnType<typeof setTimeout> | undefined;
  private wanted = true; // the player wants a board, and not only to watch or read
  private touched = Date.now(); // when the player last did anything
  private signed = 0; // when the server was last told so
  private tab = Math.random().toString(36).slice(2);

  constructor(open: (host: string) => Socket, area: Area) {
    this.stored = new LocalData(area);
    const token = this.stored.get(keys.token) ?? NO_TOKEN;
    this.status = new Store<Status>({
      link: "stopped",
      elsewhere: false,
      token,
      board: null,
      full: false,
      place: 0,
      caps: 0,
      source: "",
      sending: null,
      refusal: null,
      held: "",
    });
    this.caller = new Caller({
      open,
      token: () => this.status.value.token,
      hello: (ask) => this.hello(ask),
      changed: (link) => this.status.patch({ link }),
      held: (why) => why !== this.status.value.held && this.status.patch({ held: why }),
      pushed: (p) => this.pushed(p),
      here: () => Date.now() - this.touched < absent,
    });
  }

  /** start connects, and sends the move that an earlier page could not send. */
  start(): void {
    this.stored.set(keys.tab, this.tab);
    const stored = this.stored.get(keys.token);
    const renewed = stored && stored !== this.status.value.token; // by a login in another tab
    this.status.patch({ elsewhere: false, ...(renewed ? { token: stored, board: null } : {}) });
    this.caller.start();
    const left = this.stored.read<Pending>(keys.pending);
    if (left && left.token === this.status.value.token && !this.status.value.sending) void this.send(left);
  }

  /** yieldTo stops this page when another tab has started: two pages would number the packets of one session. */
  yieldTo(tab: string | null): void {
    if (!tab || tab === this.tab) return;
    this.status.patch({ elsewhere: true });
    this.caller.stop();
  }

  /**
   * wantBoard says whether the player wants a board: who only watches or reads takes none. The server is told of one who
   * holds a board: it stays theirs for as long as that of one who does nothing, and they get it back later if nobody has it.
   */
  wantBoard(wanted: boolean): void {
    if (this.wanted === wanted) return;
    this.wanted = wanted;
    clearTimeout(this.waiting);
    if (wanted || this.status.value.board) this.refresh();
  }

  get wantsBoard(): boolean {
    return this.wanted;
  }

  /** alive says that the player is there: they moved the mouse, pressed a key or touched the screen. While they think, their board stays theirs. */
  alive(): void {
    const now = Date.now();
    const away = now - this.touched >= absent;
    this.touched = now;
    if (!this.wanted || now - this.signed < signPause) return;
    this.signed = now;
    if (away) this.refresh(); // another may have their board: they get it back, or a new one
    else this.caller.tell({ name: "ACK", body: {}, token: this.status.value.token, seq: 0 });
  }

  /** leave gives the board back and closes the connection until the page returns: it is hidden or closed. A move under way is not disturbed. */
  leave(): void {
    const { board, token, sending } = this.status.value;
    if (board && !sending) this.caller.tell({ name: "CLIENT_GOODBYE", body: {}, token, ext: [intField("goodbye.returns", 1)] });
    this.caller.rest();
  }

  on(listener: (e: SessionEvent) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** onPacket calls a listener for each packet that answers no request. */
  onPacket(listener: (p: Packet) => void): () => void {
    this.packets.add(listener);
    return () => this.packets.delete(listener);
  }

  may(cap: keyof typeof Caps): boolean {
    return (this.status.value.caps & Caps[cap]) !== 0;
  }

  /** play sends a move of the board that the player holds; a page that has yielded to another tab knows none. */
  play(move: Omit<Pending, "token" | "board">): void {
    const { board, token, sending, elsewhere } = this.status.value;
    if (!board || sending || elsewhere) return;
    void this.send({ token, board: String(board.id), ...move });
  }

  private async send(move: Pending): Promise<void> {
    this.stored.write(keys.pending, move);
    this.status.patch({ sending: move });
    const { board } = this.status.value;
    const fen = board && String(board.id) === move.board ? board.fen : ""; // not that of a move of an earlier page
    try {
      const request = { name: "PLAYER_MOVE", body: { uci: move.uci }, board: BigInt(move.board), ext: [intField("move.crowd", 1), intField("board.ply", move.ply - 1)] } as const;
      const answer = await this.caller.ask(request);
      this.settle();
      this.emit({ kind: "played", move, fen, crowd: answer.ext.text("crowd.moves") ?? "" });
      this.adopt(answer, move);
      this.caller.prefer(answer.ext.text("cluster.home"));
    } catch (e) {
      if (e instanceof Lost) return; // the page ends, or another tab has taken over; the move stays stored
      this.settle();
      if (e instanceof Denied && e.reason.startsWith(madeAnyway)) {
        this.emit({ kind: "played", move, fen, crowd: "" });
        return this.queue(0);
      }
      this.emit({ kind: "refused", move, why: e as Denied });
      this.refresh();
    }
  }

  private settle(): void {
    this.stored.write(keys.pending, null);
    this.status.patch({ sending: null });
  }

  /** refresh asks which board the player holds. A new connection does so anyway. */
  refresh(): void {
    if (this.status.value.link === "online") this.hello(this.caller.ask).catch(() => {});
  }

  /** forget ends the session in this browser; the next start is a new player. */
  forget(): void {
    this.caller.stop();
    this.stored.set(keys.token, null);
    this.settle();
    this.status.patch({ token: NO_TOKEN, board: null, caps: 0 });
  }

  // Of the capabilities it asks for profile state only: then bit 0x01, which is
  // the other capability, means in the answer that the board plays Chess960.
  private async hello(ask: Ask): Promise<void> {
    const { token } = this.status.value;
    const { wanted } = this;
    const ext = [intField("hello.without_board", wanted ? 1 : 2)]; // without a free board the player may still watch
    const request = { name: "CLIENT_HELLO", body: {}, token, flags: Flag.CAP_PROFILE_STATE, ext } as const;
    try {
      const p = await ask(request);
      this.status.patch({ refusal: null });
      this.caller.learn(p.ext.text("cluster.endpoint"));
      this.caller.prefer(p.ext.text("cluster.home"));
      if (p.token !== token) this.renew(p.token, token !== NO_TOKEN);
      this.adopt(p, null);
      const none = Number(p.board) === 0;
      if (none) this.status.patch({ board: null });
      if (none && this.wanted) this.askLater(wanted ? noBoardPause : 0); // they may have come to play meanwhile
      this.status.patch({ full: none && wanted, place: p.ext.int("wait.place") ?? 0 });
    } catch (e) {
      if (e instanceof Denied) {
        this.status.patch({ refusal: e });
        this.askLater(refusedPause);
      }
      throw e;
    }
  }

  /** queue notes that the player waits for a board. */
  private queue(place: number): void {
    this.status.patch({ board: null, full: true, place });
    this.askLater(noBoardPause);
  }

  private askLater(ms: number): void {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.refresh(), ms);
  }

  /** takeToken makes a token that of the session: a login gives a new one. */
  takeToken(token: string): void {
    this.stored.set(keys.token, token);
    this.status.patch({ token });
  }

  private renew(token: string, known: boolean): void {
    this.takeToken(token);
    if (known) this.emit({ kind: "renewed" });
  }

  /** adopt makes what a packet with a board says the state of the session. */
  adopt(p: Packet, moved: Pending | null): void {
    const from = this.status.value.board;
    const to = boardOf(p);
    this.learn(p);
    const place = p.ext.int("wait.place");
    if (place !== undefined) return this.queue(place); // it shows the board of their move, which is not theirs any more
    if (p.board === 0 || p.board === 0n) return;
    if (from && from.id === to.id && from.version === to.version && from.fen === to.fen) return;
    this.status.patch({ board: to });
    if (from) this.emit({ kind: "switched", from, to, moved });
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
      const id = p.ext.int("notice.id");
      const stays = id === undefined ? undefined : { id, seconds: p.ext.int("notice.seconds") ?? 0, countdown: p.ext.int("notice.countdown") === 1 };
      this.emit({ kind: "notice", type: m.body.type, text: m.body.text, board: Number(p.board), stays });
      if (m.body.type === Notice.sessionExpired) this.refresh();
    }
    for (const l of [...this.packets]) l(p);
  }

  private emit(e: SessionEvent): void {
    for (const l of [...this.listeners]) l(e);
  }
}
