// What the host can do to the whole server and to players.

import { useState } from "preact/hooks";
import { h } from "../texts";
import type { Status } from "./ask";
import type { AskFirst } from "./Confirm";

export function Actions({ status, confirm }: { status: Status; confirm: AskFirst }) {
  const draining = status.draining ?? false;
  return (
    <section class="card actions" aria-labelledby="actions">
      <h2 id="actions">{h.actions}</h2>
      <div class="buttons">
        <button type="button" data-verb="reload" onClick={() => confirm({ verb: "reload", args: {}, title: h.reload, text: h.confirm.reload })}>
          {h.reload}
        </button>
        <button type="button" data-verb="handoff" onClick={() => confirm({ verb: "handoff", args: {}, title: h.handoff, text: h.confirm.handoff })}>
          {h.handoff}
        </button>
        <button
          type="button"
          data-verb="drain"
          aria-pressed={draining}
          onClick={() =>
            confirm({
              verb: "drain",
              args: { on: !draining },
              title: draining ? h.drainOff : h.drainOn,
              text: draining ? h.confirm["drain-off"] : h.confirm["drain-on"],
            })
          }
        >
          {draining ? h.drainOff : h.drainOn}
        </button>
      </div>
      <div class="forms">
        <Announce status={status} confirm={confirm} />
        <Players status={status} confirm={confirm} />
        <Remove status={status} confirm={confirm} />
      </div>
    </section>
  );
}

function ProfileChoice({ status, value, id, onChange }: { status: Status; value: string; id: string; onChange(v: string): void }) {
  return (
    <>
      <label for={id}>{h.profile}</label>
      <select id={id} value={value} onChange={(e) => onChange(e.currentTarget.value)}>
        <option value="">{h.all}</option>
        {status.profiles.map((p) => (
          <option key={p.name} value={p.name}>
            {p.name}
          </option>
        ))}
      </select>
    </>
  );
}

function Announce({ status, confirm }: { status: Status; confirm: AskFirst }) {
  const [text, setText] = useState("");
  const [urgent, setUrgent] = useState(false);
  const [profile, setProfile] = useState("");
  const submit = (e: Event) => {
    e.preventDefault();
    if (text) confirm({ verb: "announce", args: { text, urgent, profile }, title: h.announce, text: h.confirm.announce(text), done: () => setText("") });
  };
  return (
    <form onSubmit={submit} data-form="announce">
      <h3>{h.announce}</h3>
      <label for="announce-text">{h.announceText}</label>
      <input id="announce-text" maxLength={89} value={text} onInput={(e) => setText(e.currentTarget.value)} />
      <ProfileChoice id="announce-profile" status={status} value={profile} onChange={setProfile} />
      <label class="check">
        <input type="checkbox" checked={urgent} onChange={(e) => setUrgent(e.currentTarget.checked)} />
        {h.urgent}
      </label>
      <button type="submit">{h.announce}</button>
    </form>
  );
}

function Players({ status, confirm }: { status: Status; confirm: AskFirst }) {
  const [whom, setWhom] = useState("");
  const [reason, setReason] = useState("");
  const [hours, setHours] = useState("");
  const [profile, setProfile] = useState("");
  const act = (verb: "kick" | "ban" | "unban") => {
    if (!whom) return;
    const until = verb === "ban" && Number(hours) > 0 ? new Date(Date.now() + 3600_000 * Number(hours)).toISOString() : undefined;
    confirm({ verb, args: { whom, text: reason, profile, until }, title: h[verb], text: h.confirm[verb](whom) });
  };
  return (
    <form data-form="players" onSubmit={(e) => e.preventDefault()}>
      <h3>
        {h.kick} / {h.ban}
      </h3>
      <label for="whom">{h.whom}</label>
      <input id="whom" autocomplete="off" value={whom} onInput={(e) => setWhom(e.currentTarget.value.trim())} />
      <label for="reason">{h.reason}</label>
      <input id="reason" maxLength={89} value={reason} onInput={(e) => setReason(e.currentTarget.value)} />
      <label for="hours">{h.until}</label>
      <input id="hours" type="number" min="1" value={hours} onInput={(e) => setHours(e.currentTarget.value)} />
      <ProfileChoice id="players-profile" status={status} value={profile} onChange={setProfile} />
      <div class="buttons">
        {(["kick", "ban", "unban"] as const).map((verb) => (
          <button key={verb} type="button" data-verb={verb} onClick={() => act(verb)}>
            {h[verb]}
          </button>
        ))}
      </div>
    </form>
  );
}

/** Remove ends a game that is not fit to be seen, or deletes what belongs to a player. */
function Remove({ status, confirm }: { status: Status; confirm: AskFirst }) {
  const [number, setNumber] = useState("");
  const [whom, setWhom] = useState("");
  const [profile, setProfile] = useState("");
  const board = Number(number);
  const archive = () => {
    if (board > 0) confirm({ verb: "archive", args: { board, profile }, title: h.archive, text: h.confirm.archive(board), done: () => setNumber("") });
  };
  const erase = () => {
    if (whom) confirm({ verb: "erase", args: { whom, profile }, title: h.erase, text: h.confirm.erase(whom), done: () => setWhom("") });
  };
  return (
    <form data-form="remove" onSubmit={(e) => e.preventDefault()}>
      <h3>{h.remove}</h3>
      <label for="archive-board">{h.board}</label>
      <input id="archive-board" type="number" min="1" value={number} onInput={(e) => setNumber(e.currentTarget.value)} />
      <label for="erase-key">{h.publicKey}</label>
      <input id="erase-key" autocomplete="off" maxLength={64} value={whom} onInput={(e) => setWhom(e.currentTarget.value.trim())} />
      <ProfileChoice id="remove-profile" status={status} value={profile} onChange={setProfile} />
      <div class="buttons">
        <button type="button" data-verb="archive" onClick={archive}>
          {h.archive}
        </button>
        <button type="button" data-verb="erase" onClick={erase}>
          {h.erase}
        </button>
      </div>
    </form>
  );
}
