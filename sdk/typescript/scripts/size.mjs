// Check the sizes of what a page loads, bundled, minified and gzipped.
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const limits = [
  // [what, source, bytes]
  ["the client", `export * from "@scoreboard/client"`, 8704],
  ["only newEventId", `export { newEventId } from "@scoreboard/client"`, 512],
  ["only ScoreboardError", `export { ScoreboardError } from "@scoreboard/client"`, 1536],
  ["the element with the client", `export * from "@scoreboard/client/element"; export * from "@scoreboard/client"`, 10240],
  ["the queue with the client", `export * from "@scoreboard/client/queue"; export * from "@scoreboard/client"`, 10752],
  ["the React hook without the client", `export * from "@scoreboard/client/react"`, 1024],
];

let failed = false;
for (const [what, contents, limit] of limits) {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: import.meta.dirname ?? "scripts" },
    bundle: true, minify: true, format: "esm", platform: "browser", external: ["react"], write: false,
  });
  const size = gzipSync(outputFiles[0].contents, { level: 9 }).length;
  console.log(`${what}: ${size} of at most ${limit} bytes`);
  failed ||= size > limit;
}
process.exitCode = failed ? 1 : 0;
