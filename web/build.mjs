// Builds the browser client and the console into dist/, which the Go package
// beside this file embeds. With --test it builds the tests into dist-test/.
//
//   dist/player/   index.html, and files whose names carry their hash
//   dist/console/  the same for the host's console
//
// Every text file has a .gz beside it, so that the server never compresses.

import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { licences } from "./licences.mjs";

const common = { bundle: true, format: "esm", target: "es2022", jsx: "automatic", jsxImportSource: "preact", logLevel: "warning" };

async function tests() {
  rmSync("dist-test", { recursive: true, force: true });
  const files = readdirSync("test").filter((f) => f.endsWith(".test.ts"));
  await build({ ...common, entryPoints: files.map((f) => join("test", f)), outdir: "dist-test", platform: "node", outExtension: { ".js": ".mjs" } });
}

async function site(name, entry, prefix) {
  const dir = join("dist", name);
  mkdirSync(dir, { recursive: true });
  const result = await build({
    ...common,
    entryPoints: { app: entry },
    outdir: dir,
    splitting: true,
    minify: true,
    metafile: true,
    legalComments: "none",
    entryNames: "[name]-[hash]",
    chunkNames: "part-[hash]",
    assetNames: "[name]-[hash]",
    loader: { ".svg": "text" },
  });
  const outputs = Object.keys(result.metafile.outputs);
  const script = outputs.find((o) => result.metafile.outputs[o].entryPoint === entry);
  const style = outputs.find((o) => o.endsWith(".css"));
  const icon = hashed(dir, "icon.svg");
  const manifest = name === "player" ? hashed(dir, "app.webmanifest", (text) => text.replace("{{svg}}", icon).replace("{{192}}", hashed(dir, "icon-192.png")).replace("{{512}}", hashed(dir, "icon-512.png"))) : "";
  const page = readFileSync(join("src", `${name}.html`), "utf8")
    .replaceAll("{{script}}", base(script))
    .replaceAll("{{style}}", base(style))
    .replaceAll("{{icon}}", icon)
    .replaceAll("{{manifest}}", manifest)
    .replaceAll("{{touch}}", manifest && hashed(dir, "icon-192.png"))
    .replace("{{preload}}", preloads(result.metafile, script, prefix));
  writeFileSync(join(dir, "index.html"), page);
  return result.metafile;
}

function hashed(dir, file, fill) {
  const read = readFileSync(join("src", file));
  const bytes = fill ? Buffer.from(fill(read.toString())) : read;
  const hash = createHash("sha256").update(bytes).digest("hex").slice(0, 8).toUpperCase();
  const name = file.replace(".", `-${hash}.`);
  writeFileSync(join(dir, name), bytes);
  return name;
}

/** preloads names the parts that the script imports at once, so that they are fetched together with it. */
function preloads(meta, script, prefix) {
  const found = new Set();
  const walk = (file) => {
    for (const i of meta.outputs[file].imports) {
      if (i.kind !== "import-statement" || found.has(i.path)) continue;
      found.add(i.path);
      walk(i.path);
    }
  };
  walk(script);
  return [...found].map((f) => `<link rel="modulepreload" href="${prefix}${base(f)}">\n`).join("");
}

const base = (path) => path.slice(path.lastIndexOf("/") + 1);

function compress(dir) {
  for (const file of readdirSync(dir)) {
    const path = join(dir, file);
    writeFileSync(path + ".gz", gzipSync(readFileSync(path), { level: 9 }));
  }
}

if (process.argv.includes("--test")) {
  await tests();
} else {
  for (const d of ["player", "console"]) rmSync(join("dist", d), { recursive: true, force: true });
  const built = [await site("player", "src/player.tsx", "/_/"), await site("console", "src/console/main.tsx", "_/")];
  const text = licences(built.flatMap((m) => Object.keys(m.inputs)));
  for (const d of ["player", "console"]) {
    writeFileSync(join("dist", d, "THIRD_PARTY_LICENSES.txt"), text);
    compress(join("dist", d));
  }
}
