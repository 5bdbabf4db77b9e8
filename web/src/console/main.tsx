// The host's console.

import { render } from "preact";
import { useState } from "preact/hooks";
import "../style/base.css";
import "../style/console.css";
import { useStore } from "../session/store";
import { h } from "./texts";
import { enter, token } from "./ask";
import { Desk } from "./Desk";

function Door() {
  const [text, setText] = useState("");
  const [bad, setBad] = useState(false);
  const submit = async (e: Event) => {
    e.preventDefault();
    try {
      await enter(text.trim());
    } catch {
      setBad(true);
    }
  };
  return (
    <main class="door">
      <form class="card" onSubmit={submit}>
        <h1>{h.title}</h1>
        <label for="token">{h.token}</label>
        <input id="token" type="password" autocomplete="off" value={text} aria-describedby="token-hint" onInput={(e) => (setText(e.currentTarget.value), setBad(false))} />
        <p id="token-hint" class="faint">
          {h.tokenHint}
        </p>
        {bad && (
          <p class="error" role="alert">
            {h.badToken}
          </p>
        )}
        <button type="submit" class="main">
          {h.enter}
        </button>
      </form>
    </main>
  );
}

function Console() {
  return useStore(token) ? <Desk /> : <Door />;
}

render(<Console />, document.getElementById("app")!);
