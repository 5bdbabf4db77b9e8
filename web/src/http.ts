// Reading over HTTP with retries: for a server that is just starting, a network
// that has just changed, a connection that is dead.

const tries = 4;
const timeout = 8_000; // ms for an answer: a dead connection gives none
const maxPause = 5_000; // ms, whatever Retry-After says
const retryable = new Set([429, 503]); // the server asks us to come back

const pause = (ms: number) => new Promise<void>((done) => setTimeout(done, ms));

let origin = () => ""; // of the machine that is asked; "" is the page's

/** readFrom makes read ask whichever machine serves the page now. */
export function readFrom(from: () => string): void {
  origin = from;
}

/** read is fetch with retries, for requests that may be sent twice. It returns or throws what the last try did. */
export async function read(path: string, init: RequestInit = {}): Promise<Response> {
  for (let i = 1; ; i++) {
    let delay = 250 * 2 ** i;
    try {
      const answer = await fetch(origin() + path, { ...init, signal: AbortSignal.timeout(timeout) });
      if (i === tries || !retryable.has(answer.status)) return answer;
      delay = 1000 * Number(answer.headers.get("Retry-After")) || delay;
    } catch (e) {
      if (i === tries) throw e;
    }
    await pause(Math.min(maxPause, delay));
  }
}
