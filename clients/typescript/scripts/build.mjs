// Builds dist/esm and dist/cjs, each with types of its own.
import { execFileSync } from "node:child_process";
import { copyFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const dir = fileURLToPath(new URL("..", import.meta.url));
const tsc = (...args) =>
  execFileSync(process.execPath, ["node_modules/typescript/bin/tsc", ...args], { cwd: dir, stdio: "inherit" });

rmSync(`${dir}/dist`, { recursive: true, force: true });
tsc();
const commonjs = ["--module", "commonjs", "--moduleResolution", "node10", "--verbatimModuleSyntax", "false"];
tsc(...commonjs, "--outDir", "dist/cjs", "--noCheck"); // the first one has checked them
writeFileSync(`${dir}/dist/cjs/package.json`, '{ "type": "commonjs" }\n');
copyFileSync(`${dir}/../../LICENSE`, `${dir}/LICENSE`);
