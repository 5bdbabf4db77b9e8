// The desk of the host: what runs, how fast, what waits, and what can be done.

import { useEffect, useRef, useState } from "preact/hooks";
import { useStore } from "../session/store";
import { h } from "./texts";
import { Actions } from "./Actions";
import { Announcements } from "./Announcements";
import { Bans } from "./Bans";
import { token, type Vitals } from "./ask";
import { Charts } from "./Charts";
import { Boards } from "./Boards";
import { ConfirmDialog, useConfirm } from "./Confirm";
import { ConfigPage } from "./Config";
import { DeadLetters } from "./DeadLetters";
import { gapOf } from "./handoff";
import { Lists } from "./Lists";
import { Machines } from "./Machines";
import { Players } from "./Players";
import { ProfileTable } from "./Profiles";
import { add, empty } from "./series";
import { follow, seen } from "./stream";

/** useLooks follows the server. */
function useLooks() {
  const now = useStore(seen);
  const [series, setSeries] = useState(empty);
  const before = useRef<Vitals | null>(null);
  useEffect(() => follow(), []);
  useEffect(() => {
    const old = before.current;
    const v = now.vitals;
    before.current = v;
    if (old && v) setSeries((x) => add(x, old, v));
  }, [now.vitals]);
  return { now, series };
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
  const { now, series } = useLooks();
  const { status, lost } = now;
  const confirm = useConfirm();
  if (!status) return <main class="desk">{lost && <p role="alert">{h.lost}</p>}</main>;
  const facts: [string, string][] = [
    [h.uptime, span(status.uptime)],
    [h.pid, String(status.pid)],
    [h.journal, `${status.journal.state}, ${status.journal.durability}`],
    [h.players, String(status.profiles.reduce((n, p) => n + p.sessions_present, 0))],
    [h.deadCount, String(status.journal.dead_letters)],
    ...(status.last_handoff ? [[h.handoff, gapOf(status.last_handoff)] as [string, string]] : []),
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
      <Machines cluster={now.cluster} />
      <ProfileTable profiles={status.profiles} confirm={confirm.ask} />
      <Charts series={series} />
      <Actions status={status} confirm={confirm.ask} />
      <ConfigPage config={now.config} confirm={confirm.ask} />
      <Boards look={status.uptime} confirm={confirm.ask} />
      <Bans list={now.bans} confirm={confirm.ask} />
      <Players look={status.uptime} confirm={confirm.ask} />
      <Announcements list={now.announcements} confirm={confirm.ask} />
      <DeadLetters list={now["dead-letters"]} confirm={confirm.ask} />
      <Lists lines={now.log} audited={now.audit} />
      <ConfirmDialog confirm={confirm} />
    </main>
  );
}
