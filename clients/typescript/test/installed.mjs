// An empty folder, into which the package is installed as a customer does.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("..", import.meta.url));
export const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

/** The folder in which it is installed. */
export const home = mkdtempSync(join(tmpdir(), "petstore-"));
after(() => rmSync(home, { recursive: true }));

/** Runs a program, and shows what it prints if it fails. */
export function run(program, args, { cwd = home, env = {} } = {}) {
  try {
    return execFileSync(program, args, { cwd, env: { ...process.env, ...env }, encoding: "utf8", stdio: "pipe" });
  } catch (error) {
    assert.fail(`${program} ${args.join(" ")}: ${error.message}\n${error.stdout}`);
  }
}

/** Installs the package, from a file or an address. */
export function install(from, ...options) {
  writeFileSync(join(home, "package.json"), '{ "private": true }');
  run("npm", ["install", "--silent", "--no-audit", "--no-fund", ...options, from]);
}
