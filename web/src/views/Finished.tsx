// The games that have ended, the newest first.

import { useEffect, useState } from "preact/hooks";
import { api, type Ended } from "../api";
import { t } from "../texts";
import { Link } from "../ui/Link";
import { resultOf } from "./Result";

const every = 10_000; // ms

export function Finished() {
  const [games, setGames] = useState<Ended[] | null>(null);
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    document.title = `${t.finished.title} · ${t.name}`;
    const load = () =>
      void api.finished(100).then(
        (list) => {
          setGames(list.reverse());
          setFailed(false);
        },
        () => setFailed(true),
      );
    load();
    const timer = setInterval(load, every);
    return () => clearInterval(timer);
  }, []);
  return (
    <div class="you">
      <header class="view-head">
        <div>
          <h1>{t.finished.title}</h1>
          <p class="faint">{t.finished.lead}</p>
        </div>
        <Link href="/watch">{t.watch.back}</Link>
      </header>
      {!games ? (
        <p class="card faint">{failed ? t.you.failed : t.watch.loading}</p>
      ) : games.length === 0 ? (
        <p class="card faint">{t.finished.none}</p>
      ) : (
        <ol class="card games">
          {games.map((g) => (
            <li key={g.board}>
              <Link href={`/board/${g.board}`}>{t.play.board(String(g.board))}</Link>
              <b>{resultOf(g)}</b>
              <span class="faint">{t.game.length(g.plies)}</span>
              <time class="faint" dateTime={g.finished}>
                {t.when(new Date(g.finished))}
              </time>
            </li>
          ))}
        </ol>
      )}
    </div>
  );
}
