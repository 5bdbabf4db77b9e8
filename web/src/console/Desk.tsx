// The desk of the host: what runs, how fast, what waits, and what can be done.

import { useEffect, useRef, useState } from "preact/hooks";
import { h } from "./texts";
import { Actions } from "./Actions";
import { Bans } from "./Bans";
import { ask, Locked, type Status, token, type Vitals } from "./ask";
import { Chart } from "./Chart";
import { ConfirmDialog, useConfirm } from "./Confirm";
import { DeadLetters } from "./DeadLetters";
import { Lists } from "./Lists";
import { ProfileTable } from "./Profiles";
import { add, empty } from "./series";
import { Sessions } from "./Sessions";

const every = 1500; // ms between two looks

/** useLooks looks at the server again and again. */
function useLooks() {
  const [status, setStatus] = useState<Status | null>(null);
  const [series, setSeries] = useState(empty);
  const [lost, setLost] = useState(false);
  const before = useRef<Vitals | null>(null);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout>;
    let gone = false;
    const look = async () => {
      try {
        const [s, v] = await Promise.all([ask.status(), ask.vitals()]);
        if (gone) return;
        setStatus(s);
        setLost(false);
        const old = before.current;
        before.current = v;
        if (old) setSeries((x) => add(x, old, v));
      } catch (e) {
        if (e instanceof Locked) return token.set("");
        setLost(true);
      }
      if (!gone) timer = setTimeout(look, every);
    };
    void look();
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, []);
  return { status, series, lost };
}

function span(seconds: number): string {
  const units: [number, string][] = [
    [86400, "d"],
    [3600, "h"],
    [60, "min"],
    [1, "s"],
  ];
  const [size, name] = units.find(([size]) => seconds >= size) ?? [1, "s"];
  return `${Math.floor(seconds / size)} ${name}`;
}

export function Desk() {
  const { status, series, lost } = useLooks();
  const confirm = useConfirm();
  if (!status) return <main class="desk">{lost && <p role="alert">{h.lost}</p>}</main>;
  const curves = (m: Map<string, number[]>) => [...m].map(([name, values]) => ({ name, values }));
  const facts: [string, string][] = [
    [h.uptime, span(status.uptime)],
    [h.pid, String(status.pid)],
    [h.journal, `${status.journal.state}, ${status.journal.durability}`],
    [h.players, String(status.profiles.reduce((n, p) => n + p.sessions_present, 0))],
    [h.deadCount, String(status.journal.dead_letters)],
  ];
  return (
    <main class="desk">
      <header>
        <h1>{h.title}</h1>
        <button type="button" onClick={() => token.set("")}>
          {h.leave}
        </button>
      </header>
      {lost && (
        <p class="banner bad" role="alert">
          {h.lost}
        </p>
      )}
      <section class="card facts" aria-label={h.overview}>
        <dl>
          {facts.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd data-fact={name}>{value}</dd>
            </div>
          ))}
        </dl>
      </section>
      <ProfileTable profiles={status.profiles} confirm={confirm.ask} />
      <section class="card" aria-labelledby="charts">
        <h2 id="charts">{h.charts}</h2>
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
      </section>
      <Actions status={status} confirm={confirm.ask} />
      <Bans look={status.uptime} confirm={confirm.ask} done={confirm.count} />
      <Sessions look={status.uptime} confirm={confirm.ask} />
      <DeadLetters look={status.uptime} confirm={confirm.ask} done={confirm.count} />
      <Lists done={confirm.count} />
      <ConfirmDialog confirm={confirm} />
    </main>
  );
}
