// How a game ended.

import type { Game } from "../api";
import { t } from "../texts";

type Outcome = Pick<NonNullable<Game["result"]>, "winner" | "reason">;

/** resultOf is the result in words. */
export function resultOf({ winner, reason }: Outcome): string {
  const why = t.endings[reason] ?? reason;
  return winner === "white" || winner === "black" ? t.game.won(winner === "white" ? t.play.white : t.play.black, why) : t.game.drawn(why);
}

/** ResultCard lies over a board whose game is over. */
export function ResultCard({ result, moves }: { result: Outcome; moves: Game["moves"] }) {
  const players = new Set(moves.map((m) => m.session)).size;
  return (
    <div class="result" role="status">
      <b>{resultOf(result)}</b>
      <span>
        {t.game.length(moves.length)} · {t.game.by(players)}
      </span>
    </div>
  );
}
