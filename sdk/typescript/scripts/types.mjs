// Generate src/openapi.ts: the types of the server's JSON that this client uses, and those that
// they refer to. The routes and the types of operators are left out, which are most of the document.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import openapiTS, { astToString, COMMENT_HEADER } from "openapi-typescript";

const root = resolve(import.meta.dirname, "..");
const document = JSON.parse(readFileSync(resolve(root, "../../server/http/api/openapi.json"), "utf8"));

const used = new Set();
for (const name of readdirSync(join(root, "src"), { recursive: true })) {
  if (!name.endsWith(".ts") || name === "openapi.ts") continue;
  const source = readFileSync(join(root, "src", name), "utf8");
  for (const [, schema] of source.matchAll(/[sS]chemas"?\]?\["(\w+)"\]/g)) used.add(schema);
}
for (const name of used) { // grows meanwhile
  const schema = document.components.schemas[name];
  if (!schema) throw new Error(`the document has no schema ${name}`);
  for (const [, other] of JSON.stringify(schema).matchAll(/"#\/components\/schemas\/(\w+)"/g)) used.add(other);
}
const schemas = Object.fromEntries(Object.entries(document.components.schemas).filter(([name]) => used.has(name)));
const ast = await openapiTS({ openapi: document.openapi, info: document.info, paths: {}, components: { schemas } });
writeFileSync(join(root, "src/openapi.ts"), COMMENT_HEADER + astToString(ast));
console.log(`${used.size} of ${Object.keys(document.components.schemas).length} schemas`);
