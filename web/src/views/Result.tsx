// How a game ended.

import type { Game } from "../api";
import type { Color, Position } from "../chess";
import { t } from "../texts";
import { Movers } from "../ui/Name";

type Outcome = Pick<NonNullable<Game["result"]>, "winner" | "reason">;

/** resultOf is the result in words. */
export function resultOf({ winner, reason }: Outcome): string {
  const why = t.endings[reason] ?? reason;
  return winner === "white" || winner === "black" ? t.game.won(winner === "white" ? t.play.white : t.play.black, why) : t.game.drawn(why);
}

/** resultPlace is the class of a card that leaves the half of the board alone where the game was decided: that of the king to move. */
export function resultPlace(position: Position, bottom: Color): string {
  const low = position.king(position.turn) >> 3 < 4 === (bottom === "w");
  return low ? "result high" : "result";
}

/** ResultCard lies over a board whose game is over. */
export function ResultCard({ result, moves, place }: { result: Outcome; moves: Game["moves"]; place: string }) {
  return (
    <div class={place} role="status">
      <b>{resultOf(result)}</b>
      <span>{t.game.length(moves.length)}</span>
      <Movers moves={moves} />
    </div>
  );
}
