// Beside the board: your numbers, where you have been, and how it works.

import { useEffect, useRef, useState } from "preact/hooks";
import { Piece } from "../board/PieceDefs";
import { useStore } from "../session/store";
import { past, rated, standing, type Step } from "../standing";
import { news } from "../trail";
import { language, t } from "../texts";
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
  const text = (n: number) => n.toLocaleString(language, { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return (
    <span class="moving">
      {value === undefined ? t.you.unrated : text(value)}
      {delta !== 0 && <em class={delta > 0 ? "up" : "down"}>{(delta > 0 ? "+" : "−") + text(Math.abs(delta))}</em>}
    </span>
  );
}

/** fateText is what became of a move, in words. */
export function fateText(s: Step, won: string | undefined): string {
  const f = s.fate;
  switch (f?.state) {
    case "answered":
      return t.trail.answered(f.reply ?? "");
    case "won":
      return won ? t.trail.won(won) : t.trail.wonPlain;
    case "lost":
      return t.trail.lost;
    case "draw":
      return t.trail.draw;
    default:
      return t.trail.waits;
  }
}

function TrailStep({ step, won }: { step: Step; won: string | undefined }) {
  return (
    <li data-fate={step.fate?.state ?? "waits"}>
      <Link href={`/board/${step.board}`}>
        <Piece piece={step.piece} />
        <b>{step.san}</b>
        <span>
          {t.play.board(step.board)}
          <em>{fateText(step, won)}</em>
        </span>
      </Link>
    </li>
  );
}

/** Away says what happened while the player was away. */
export function Away() {
  const n = useStore(news);
  if (!n) return null;
  return (
    <section class="card away" role="status" aria-label={t.trail.away}>
      <h2>{t.trail.away}</h2>
      <p>{[n.won && t.trail.nWon(n.won), n.lost && t.trail.nLost(n.lost), n.drawn && t.trail.nDrawn(n.drawn), n.answered && t.trail.nAnswered(n.answered)].filter(Boolean).join(" · ")}</p>
      <Link href="/trail">{t.trail.all}</Link>
    </section>
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
      <Away />
      <section class="card trail" aria-labelledby="trail">
        <h2 id="trail">{t.play.trail}</h2>
        {history.steps.length === 0 ? (
          <p class="faint">{t.play.trailEmpty}</p>
        ) : (
          <>
            <ol>
              {history.steps.slice(0, 8).map((s) => (
                <TrailStep key={s.at} step={s} won={history.won[s.board]} />
              ))}
            </ol>
            <Link href="/trail">{t.trail.all}</Link>
          </>
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
