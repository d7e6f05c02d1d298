import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import * as esm from "../dist/esm/node.js";
import { rowIdempotencyKey } from "../dist/esm/import.js";
import { files, runFile } from "./vectors.mjs";

const testdata = new URL("../../testdata/", import.meta.url);
const require = createRequire(import.meta.url);
const cjs = { ...require("../dist/cjs/node.js"), ...require("../dist/cjs/import.js") };

test("all files of vectors are run", () => {
  const found = readdirSync(testdata).filter((name) => name.endsWith(".json"));
  assert.deepEqual(found.sort(), Object.keys(files).sort());
});

for (const [format, api] of [
  ["esm", { ...esm, rowIdempotencyKey }],
  ["cjs", cjs],
]) {
  for (const file of Object.keys(files)) {
    test(`${format}: ${file}`, async () => {
      const { count, failures } = await runFile(api, file, JSON.parse(readFileSync(new URL(file, testdata), "utf8")));
      assert.ok(count > 0);
      assert.equal(failures.join("\n"), "");
    });
  }
}
