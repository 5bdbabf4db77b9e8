// What a spectator sees: a list of boards, kept as docs/protocol.md says.

import { Flag, type Int, Notice, type Packet } from "../wire";
import { type Board, boardOf } from "./board";
import { Denied } from "./connection";
import type { Session } from "./session";
import { Store } from "./store";

export interface WatchedBoard extends Board {
  seen: number; // ms, when it last changed
  ply: number; // moves made; 0 of an older server
  bot: boolean; // a program made the last move
  generation: number; // of the summary in which it was last named
  gone: number; // ms, since when it can be watched no more; 0 while it can
}

export type View = { kind: "summary"; standard: boolean; chess960: boolean } | { kind: "focus"; board: Int };

const goneShown = 6_000; // ms for which a board that is gone stays in the summary
const sweepAfter = 15_000; // ms after which a board that a new summary does not name is gone

export class Watcher {
  readonly boards = new Map<string, WatchedBoard>();
  /** tick counts changes, for the views. */
  readonly tick = new Store(0);
  readonly state = new Store<"idle" | "summary" | "focus" | "over" | "refused">("idle");
  refusal = "";
  private view: View | null = null;
  private generation = 0;
  private off: (() => void)[] = [];
  private sweeping: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private session: Session,
    private now: () => number = () => performance.now(),
  ) {}

  /** watch begins to watch a view; watching goes on after a reconnect. */
  watch(view: View): void {
    if (this.off.length === 0) {
      this.off = [this.session.onPacket((p) => this.receive(p)), this.followLink()];
    }
    // What is still under way of the summary before is none of this one.
    const next = this.view?.kind === "summary" && view.kind === "summary" ? this.generation + 1 : 0;
    this.view = view;
    this.clear();
    this.generation = next;
    this.state.set("idle");
    this.ask();
  }

  stop(): void {
    for (const off of this.off.splice(0)) off();
    this.view = null;
    this.clear();
    this.state.set("idle");
    this.session.caller.ask({ name: "SPECTATE_STOP", body: {} }).catch(() => {});
  }

  /** followLink asks again after the connection was lost. */
  private followLink(): () => void {
    let was = this.session.status.value.link;
    return this.session.status.subscribe(({ link }) => {
      if (link === "online" && was !== "online") this.ask();
      was = link;
    });
  }

  private ask(): void {
    const view = this.view;
    if (!view || this.session.status.value.link !== "online") return;
    const flags = view.kind === "summary" ? (view.standard ? Flag.MODE_FILTER_STANDARD : 0) | (view.chess960 ? Flag.MODE_FILTER_CHESS960 : 0) : 0;
    const request = { name: "SPECTATE_GAME", body: {}, flags, board: view.kind === "focus" ? view.board : 0 } as const;
    this.session.caller.ask(request).then(
      (p) => this.view === view && this.receive(p),
      (e: Error) => {
        if (this.view !== view) return;
        this.refusal = e instanceof Denied ? e.reason : e.message;
        this.state.set("refused");
      },
    );
  }

  /** over keeps the last position of a board that can be watched no more, or not for now. */
  private over(): void {
    this.state.set("over");
    this.session.caller.ask({ name: "SPECTATE_STOP", body: {} }).catch(() => {});
  }

  /** retry asks again for a board that could not be watched: somebody may play on it again. */
  retry(): void {
    if (this.state.value === "over" || this.state.value === "refused") this.ask();
  }

  private clear(): void {
    clearTimeout(this.sweeping);
    this.sweeping = undefined;
    this.boards.clear();
    this.generation = 0;
    this.tick.set(this.tick.value + 1);
  }

  private receive(p: Packet): void {
    if (p.message?.name === "SERVER_NOTIFICATION" && p.message.body.type === Notice.spectateEnded) {
      this.refusal = p.message.body.text;
      if (p.flags & Flag.SPECTATE_NOTICE_SUMMARY_FALLBACK && this.view?.kind === "focus") return this.over();
      if (p.flags & Flag.SPECTATE_NOTICE_STOPPED) this.state.set("refused");
      return;
    }
    if (p.message?.name !== "SPECTATE_UPDATE" || !this.view) return;
    const state = p.ext.text("spectate.state");
    if (this.view.kind === "focus" && (String(p.board) !== String(this.view.board) || state === "summary")) return; // of what was watched before
    if (state === "summary" || state === "focus" || state === "idle") this.state.set(state);
    const generation = p.ext.int("spectate.summary_generation") ?? this.generation;
    if (generation < this.generation) return;
    this.generation = generation;
    if (Number(p.board) === 0) {
      this.sweepLater(); // it names all boards again, over some time: until then those of before stay
      return;
    }
    const board = boardOf(p);
    const key = String(board.id);
    const before = this.boards.get(key);
    if (!board.fen) {
      if (before && !before.gone) this.go(key, { ...before, version: board.version });
      return;
    }
    const changed = !before || before.fen !== board.fen;
    this.boards.set(key, { ...board, seen: changed ? this.now() : before.seen, ply: p.ext.int("board.ply") ?? 0, bot: p.ext.int("board.bot") === 1, generation, gone: 0 });
    this.tick.set(this.tick.value + 1);
  }

  /** go keeps a board that is gone for a moment, so that one sees how it ended. */
  private go(key: string, board: WatchedBoard): void {
    this.boards.set(key, { ...board, gone: this.now() });
    setTimeout(() => this.boards.get(key)?.gone && this.drop(key), goneShown);
    this.tick.set(this.tick.value + 1);
  }

  private drop(key: string): void {
    this.boards.delete(key);
    this.tick.set(this.tick.value + 1);
  }

  /** sweepLater drops the boards that the present summary has not named after a while. When games end, summaries may follow sooner than that. */
  private sweepLater(): void {
    if (this.sweeping) return;
    const { generation } = this;
    this.sweeping = setTimeout(() => {
      this.sweeping = undefined;
      for (const [key, b] of this.boards) if (b.generation < generation && !b.gone) this.drop(key);
      if (this.generation > generation) this.sweepLater();
    }, sweepAfter);
  }
}
