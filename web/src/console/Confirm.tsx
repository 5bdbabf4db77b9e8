// Nothing is done before the host has said yes; what came of it is said too.

import { useState } from "preact/hooks";
import { h } from "../texts";
import { Dialog } from "../ui/Dialog";
import { ask } from "./ask";

export interface Deed {
  verb: string;
  args: unknown;
  title: string;
  text: string;
  done?(): void;
}

export type AskFirst = (deed: Deed) => void;

export interface Confirm {
  deed: Deed | null;
  result: { ok: boolean; text: string } | null;
  count: number; // of what was done, for lists that change with it
  ask: AskFirst;
  yes(): Promise<void>;
  no(): void;
}

/** reached says whom an order met: the server answers with a number for each profile. */
function reached(answer: unknown): string {
  const counts = Object.entries(answer ?? {}).filter(([, n]) => Number.isInteger(n));
  return counts.map(([name, n]) => `${name}: ${n}`).join(", ");
}

export function useConfirm(): Confirm {
  const [deed, setDeed] = useState<Deed | null>(null);
  const [result, setResult] = useState<Confirm["result"]>(null);
  const [count, setCount] = useState(0);
  return {
    deed,
    result,
    count,
    ask: (d) => (setResult(null), setDeed(d)),
    no: () => setDeed(null),
    yes: async () => {
      if (!deed) return;
      setDeed(null);
      try {
        setResult({ ok: true, text: `${h.done} ${deed.title}. ${reached(await ask.act(deed.verb, deed.args))}` });
        deed.done?.();
      } catch (e) {
        if (e instanceof TypeError && deed.verb === "handoff") {
          // The connection ended with the old image. The next one answers.
          while (!(await ask.status().then(() => true, () => false))) await new Promise((r) => setTimeout(r, 200));
          setResult({ ok: true, text: `${h.done} ${deed.title}.` });
        } else setResult({ ok: false, text: `${h.failed} ${deed.title}. ${(e as Error).message}` });
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
      {confirm.deed && (
        <Dialog title={confirm.deed.title} onClose={confirm.no}>
          <p>{confirm.deed.text}</p>
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
