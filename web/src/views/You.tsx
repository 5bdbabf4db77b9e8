// Your numbers, your identity, the ranking, and other places to play.

import { useEffect, useState } from "preact/hooks";
import { api } from "../api";
import { useStore } from "../session/store";
import { askStanding, past, rated, standing } from "../standing";
import { t } from "../texts";
import { BarChart, LineChart, Ring } from "../ui/Charts";
import { IdentityCard } from "./Identity";
import { Leaderboard } from "./Leaderboard";
import { Moving } from "./PlayPanel";
import { Profiles } from "./Profiles";

const every = 6000; // ms; the server makes a new ranking every 5 s

/** useScores returns the score over time: from the server for an identity, otherwise from this browser. */
function useScores(handle: string): { score: number[]; rating: number[] } {
  const { points } = useStore(past);
  const [stored, setStored] = useState<{ score: number[]; rating: number[] } | null>(null);
  const now = useStore(standing);
  useEffect(() => {
    setStored(null);
    if (!handle) return;
    api.scores(handle).then(
      ({ scores }) => {
        let score = now?.score ?? 0;
        let rating = now?.rating ?? 0;
        const back = { score: [score], rating: [rating] };
        for (const s of scores) {
          back.score.unshift((score -= s.points));
          back.rating.unshift((rating -= s.rating));
        }
        if (scores.length > 0) setStored(back);
      },
      () => {},
    );
  }, [handle, now?.score]);
  return stored ?? { score: points.map((p) => p.score), rating: points.map((p) => p.rating).filter(rated) };
}

export function You() {
  const now = useStore(standing);
  const history = useStore(past);
  const series = useScores(now?.handle ?? "");
  useEffect(() => {
    document.title = `${t.you.title} · ${t.name}`;
    askStanding(0);
    const timer = setInterval(() => askStanding(0), every);
    return () => clearInterval(timer);
  }, []);
  const today = Date.now();
  const days = Array.from({ length: 14 }, (_, i) => {
    const day = new Date(today - (13 - i) * 86_400_000).toISOString().slice(0, 10);
    return { name: day.slice(5), value: history.days[day] ?? 0 };
  });
  const numbers: [string, number | undefined, number][] = [
    [t.play.score, now?.score, 1],
    [t.play.rating, now?.rating, 0],
    [t.you.games, now?.games, 0],
    [t.you.games960, now?.games960, 0],
    [t.you.predictions, now?.predictions, 1],
  ];
  return (
    <div class="you">
      <h1>{t.you.title}</h1>
      <section class="card stats" aria-labelledby="stats">
        <h2 id="stats">{t.you.stats}</h2>
        <dl class="numbers">
          {numbers.map(([name, value, digits]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd data-stat={name}>
                {name === t.play.rating && !rated(value) ? t.you.unrated : <Moving value={value} digits={digits} />}
              </dd>
            </div>
          ))}
        </dl>
        <div class="charts">
          <LineChart title={t.you.scoreChart} points={series.score} />
          <LineChart title={t.you.ratingChart} points={series.rating} />
          <BarChart title={t.you.gamesChart} bars={days} />
          <Ring title={t.you.accuracy} part={history.right} whole={history.predicted} />
        </div>
      </section>
      <IdentityCard />
      <Leaderboard />
      <Leaderboard bots />
      <Profiles />
    </div>
  );
}
