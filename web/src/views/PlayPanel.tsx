// Beside the board: your numbers, where you have been, and how it works.

import { useEffect, useRef, useState } from "preact/hooks";
import { Piece } from "../board/PieceDefs";
import { useStore } from "../session/store";
import { past, rated, standing } from "../standing";
import { t } from "../texts";
import { Link } from "../ui/Link";

/** Moving is a number that shows for a moment by how much it has changed. */
export function Moving({ value, digits }: { value: number | undefined; digits: number }) {
  const before = useRef(value);
  const [delta, setDelta] = useState(0);
  useEffect(() => {
    const change = (value ?? 0) - (before.current ?? value ?? 0); // the first value is no change
    before.current = value;
    if (Math.abs(change) < 0.5 / 10 ** digits) return;
    setDelta(change);
    const timer = setTimeout(() => setDelta(0), 2500);
    return () => clearTimeout(timer);
  }, [value]);
  const text = (n: number) => n.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return (
    <span class="moving">
      {value === undefined ? t.you.unrated : text(value)}
      {delta !== 0 && <em class={delta > 0 ? "up" : "down"}>{(delta > 0 ? "+" : "−") + text(Math.abs(delta))}</em>}
    </span>
  );
}

export function Panel() {
  const now = useStore(standing);
  const history = useStore(past);
  const total = Object.values(history.days).reduce((a, b) => a + b, 0);
  return (
    <aside class="panel">
      <dl class="numbers">
        <div>
          <dt>{t.play.score}</dt>
          <dd data-number="score">
            <Moving value={now?.score} digits={1} />
          </dd>
        </div>
        <div>
          <dt>{t.play.rating}</dt>
          <dd data-number="rating">{rated(now?.rating) ? <Moving value={now.rating} digits={0} /> : t.you.unrated}</dd>
        </div>
        <div>
          <dt>{t.play.moves}</dt>
          <dd data-number="moves">{total}</dd>
        </div>
      </dl>
      <section class="card trail" aria-labelledby="trail">
        <h2 id="trail">{t.play.trail}</h2>
        {history.steps.length === 0 ? (
          <p class="faint">{t.play.trailEmpty}</p>
        ) : (
          <ol>
            {history.steps.slice(0, 8).map((s) => (
              <li key={s.at}>
                <Link href={`/board/${s.board}`}>
                  <Piece piece={s.piece} />
                  <b>{s.san}</b>
                  <span>{t.play.board(s.board)}</span>
                </Link>
              </li>
            ))}
          </ol>
        )}
      </section>
      <details class="card how" open={total < 3}>
        <summary>{t.play.how}</summary>
        <ol>
          {t.play.howSteps.map((step) => (
            <li key={step}>{step}</li>
          ))}
        </ol>
      </details>
    </aside>
  );
}
