// Writes src/schema.ts, the types of the OpenAPI document: its schemas, and the parameters of its
// operations. Responses are left out, because the surface is written by hand.
import { readFile, writeFile } from "node:fs/promises";
import openapiTS, { astToString } from "openapi-typescript";
import { load } from "js-yaml";

/** Returns the text of src/schema.ts. */
export async function schema() {
  const document = load(await readFile(new URL("../../../internal/api/openapi.yaml", import.meta.url), "utf8"));
  for (const path of Object.values(document.paths)) {
    for (const operation of Object.values(path)) {
      delete operation.responses;
      delete operation.requestBody;
      delete operation.description;
    }
  }
  for (const event of Object.values(document.webhooks ?? {})) delete event.post?.responses;
  for (const name of ["responses", "headers", "examples", "requestBodies"]) delete document.components[name];
  const text = astToString(await openapiTS(document, { alphabetize: true }));
  return `// Made of internal/api/openapi.yaml by scripts/generate.mjs: do not edit.\n\n${text}`;
}

if (process.argv[2] === "--write") await writeFile(new URL("../src/schema.ts", import.meta.url), await schema());
