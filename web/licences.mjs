// The licences of all packages whose code is in a bundle, as one text.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const allowed = new Set(["MIT", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "0BSD"]);

/** licences takes the inputs of a build and returns the text; a package without a fitting licence ends the build. */
export function licences(inputs) {
  const names = new Set();
  for (const input of inputs) {
    const at = input.lastIndexOf("node_modules/");
    if (at < 0) continue;
    const parts = input.slice(at + "node_modules/".length).split("/");
    names.add(parts[0].startsWith("@") ? `${parts[0]}/${parts[1]}` : parts[0]);
  }
  const head = "The browser client of Wamble contains code of these packages.\n";
  return head + [...names].sort().map(licence).join("");
}

function licence(name) {
  const dir = join("node_modules", name);
  const about = JSON.parse(readFileSync(join(dir, "package.json"), "utf8"));
  if (!allowed.has(about.license)) throw new Error(`${name}: licence ${about.license} does not fit`);
  const file = readdirSync(dir).find((f) => /^licen[cs]e/i.test(f));
  if (!file) throw new Error(`${name}: no licence text`);
  const text = readFileSync(join(dir, file), "utf8").trim();
  return `\n${"=".repeat(78)}\n${name} ${about.version} (${about.license})\n${"=".repeat(78)}\n\n${text}\n`;
}
