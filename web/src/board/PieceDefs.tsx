// The twelve pieces as SVG symbols, once for the whole page, and one piece.

import { drawings } from "./pieces";

export function PieceDefs() {
  return (
    <svg class="defs" aria-hidden="true" width="0" height="0">
      {["w", "b"].flatMap((color) =>
        Object.entries(drawings).map(([kind, d]) => (
          <symbol id={color + kind} viewBox="0 0 100 100" key={color + kind}>
            {d.body.map((path) => (
              <path class={`body-${color}`} d={path} />
            ))}
            {d.detail.map((path) => (
              <path class={`detail-${color}`} d={path} />
            ))}
          </symbol>
        )),
      )}
    </svg>
  );
}

/** pieceId is the symbol of a piece's FEN letter. */
function pieceId(piece: string): string {
  return (piece === piece.toUpperCase() ? "w" : "b") + piece.toLowerCase();
}

export function Piece({ piece }: { piece: string }) {
  return (
    <svg class="glyph" aria-hidden="true" viewBox="0 0 100 100">
      <use href={`#${pieceId(piece)}`} />
    </svg>
  );
}
