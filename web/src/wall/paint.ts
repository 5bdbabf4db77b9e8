// Painting one board of the wall.

import { ink } from "../style/ink";
import { sprites } from "./sprites";

export interface Colours {
  light: string;
  dark: string;
  last: string;
}

export const coloursNow = (): Colours => ({ light: ink("--square-light"), dark: ink("--square-dark"), last: ink("--last") });

let empty: { colours: string; canvas: HTMLCanvasElement } | null = null;

/** emptyBoard is a board without pieces, 8 pixels a square, to be copied. */
export function emptyBoard(colours: Colours): HTMLCanvasElement {
  const name = colours.light + colours.dark;
  if (empty?.colours === name) return empty.canvas;
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 64;
  const c = canvas.getContext("2d", { alpha: false })!;
  for (let i = 0; i < 64; i++) {
    c.fillStyle = ((i >> 3) + i) % 2 === 0 ? colours.light : colours.dark;
    c.fillRect((i & 7) * 8, (i >> 3) * 8, 8, 8);
  }
  empty = { colours: name, canvas };
  return canvas;
}

/** paint draws a board, white at the bottom. */
export function paint(canvas: HTMLCanvasElement, board: { fen: string; lastMove: readonly [number, number] | null }, colours: Colours): void {
  const side = canvas.width;
  const c = canvas.getContext("2d", { alpha: false })!;
  const size = side / 8;
  const [placement] = board.fen.split(" ");
  const at = (file: number, rank: number): [number, number] => [file * size, (7 - rank) * size];
  for (let rank = 0; rank < 8; rank++) {
    for (let file = 0; file < 8; file++) {
      c.fillStyle = (file + rank) % 2 === 0 ? colours.dark : colours.light;
      c.fillRect(...at(file, rank), size, size);
    }
  }
  if (board.lastMove) {
    c.fillStyle = colours.last;
    for (const s of board.lastMove) c.fillRect(...at(s & 7, s >> 3), size, size);
  }
  const pieces = sprites(size);
  placement.split("/").forEach((row, i) => {
    let file = 0;
    for (const letter of row) {
      if (letter >= "1" && letter <= "8") file += Number(letter);
      else {
        const piece = pieces.get(letter);
        if (piece) c.drawImage(piece, ...at(file, 7 - i));
        file++;
      }
    }
  });
}
