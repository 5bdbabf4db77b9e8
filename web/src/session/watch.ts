// What a spectator sees: a list of boards, kept as docs/protocol.md says.

import { Flag, type Int, Notice, type Packet } from "../wire";
import { type Board, boardOf } from "./board";
import { Denied } from "./connection";
import type { Session } from "./session";
import { Store } from "./store";

export interface WatchedBoard extends Board {
  seen: number; // ms, when it last changed
  heat: number; // changes while we watched, older ones weigh less
}

export type View = { kind: "summary"; standard: boolean; chess960: boolean } | { kind: "focus"; board: Int };

const heatDecay = 30_000; // ms in which a board's heat falls to a third

export class Watcher {
  readonly boards = new Map<string, WatchedBoard>();
  /** tick counts changes, for the views. */
  readonly tick = new Store(0);
  readonly state = new Store<"idle" | "summary" | "focus" | "over" | "refused">("idle");
  refusal = "";
  private view: View | null = null;
  private generation = 0;
  private off: (() => void)[] = [];

  constructor(
    private session: Session,
    private now: () => number = () => performance.now(),
  ) {}

  /** watch begins to watch a view; watching goes on after a reconnect. */
  watch(view: View): void {
    if (this.off.length === 0) {
      this.off = [this.session.onPacket((p) => this.receive(p)), this.followLink()];
    }
    this.view = view;
    this.clear();
    this.state.set("idle");
    this.ask();
  }

  /** ranked returns the boards, busiest first; among equals those with more moves first. */
  ranked(): string[] {
    const now = this.now();
    const heat = (s: WatchedBoard) => s.heat * Math.exp((s.seen - now) / heatDecay);
    return [...this.boards.values()]
      .map((s) => ({ id: String(s.id), heat: heat(s), version: s.version }))
      .sort((a, b) => b.heat - a.heat || b.version - a.version || Number(a.id) - Number(b.id))
      .map((s) => s.id);
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

  /** over keeps the last position of a board that can be watched no more. */
  private over(): void {
    this.view = null;
    this.state.set("over");
    this.session.caller.ask({ name: "SPECTATE_STOP", body: {} }).catch(() => {});
  }

  private clear(): void {
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
    if (this.view.kind === "focus" && String(p.board) !== String(this.view.board)) return; // of what was watched before
    const state = p.ext.text("spectate.state");
    if (state === "summary" || state === "focus" || state === "idle") this.state.set(state);
    const generation = p.ext.int("spectate.summary_generation") ?? this.generation;
    if (generation < this.generation) return;
    if (Number(p.board) === 0) {
      this.clear();
      this.generation = generation;
      return;
    }
    this.generation = generation;
    const board = boardOf(p);
    const key = String(board.id);
    const before = this.boards.get(key);
    const changed = !before || before.fen !== board.fen;
    const seen = changed ? this.now() : before.seen;
    const heat = before ? before.heat * Math.exp((before.seen - seen) / heatDecay) + (changed ? 1 : 0) : 0;
    this.boards.set(key, { ...board, seen, heat });
    this.tick.set(this.tick.value + 1);
  }
}
