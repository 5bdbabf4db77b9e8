// The painter draws changed boards on their canvases, once a frame, and measures
// how long a change waited.

import type { WatchedBoard, Watcher } from "../session/watch";
import { type Colours, coloursNow, paint } from "./paint";

interface Tally {
  frames: number;
  painted: number;
  worst: number; // ms from a change's arrival to its picture
}

export class Painter {
  readonly tally: Tally = { frames: 0, painted: 0, worst: 0 };
  private canvases = new Map<string, HTMLCanvasElement>();
  private told = new Map<string, (b: WatchedBoard) => void>();
  private shown = new Map<string, string>(); // FEN by board
  private colours: Colours | null = null;
  private frame = 0;
  private off: () => void;

  constructor(private watcher: Watcher) {
    this.off = watcher.tick.subscribe(() => this.soon());
  }

  /** show paints a board on a canvas from now on, at once if it is known, and tells of each change; null ends it. */
  show(id: string, canvas: HTMLCanvasElement | null, tell: (b: WatchedBoard) => void = () => {}): void {
    this.shown.delete(id);
    if (!canvas) {
      this.canvases.delete(id);
      this.told.delete(id);
      return;
    }
    this.canvases.set(id, canvas);
    this.told.set(id, tell);
    this.draw(id);
  }

  /** repaint is for new colours or another size. */
  repaint(): void {
    this.colours = null;
    this.shown.clear();
    this.soon();
  }

  stop(): void {
    this.off();
    cancelAnimationFrame(this.frame);
  }

  private soon(): void {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.tally.frames++;
      for (const id of this.canvases.keys()) this.draw(id);
    });
  }

  private draw(id: string): void {
    const board = this.watcher.boards.get(id);
    const before = this.shown.get(id);
    const now = board && board.fen + (board.gone ? " gone" : "");
    if (!board || before === now) return;
    this.colours ??= coloursNow();
    const canvas = this.canvases.get(id)!;
    paint(canvas, board, this.colours);
    canvas.dataset.fen = board.fen;
    this.told.get(id)?.(board);
    if (before) this.tally.worst = Math.max(this.tally.worst, performance.now() - (board.gone || board.seen));
    this.shown.set(id, now!);
    this.tally.painted++;
  }
}
