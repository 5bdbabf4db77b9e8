// Small charts: a line, bars, a ring. The numbers are in a text for those who do
// not see them.

import { language, t } from "../texts";

export function LineChart({ title, points }: { title: string; points: readonly number[] }) {
  if (points.length < 2) return <Empty title={title} />;
  const low = Math.min(...points);
  const high = Math.max(...points);
  const x = (i: number) => (200 * i) / (points.length - 1);
  const y = (v: number) => 54 - (48 * (v - low)) / (high - low || 1);
  const path = points.map((v, i) => `${i ? "L" : "M"}${x(i).toFixed(1)} ${y(v).toFixed(1)}`).join("");
  const text = (v: number) => v.toLocaleString(language, { maximumFractionDigits: 1 });
  return (
    <figure class="chart">
      <figcaption>{title}</figcaption>
      <svg viewBox="0 0 200 60" preserveAspectRatio="none" role="img" aria-label={`${title}: ${text(points[0])} – ${text(points[points.length - 1])}`}>
        <path class="area" d={`${path}L200 60L0 60Z`} />
        <path class="line" d={path} />
      </svg>
      <div class="ends">
        <span>{text(points[0])}</span>
        <b>{text(points[points.length - 1])}</b>
      </div>
    </figure>
  );
}

export function BarChart({ title, bars }: { title: string; bars: readonly { name: string; value: number }[] }) {
  const most = Math.max(...bars.map((b) => b.value));
  const total = bars.reduce((n, b) => n + b.value, 0);
  if (total === 0) return <Empty title={title} />;
  return (
    <figure class="chart">
      <figcaption>{title}</figcaption>
      <svg viewBox="0 0 200 60" preserveAspectRatio="none" role="img" aria-label={`${title}: ${total}`}>
        {bars.map((b, i) => {
          const height = Math.max(1, (54 * b.value) / most);
          return <rect key={b.name} class="bar" x={(200 * i) / bars.length + 1} y={60 - height} width={200 / bars.length - 2} height={height} rx={1.5} />;
        })}
      </svg>
      <div class="ends">
        <span>{bars[0].name}</span>
        <b>{t.you.today(bars[bars.length - 1].value)}</b>
      </div>
    </figure>
  );
}

export function Ring({ title, part, whole }: { title: string; part: number; whole: number }) {
  if (whole === 0) return <Empty title={title} />;
  const percent = Math.round((100 * part) / whole);
  return (
    <figure class="chart">
      <figcaption>{title}</figcaption>
      <svg class="ring" viewBox="0 0 60 60" role="img" aria-label={`${title}: ${part}/${whole}`}>
        <circle cx="30" cy="30" r="24" pathLength="100" />
        <circle class="part" cx="30" cy="30" r="24" pathLength="100" stroke-dasharray={`${percent} 100`} transform="rotate(-90 30 30)" />
        <text x="30" y="35" text-anchor="middle">
          {percent}%
        </text>
      </svg>
      <div class="ends">
        <span>
          {part} / {whole}
        </span>
      </div>
    </figure>
  );
}

function Empty({ title }: { title: string }) {
  return (
    <figure class="chart empty">
      <figcaption>{title}</figcaption>
      <p class="faint">{t.you.chartEmpty}</p>
    </figure>
  );
}
