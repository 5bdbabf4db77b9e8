// Reading over HTTP from a server that starts, hands over, or is not heard.

import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";
import { read } from "../src/http";

type Reply = number | Error | [status: number, retryAfter: string];

const real = globalThis.fetch;

/** server answers one reply after the other, and counts. */
function server(...replies: Reply[]) {
  const asked: string[] = [];
  globalThis.fetch = (async (path: string) => {
    const reply = replies[asked.length];
    asked.push(path);
    if (reply instanceof Error) throw reply;
    const [status, after] = Array.isArray(reply) ? reply : [reply, ""];
    return new Response("", { status, headers: after ? { "Retry-After": after } : {} });
  }) as typeof fetch;
  return asked;
}

/** after lets time pass, with whatever was waiting for it. */
async function after(ms: number) {
  await new Promise<void>((r) => setImmediate(r));
  mock.timers.tick(ms);
  await new Promise<void>((r) => setImmediate(r));
}

beforeEach(() => mock.timers.enable({ apis: ["setTimeout"] }));
afterEach(() => {
  mock.timers.reset();
  globalThis.fetch = real;
});

test("what is there is read once", async () => {
  const asked = server(200, 200);
  assert.equal((await read("/x")).status, 200);
  assert.deepEqual(asked, ["/x"]);
});

test("an error that will stay is not asked again", async () => {
  const asked = server(404, 200);
  assert.equal((await read("/x")).status, 404);
  assert.equal(asked.length, 1);
});

for (const [name, first, wait] of [
  ["a server that starts", 503, 500],
  ["a server that says when", [503, "2"], 2000],
  ["too many requests", [429, "1"], 1000],
  ["a server that wants us away for an hour", [503, "3600"], 5000],
  ["a network that is not there", new TypeError("failed to fetch"), 500],
] as [string, Reply, number][]) {
  test(`${name} is asked again in its time`, async () => {
    const asked = server(first, 200);
    const answer = read("/x");
    await after(wait - 1);
    assert.equal(asked.length, 1);
    await after(1);
    assert.equal(asked.length, 2);
    assert.equal((await answer).status, 200);
  });
}

test("in the end it is said that there is no answer", async () => {
  const broken = new TypeError("failed to fetch");
  server(503, broken, 503, broken);
  const answer = read("/x").then(
    () => "an answer",
    (e: Error) => e.message,
  );
  for (let i = 0; i < 4; i++) await after(5000);
  assert.equal(await answer, broken.message);
});
