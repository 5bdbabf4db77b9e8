// A chart over time, drawn by uPlot.

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { ink, useScheme } from "../style/ink";
import "uplot/dist/uPlot.min.css";

export interface Curve {
  name: string;
  values: (number | null)[];
}

const inks = ["--accent", "--warm", "--good", "--bad"];

const clock = (seconds: number) => new Date(1000 * seconds).toLocaleTimeString("en-GB");

const shown = (v: number | null | undefined) => (v === null || v === undefined ? "–" : v.toLocaleString("en", { maximumFractionDigits: 1 }));

export function Chart({ title, times, curves }: { title: string; times: number[]; curves: Curve[] }) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const scheme = useScheme();
  const names = curves.map((c) => c.name).join();

  useEffect(() => {
    const place = box.current!; // the ref is gone when the last resize is seen
    const axis = { stroke: ink("--faint"), grid: { stroke: ink("--line"), width: 1 }, ticks: { stroke: ink("--line") } };
    plot.current = new uPlot(
      {
        width: place.clientWidth,
        height: 190,
        series: [{}, ...curves.map((c, i) => ({ label: c.name, stroke: ink(inks[i % inks.length]), width: 2, spanGaps: true }))],
        axes: [{ ...axis, space: 90, values: (_u, ticks) => ticks.map(clock) }, { ...axis, size: 55 }],
        legend: { show: curves.length > 1, live: false },
        scales: { y: { range: (_u, _min, max) => [0, Math.max(1, max * 1.15)] } },
        cursor: { drag: { x: false, y: false } },
      },
      [times, ...curves.map((c) => c.values)],
      place,
    );
    const resize = new ResizeObserver(() => plot.current?.setSize({ width: place.clientWidth, height: 190 }));
    resize.observe(place);
    return () => {
      resize.disconnect();
      plot.current?.destroy();
    };
  }, [names, scheme]);

  useEffect(() => plot.current?.setData([times, ...curves.map((c) => c.values)]), [times]);

  const last = curves.map((c) => `${c.name} ${shown(c.values.at(-1))}`).join(", ");
  return (
    <figure class="plot">
      <figcaption>
        {title} <b>{curves.map((c) => shown(c.values.at(-1))).join(" · ")}</b>
      </figcaption>
      <div ref={box} role="img" aria-label={`${title}: ${last}`} />
    </figure>
  );
}
