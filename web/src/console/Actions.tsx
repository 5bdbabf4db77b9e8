// What the host can do to the whole server and to players: the commands that the
// server offers in forms, and the drain, which is a switch.

import { useEffect, useState } from "preact/hooks";
import { h } from "./texts";
import { ask, type Field, type Form, type Status } from "./ask";
import type { AskFirst } from "./Confirm";

/** whole is the form of commands without arguments. */
const whole = "server";

export function Actions({ status, confirm }: { status: Status; confirm: AskFirst }) {
  const [forms, setForms] = useState<Form[]>([]);
  const draining = status.draining ?? false;
  useEffect(() => {
    if (forms.length === 0) ask.commands().then(setForms, () => {});
  }, [status]);
  const names = [...new Set(forms.map((f) => f.form))].filter((name) => name !== whole);
  return (
    <section class="card actions" aria-labelledby="actions">
      <h2 id="actions">{h.actions}</h2>
      <div class="buttons">
        {forms
          .filter((f) => f.form === whole)
          .map((f) => (
            <button key={f.name} type="button" data-command={f.name} onClick={() => confirm({ name: f.name, args: {}, title: f.title, text: f.confirm })}>
              {f.title}
            </button>
          ))}
        <button
          type="button"
          data-command="drain"
          aria-pressed={draining}
          onClick={() =>
            confirm({
              name: "drain",
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
        {names.map((name) => (
          <Commands key={name} name={name} commands={forms.filter((f) => f.form === name)} status={status} confirm={confirm} />
        ))}
      </div>
    </section>
  );
}

/** valueOf is a field's value in JSON, undefined if the field is empty. */
function valueOf(field: Field, text: string) {
  if (!text) return undefined;
  if (field.kind === "text") return text.trim();
  if (field.kind === "number") return Number(text);
  if (field.kind === "switch") return true;
  if (field.kind === "span") return new Date(Date.now() + 3600_000 * Number(text)).toISOString();
  return text;
}

/** Commands is one form: the fields of its commands, and a button for each. */
function Commands({ name, commands, status, confirm }: { name: string; commands: Form[]; status: Status; confirm: AskFirst }) {
  const [texts, setTexts] = useState<Record<string, string>>({});
  const set = (field: string, text: string) => setTexts((old) => ({ ...old, [field]: text }));
  const all = [...new Map(commands.flatMap((c) => c.fields).map((f) => [f.name, f])).values()];
  const fields = [...all.filter((f) => f.kind !== "profile"), ...all.filter((f) => f.kind === "profile")];
  const give = (c: Form) => {
    if (c.fields.some((f) => f.required && !texts[f.name])) return;
    const args = Object.fromEntries(c.fields.map((f) => [f.name, valueOf(f, texts[f.name])]));
    confirm({
      name: c.name,
      args,
      title: c.title,
      text: c.confirm.replace(/{(\w+)}/g, (_, field) => String(args[field])),
      done: () => c.fields.filter((f) => f.required).forEach((f) => set(f.name, "")),
    });
  };
  const only = commands.length === 1;
  const submit = (e: Event) => {
    e.preventDefault();
    if (only) give(commands[0]);
  };
  return (
    <form data-form={name} onSubmit={submit}>
      <h3>{commands.map((c) => c.title).join(" / ")}</h3>
      {fields.map((f) => (
        <Input key={f.name} id={`${name}-${f.name}`} field={f} text={texts[f.name] ?? ""} status={status} onText={(text) => set(f.name, text)} />
      ))}
      <div class="buttons">
        {commands.map((c) => (
          <button key={c.name} type={only ? "submit" : "button"} data-command={c.name} onClick={only ? undefined : () => give(c)}>
            {c.title}
          </button>
        ))}
      </div>
    </form>
  );
}

function Input({ id, field, text, status, onText }: { id: string; field: Field; text: string; status: Status; onText(text: string): void }) {
  if (field.kind === "switch") {
    return (
      <label class="check">
        <input type="checkbox" checked={text !== ""} onChange={(e) => onText(e.currentTarget.checked ? "on" : "")} />
        {field.label}
      </label>
    );
  }
  if (field.kind === "profile") {
    return (
      <>
        <label for={id}>{field.label}</label>
        <select id={id} value={text} onChange={(e) => onText(e.currentTarget.value)}>
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
  const shared = { id, autocomplete: "off", value: text, onInput: (e: { currentTarget: HTMLInputElement }) => onText(e.currentTarget.value.trimStart()) };
  return (
    <>
      <label for={id}>{field.label}</label>
      {field.kind === "text" ? <input maxLength={field.max} {...shared} /> : <input type="number" min="1" {...shared} />}
    </>
  );
}
