// Men are the pieces on a board with an id that survives a move, so that the same
// element slides from square to square.

import type { Position } from "../chess";

export interface Man {
  id: number;
  piece: string;
  square: number;
}

let ids = 0;

/** follow gives the pieces of a position ids, the same as in the position before where a piece stayed or moved. */
export function follow(before: readonly Man[], position: Position): Man[] {
  const left = new Map<string, Man[]>();
  const stayed = new Map<number, Man>();
  for (const m of before) {
    if (position.at(m.square) === m.piece) stayed.set(m.square, m);
    else left.set(m.piece, [...(left.get(m.piece) ?? []), m]);
  }
  const men: Man[] = [];
  for (let square = 0; square < 64; square++) {
    const piece = position.at(square);
    if (!piece) continue;
    const man = stayed.get(square) ?? left.get(piece)?.shift();
    men.push(man ? { ...man, square } : { id: ++ids, piece, square });
  }
  return men.sort((a, b) => a.id - b.id); // a stable order keeps elements in place
}
