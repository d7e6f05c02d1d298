// The packed file, as a customer gets it.
import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { schema } from "../scripts/generate.mjs";
import { home, install, manifest, root, run } from "./installed.mjs";

const tools = join(root, "node_modules");
const packed = join(home, `${manifest.name}-${manifest.version}.tgz`);
run("npm", ["pack", "--silent", "--pack-destination", home], { cwd: root });
install(packed, "--offline");

test("the types are those of the document (make generate writes them)", async () => {
  assert.equal(readFileSync(join(root, "src/schema.ts"), "utf8") === (await schema()), true, "src/schema.ts is old");
});

test("the version is that of the package", () => {
  const print = 'import { version } from "petstore"; console.log(version)';
  assert.equal(run(process.execPath, ["--input-type=module", "-e", print]).trim(), manifest.version);
});

test("the file that servers hand out is what the sources make (make clients)", () => {
  const released = join(root, "../released", basename(packed));
  const trees = [packed, released].map((file, i) => {
    const dir = join(home, `tree${i}`);
    mkdirSync(dir);
    run("tar", ["-xzf", file, "-C", dir]);
    return dir;
  });
  run("diff", ["-r", ...trees]);
});

test("ESM and CommonJS load it by its name", () => {
  for (const [type, load] of [
    ["module", 'import * as p from "petstore";'],
    ["commonjs", 'const p = require("petstore");'],
  ]) {
    const script = `${load} console.log(Object.keys(p).sort().join())`;
    const names = run(process.execPath, [`--input-type=${type}`, "-e", script])
      .trim()
      .split(",");
    for (const name of ["Petstore", "ImportError", "RateLimitError", "verifyWebhook"])
      assert.ok(names.includes(name), `${type}: ${name}`);
  }
});

test("the sources are formatted (npm run fmt does it)", () => {
  run(process.execPath, [join(tools, "prettier/bin/prettier.cjs"), "--check", "src", "scripts", "test"], { cwd: root });
});

test("nothing else is needed at run time", () => {
  for (const kind of ["dependencies", "peerDependencies", "optionalDependencies"])
    assert.equal(manifest[kind], undefined);
});

test("publint and attw find nothing", () => {
  run(process.execPath, [join(tools, "publint/src/cli.js"), packed, "--strict"]);
  run(process.execPath, [join(tools, "@arethetypeswrong/cli/dist/index.js"), packed]);
});

/** Bundles it as a customer's tool does. */
async function bundle(conditions) {
  const result = await build({
    stdin: { contents: `export * from ${JSON.stringify(manifest.name)}`, resolveDir: home },
    bundle: true,
    minify: true,
    format: "esm",
    write: false,
    conditions,
    platform: conditions.includes("node") ? "node" : "neutral",
  });
  return result.outputFiles[0].text;
}

test("a bundle has at most 10 kB, compressed, and nothing of Node.js", async (t) => {
  const text = await bundle(["import"]);
  const size = gzipSync(text, { level: 9 }).length;
  t.diagnostic(`bundle: ${text.length} bytes, ${size} compressed; packed file: ${statSync(packed).size} bytes`);
  assert.ok(size <= 10_000, `${size} bytes`);
  assert.doesNotMatch(text, /\b(process|Buffer|require)\b|node:/);
  assert.match(await bundle(["import", "node"]), /\bprocess\.env\b/);
});

const guide = readFileSync(join(root, "../../docs/clients.md"), "utf8");
const [, calls] = /```js\n(.*?)```/s.exec(guide);
const compilers = { 5: "typescript", 7: "typescript7" };
const strict = {
  strict: true,
  exactOptionalPropertyTypes: true,
  skipLibCheck: false,
  noEmit: true,
  target: "es2022",
  types: [],
};
const modes = [
  [5, "node10", { module: "commonjs", moduleResolution: "node10" }, "ts"],
  [5, "node16, ESM and CommonJS", { module: "node16", moduleResolution: "node16" }, "mts", "cts"],
  [5, "bundler", { module: "esnext", moduleResolution: "bundler" }, "ts"],
  [7, "nodenext, ESM and CommonJS", { module: "nodenext", moduleResolution: "nodenext" }, "mts", "cts"],
  [7, "bundler", { module: "esnext", moduleResolution: "bundler" }, "ts"],
];

// make test-all tries one, which has both formats; make check tries all.
const tried = process.env.PETSTORE_SOAK ? modes : modes.slice(1, 2);

for (const [compiler, mode, options, ...extensions] of tried) {
  test(`TypeScript ${compiler}, ${mode}`, () => {
    const dir = join(home, `${compiler}-${mode.replace(/\W+/g, "-")}`);
    mkdirSync(dir);
    for (const extension of extensions) copyFileSync(join(root, "test/types/use.ts"), join(dir, `use.${extension}`));
    if (extensions.includes("mts")) writeFileSync(join(dir, "calls.mts"), calls);
    const lib = ["es2022", "dom", "dom.asynciterable"];
    const config = { compilerOptions: { ...strict, lib, ...options }, include: ["."] };
    writeFileSync(join(dir, "tsconfig.json"), JSON.stringify(config));
    run(process.execPath, [join(tools, compilers[compiler], "bin/tsc"), "-p", dir]);
  });
}
