// Pieces in words, for those who do not see them.

import { type Color, colorOf, type Position, squareName } from "../chess";
import { t } from "../texts";

/** pieceName is a piece in words; "" for none. */
export const pieceName = (piece: string): string => t.play.piece[piece] ?? "";

/** piecesOf lists the pieces of a position, the king's side first, as people say them: "White: king g1, pawns a2 b3". */
export function piecesOf(p: Position): string {
  const of = (color: Color) =>
    [..."kqrbnp"]
      .flatMap((kind) => {
        const squares = p.squares.flatMap((x, s) => (x.toLowerCase() === kind && colorOf(x) === color ? [squareName(s)] : []));
        return squares.length ? [`${t.play.pieces[kind]} ${squares.join(" ")}`] : [];
      })
      .join(", ");
  return `${t.play.white}: ${of("w")}. ${t.play.black}: ${of("b")}.`;
}
