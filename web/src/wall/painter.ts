// The painter draws changed boards on their canvases, once a frame, and measures
// how long a change waited.

import type { Watcher } from "../session/watch";
import { type Colours, coloursNow, paint } from "./paint";

interface Tally {
  frames: number;
  painted: number;
  worst: number; // ms from a change's arrival to its picture
}

export class Painter {
  readonly tally: Tally = { frames: 0, painted: 0, worst: 0 };
  private canvases = new Map<string, HTMLCanvasElement>();
  private shown = new Map<string, string>(); // FEN by board
  private colours: Colours | null = null;
  private frame = 0;
  private off: () => void;

  constructor(private watcher: Watcher) {
    this.off = watcher.tick.subscribe(() => this.soon());
  }

  /** show paints a board on a canvas from now on; null ends it. */
  show(id: string, canvas: HTMLCanvasElement | null): void {
    if (canvas) this.canvases.set(id, canvas);
    else this.canvases.delete(id);
    this.shown.delete(id);
    this.soon();
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
      this.draw();
    });
  }

  private draw(): void {
    const now = performance.now();
    this.tally.frames++;
    for (const [id, canvas] of this.canvases) {
      const board = this.watcher.boards.get(id);
      const before = this.shown.get(id);
      if (!board || before === board.fen) continue;
      this.colours ??= coloursNow();
      paint(canvas, board, this.colours);
      canvas.dataset.fen = board.fen;
      if (before) this.tally.worst = Math.max(this.tally.worst, now - board.seen);
      this.shown.set(id, board.fen);
      this.tally.painted++;
    }
  }
}
