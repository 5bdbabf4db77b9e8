// The map: every board is a cell of one canvas. What has changed is drawn once a
// frame; from far a cell is a colour, from near a board.

import { Position } from "../chess";
import type { WatchedBoard } from "../session/watch";
import { ink } from "../style/ink";
import { Camera } from "./camera";
import { type Colours, coloursNow, emptyBoard } from "./paint";
import { Places } from "./places";
import { cellOf, placeOf, sideOf } from "./shells";
import { sprites } from "./sprites";

const glows = 2500; // ms for which a move glows
const near = 22; // pixels of a cell from which a board is drawn
const pieces = 48; // pixels of the canvas for a cell from which its pieces are drawn, and not points
const longGame = 80; // plies after which a cell is as dark as it gets

/** Cell is what is drawn of a board. */
interface Cell {
  board: WatchedBoard;
  moved: number; // ms, when it moved before our eyes; 0: it did not
  check: boolean;
  place: number;
}

type Inks = Colours & { bg: string; line: string; far: string; game: string; glow: string; bad: string; ink: string };

const inksNow = (): Inks => ({
  ...coloursNow(),
  bg: ink("--bg"),
  line: ink("--line"),
  far: ink("--square-light"),
  game: ink("--square-dark"),
  glow: ink("--warm"),
  bad: ink("--bad"),
  ink: ink("--ink"),
});

export class WorldMap {
  readonly camera = new Camera();
  readonly places = new Places();
  readonly tally = { frames: 0, drawn: 0, ms: 0 };
  cursor: string | null = null; // the board that the keys are at
  private cells = new Map<string, Cell>();
  private glowing = new Set<Cell>();
  private inks: Inks | null = null;
  private frame = 0;
  private whole = true; // everything is to be drawn
  private ratio = 1;

  constructor(
    private canvas: HTMLCanvasElement,
    private boards: ReadonlyMap<string, WatchedBoard>,
    private still: () => boolean,
  ) {}

  get size(): number {
    return this.cells.size;
  }

  /** resize makes the canvas as large as it is on the screen. */
  resize(): void {
    const { clientWidth, clientHeight } = this.canvas;
    this.ratio = Math.min(2, devicePixelRatio);
    this.canvas.width = Math.round(clientWidth * this.ratio);
    this.canvas.height = Math.round(clientHeight * this.ratio);
    this.camera.fit(sideOf(this.places.length), clientWidth, clientHeight);
    this.redraw();
  }

  /** redraw draws everything: the map has moved, or has other colours. */
  redraw(colours = false): void {
    if (colours) this.inks = null;
    this.whole = true;
    this.soon();
  }

  /** soon draws what has changed with the next frame. */
  soon = (): void => {
    this.frame ||= requestAnimationFrame((now) => {
      this.frame = 0;
      const start = performance.now();
      this.draw(now);
      this.tally.frames++;
      this.tally.ms += performance.now() - start;
    });
  };

  stop(): void {
    cancelAnimationFrame(this.frame);
    this.frame = -1;
  }

  /** boardAt is the board at a point of the screen; null when there is none. */
  boardAt(px: number, py: number): string | null {
    const [x, y] = this.camera.at(px, py).map(Math.floor);
    return x < 0 || y < 0 ? null : this.at(x, y);
  }

  /** zoom enlarges by a factor, around the cursor if there is one. */
  zoom(factor: number): void {
    const cursor = this.cells.get(this.cursor ?? "");
    if (cursor) {
      const [x, y] = cellOf(cursor.place);
      const { camera } = this;
      camera.zoom(factor, (x + 0.5 - camera.x) * camera.scale, (y + 0.5 - camera.y) * camera.scale);
    } else this.camera.zoom(factor);
    this.redraw();
  }

  /** step moves the cursor by columns and rows over free places. */
  step(dx: number, dy: number): string | null {
    const from = this.cells.get(this.cursor ?? "");
    const side = sideOf(this.places.length);
    if (!from) this.cursor = this.places.slice(0, this.places.length).find((id) => id !== null) ?? null;
    else {
      let [x, y] = cellOf(from.place);
      for (x += dx, y += dy; x >= 0 && y >= 0 && x < side && y < side; x += dx, y += dy) {
        const id = this.at(x, y);
        if (id === null) continue;
        this.cursor = id;
        break;
      }
    }
    const now = this.cells.get(this.cursor ?? "");
    if (now) this.camera.show(...cellOf(now.place));
    this.redraw();
    return this.cursor;
  }

  private at(x: number, y: number): string | null {
    const place = placeOf(x, y);
    return this.places.slice(place, place + 1)[0] ?? null;
  }

  /** take finds what has changed since the last frame. */
  private take(now: number): Cell[] {
    const changed: Cell[] = [];
    const side = sideOf(this.places.length);
    if (this.places.settle(this.boards)) {
      for (const id of [...this.cells.keys()]) if (!this.boards.has(id)) this.forget(id);
      this.places.slice(0, this.places.length).forEach((id, place) => id !== null && !this.cells.has(id) && changed.push(this.add(id, place)));
      if (sideOf(this.places.length) !== side) {
        this.camera.fit(sideOf(this.places.length), this.canvas.clientWidth, this.canvas.clientHeight);
        this.whole = true;
      }
    }
    for (const [id, board] of this.boards) {
      const cell = this.cells.get(id)!;
      if (cell.board === board) continue;
      const moved = cell.board.fen !== board.fen;
      cell.board = board;
      if (moved) {
        cell.moved = now;
        cell.check = inCheck(board.fen);
        this.glowing.add(cell);
      }
      changed.push(cell);
    }
    return changed;
  }

