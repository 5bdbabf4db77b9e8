// Nothing is done before the host has said yes; what came of it is said too.

import { useState } from "preact/hooks";
import { h } from "./texts";
import { Dialog } from "../ui/Dialog";
import { ask, type Handoff, random } from "./ask";
import { gapOf } from "./handoff";

/** Command is what the host wants done. */
export interface Command {
  name: string;
  args: unknown;
  title: string;
  text: string;
  done?(): void;
}

export type AskFirst = (command: Command) => void;

export interface Confirm {
  command: Command | null;
  result: { ok: boolean; text: string } | null;
  count: number; // of what was done, for lists that change with it
  ask: AskFirst;
  yes(): Promise<void>;
  no(): void;
}

/**
 * carryOut gives a command. A handoff may end the connection with the old binary: the
 * request is sent again with its key, and the next binary answers how it went, without
 * another handoff.
 */
async function carryOut(command: Command): Promise<unknown> {
  const key = random();
  for (;;) {
    try {
      return await ask.give(command.name, command.args, key);
    } catch (e) {
      if (!(e instanceof TypeError) || command.name !== "handoff") throw e;
      while (!(await ask.status().then(() => true, () => false))) await new Promise((r) => setTimeout(r, 200));
    }
  }
}

/** reached says what a command met: the server answers with a number for each profile. */
function reached(answer: unknown): string {
  if (answer && typeof (answer as Handoff).frozen === "number") return gapOf(answer as Handoff);
  const counts = Object.entries(answer ?? {}).filter(([, n]) => Number.isInteger(n));
  return counts.map(([name, n]) => `${name}: ${n}`).join(", ");
}

export function useConfirm(): Confirm {
  const [command, setCommand] = useState<Command | null>(null);
  const [result, setResult] = useState<Confirm["result"]>(null);
  const [count, setCount] = useState(0);
  return {
    command,
    result,
    count,
    ask: (c) => (setResult(null), setCommand(c)),
    no: () => setCommand(null),
    yes: async () => {
      if (!command) return;
      setCommand(null);
      try {
        setResult({ ok: true, text: `${h.done} ${command.title}. ${reached(await carryOut(command))}` });
        command.done?.();
      } catch (e) {
        setResult({ ok: false, text: `${h.failed} ${command.title}. ${(e as Error).message}` });
      }
      setCount((n) => n + 1);
    },
  };
}

export function ConfirmDialog({ confirm }: { confirm: Confirm }) {
  return (
    <>
      <div class="toasts" role="log" aria-live="polite">
        {confirm.result && <div class={`toast ${confirm.result.ok ? "good" : "bad"}`}>{confirm.result.text}</div>}
      </div>
      {confirm.command && (
        <Dialog title={confirm.command.title} onClose={confirm.no}>
          <p class="lines">{confirm.command.text}</p>
          <div class="buttons">
            <button type="button" onClick={confirm.no}>
              {h.no}
            </button>
            <button type="button" class="main" data-action="confirm" onClick={confirm.yes}>
              {h.yes}
            </button>
          </div>
        </Dialog>
      )}
    </>
  );
}
