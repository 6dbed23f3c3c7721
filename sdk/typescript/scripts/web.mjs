// Build the scripts of the pages that the daemon serves, and list what they were built from, by
// which a test of server/http/pages sees that they are current.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { relative, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const assets = resolve(import.meta.dirname, "../../../server/http/pages/assets");
const root = resolve(import.meta.dirname, "../../..");
const limits = { "board.js": 12288, "chart.js": 2048, "timeline.js": 4096, "score-board.js": 15360 }; // bytes, gzipped

const { outputFiles, metafile } = await build({
  entryPoints: { board: "web/page.ts", chart: "web/chart.ts", timeline: "web/timeline.ts", "score-board": "web/element.ts" },
  bundle: true, minify: true, format: "esm", target: "es2022", platform: "browser", charset: "utf8",
  loader: { ".css": "text" }, outdir: assets, write: false, metafile: true, legalComments: "none",
});
for (const { path, contents } of outputFiles) {
  const name = relative(assets, path);
  const size = gzipSync(contents, { level: 9 }).length;
  console.log(`${name}: ${size} of at most ${limits[name]} bytes`);
  if (size > limits[name]) process.exitCode = 1;
  writeFileSync(path, contents);
}
const inputs = Object.keys(metafile.inputs).map((path) => relative(root, resolve(path))).sort();
const hash = (path) => createHash("sha256").update(readFileSync(path)).digest("hex");
const lines = [...inputs.map((path) => resolve(root, path)), ...outputFiles.map(({ path }) => path)]
  .map((path) => `${hash(path)}  ${relative(root, path)}\n`);
writeFileSync(resolve(assets, "../sources.sha256"), lines.join(""));

// The library of the documentation's search, as it is published, with its licence.
const library = resolve(import.meta.dirname, "../node_modules/minisearch");
const { version } = JSON.parse(readFileSync(resolve(library, "package.json"), "utf8"));
const licence = readFileSync(resolve(library, "LICENSE.txt"), "utf8").trim();
const { outputFiles: [search] } = await build({
  entryPoints: ["minisearch"], bundle: true, minify: true, format: "esm", target: "es2022", write: false, legalComments: "none",
});
writeFileSync(resolve(root, "server/http/docs/minisearch.js"),
  `/*! MiniSearch ${version}, https://github.com/lucaong/minisearch\n${licence}\n*/\n${search.text.trim()}\n`);
