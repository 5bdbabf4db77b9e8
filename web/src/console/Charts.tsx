// The charts: of the last minutes, drawn of what this page has seen, and of hours, which
// the server keeps.

import { useEffect, useState } from "preact/hooks";
import { h } from "./texts";
import { ask, type Columns } from "./ask";
import { Chart } from "./Chart";
import type { Series } from "./series";

type Range = "minutes" | "hour" | "days";

const ranges: Range[] = ["minutes", "hour", "days"];

export function Charts({ series }: { series: Series }) {
  const [range, setRange] = useState<Range>("minutes");
  return (
    <section class="card" aria-labelledby="charts">
      <div class="head">
        <h2 id="charts">{h.charts}</h2>
        <div class="ranges" role="group" aria-label={h.charts}>
          {ranges.map((r) => (
            <button key={r} type="button" data-range={r} aria-pressed={r === range} onClick={() => setRange(r)}>
              {h.ranges[r]}
            </button>
          ))}
        </div>
      </div>
      {range === "minutes" ? <Minutes series={series} /> : <Hours key={range} range={range} />}
    </section>
  );
}

function Minutes({ series }: { series: Series }) {
  const curves = (m: Map<string, number[]>) => [...m].map(([name, values]) => ({ name, values }));
  return (
    <div class="plots">
      <Chart title={h.throughput} times={series.times} curves={curves(series.moves)} />
      <Chart
        title={h.latency}
        times={series.times}
        curves={[
          { name: h.median, values: series.median },
          { name: h.p99, values: series.p99 },
        ]}
      />
      <Chart title={h.queue} times={series.times} curves={curves(series.queue)} />
    </div>
  );
}

/** Hours asks the server again as often as it has a new point. */
function Hours({ range }: { range: "hour" | "days" }) {
  const [kept, setKept] = useState<Columns | null>(null);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout>;
    let gone = false;
    const look = async () => {
      const c = await ask.history(range).catch(() => null);
      if (gone) return;
      if (c) setKept(c);
      timer = setTimeout(look, 1000 * (c?.every ?? 10));
    };
    void look();
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, [range]);
  if (!kept) return null;
  if (kept.at.length === 0) return <p class="faint" data-points="0">{h.historyEmpty}</p>;
  const one = (name: string, values: number[]) => [{ name, values }];
  return (
    <div class="plots" data-points={kept.at.length}>
      <Chart title={h.throughput} times={kept.at} curves={one(h.throughput, kept.moves)} />
      <Chart title={h.players} times={kept.at} curves={one(h.players, kept.players)} />
      <Chart title={h.boardsKept} times={kept.at} curves={one(h.boardsKept, kept.boards)} />
      <Chart title={h.ended} times={kept.at} curves={one(h.ended, kept.ended)} />
      <Chart title={h.lag} times={kept.at} curves={one(h.lag, kept.lag)} />
      <Chart title={h.memory} times={kept.at} curves={one(h.memory, kept.memory)} />
    </div>
  );
}