  private add(id: string, place: number): Cell {
    const board = this.boards.get(id)!;
    const cell = { board, moved: 0, check: inCheck(board.fen), place };
    this.cells.set(id, cell);
    return cell;
  }

  private forget(id: string): void {
    const cell = this.cells.get(id)!;
    this.cells.delete(id);
    this.glowing.delete(cell);
    if (this.cursor === id) this.cursor = null;
    this.whole = true;
  }

  private draw(now: number): void {
    const c = this.canvas.getContext("2d", { alpha: false })!;
    const inks = (this.inks ??= inksNow());
    let cells: Iterable<Cell> = this.take(now);
    if (this.whole) {
      c.fillStyle = inks.bg;
      c.fillRect(0, 0, this.canvas.width, this.canvas.height);
      cells = this.cells.values();
    } else cells = new Set([...cells, ...this.glowing]);
    this.whole = false;
    for (const cell of cells) this.drawCell(c, cell, now, inks);
    for (const cell of this.glowing) if (now - cell.moved > glows) this.glowing.delete(cell);
    if (this.glowing.size > 0) this.soon();
    const cursor = this.cells.get(this.cursor ?? "");
    if (cursor) this.frameCell(c, cursor, inks.ink, 2);
  }

  /** box is where a cell is on the canvas: left, top and size in its pixels, without the gap. */
  private box(cell: Cell): [number, number, number] {
    const [x, y] = cellOf(cell.place);
    const size = this.camera.scale * this.ratio;
    const edge = (cell: number, from: number) => Math.round((cell - from) * size);
    const left = edge(x, this.camera.x);
    const top = edge(y, this.camera.y);
    const gap = size > 40 ? Math.round(0.08 * size) : size > 5 ? 1 : 0;
    return [left, top, Math.max(1, Math.min(edge(x + 1, this.camera.x) - left, edge(y + 1, this.camera.y) - top) - gap)];
  }

  private drawCell(c: CanvasRenderingContext2D, cell: Cell, now: number, inks: Inks): void {
    const [left, top, size] = this.box(cell);
    if (left + size < 0 || top + size < 0 || left > this.canvas.width || top > this.canvas.height) return;
    this.tally.drawn++;
    const { board } = cell;
    const glow = cell.moved ? Math.max(0, 1 - (now - cell.moved) / glows) : 0;
    if (this.camera.scale < near) {
      c.fillStyle = inks.far;
      c.fillRect(left, top, size, size);
      fade(c, board.gone ? 0.1 : 0.15 + 0.85 * Math.min(1, board.ply / longGame), inks.game, left, top, size);
      if (cell.check) fade(c, 1, inks.bad, left, top, size);
      if (glow > 0) fade(c, this.still() ? Math.ceil(glow) : glow, inks.glow, left, top, size);
      return;
    }
    drawBoard(c, board, left, top, size, inks, this.camera.scale * this.ratio >= pieces);
    if (board.gone) fade(c, 0.6, inks.bg, left, top, size);
    if (cell.check) this.frameCell(c, cell, inks.bad, 2);
    if (glow > 0 && !this.still()) this.ripple(c, board, left, top, size, glow, inks.glow);
  }

  /** ripple is a ring that grows from where the last move went. */
  private ripple(c: CanvasRenderingContext2D, board: WatchedBoard, left: number, top: number, size: number, glow: number, colour: string): void {
    const to = board.lastMove?.[1];
    if (to === undefined) return;
    const square = size / 8;
    c.save();
    c.beginPath();
    c.rect(left, top, size, size);
    c.clip();
    c.globalAlpha = glow;
    c.strokeStyle = colour;
    c.lineWidth = Math.max(1, square / 3);
    c.beginPath();
    c.arc(left + ((to & 7) + 0.5) * square, top + (7.5 - (to >> 3)) * square, (1 - glow) * size * 0.8 + square / 2, 0, 7);
    c.stroke();
    c.restore();
  }

  private frameCell(c: CanvasRenderingContext2D, cell: Cell, colour: string, width: number): void {
    const [left, top, size] = this.box(cell);
    c.strokeStyle = colour;
    c.lineWidth = width * this.ratio;
    c.strokeRect(left, top, size, size);
  }
}

function fade(c: CanvasRenderingContext2D, alpha: number, colour: string, left: number, top: number, size: number): void {
  c.globalAlpha = alpha;
  c.fillStyle = colour;
  c.fillRect(left, top, size, size);
  c.globalAlpha = 1;
}

function inCheck(fen: string): boolean {
  try {
    return Position.parse(fen).inCheck;
  } catch {
    return false;
  }
}

/** drawBoard draws a board of the map; its pieces are points when it is small. */
function drawBoard(c: CanvasRenderingContext2D, board: WatchedBoard, left: number, top: number, size: number, inks: Inks, large: boolean): void {
  c.drawImage(emptyBoard(inks), left, top, size, size);
  const square = size / 8;
  if (board.lastMove) {
    c.fillStyle = inks.last;
    for (const s of board.lastMove) c.fillRect(left + (s & 7) * square, top + (7 - (s >> 3)) * square, square, square);
  }
  const sheet = large ? sprites(Math.round(square)) : null;
  let x = 0;
  let y = 0;
  for (const letter of board.fen) {
    if (letter === " ") break;
    if (letter === "/") (x = 0), y++;
    else if (letter >= "1" && letter <= "8") x += Number(letter);
    else {
      const at: [number, number] = [left + x * square, top + y * square];
      const piece = sheet?.get(letter);
      if (piece) c.drawImage(piece, ...at, square, square);
      else {
        c.fillStyle = letter < "a" ? "#fffdf6" : "#1b1922";
        c.fillRect(at[0] + square * 0.2, at[1] + square * 0.2, square * 0.6, square * 0.6);
      }
      x++;
    }
  }
}
