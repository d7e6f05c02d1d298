// The programs of README.md as printed, against the service at PETSTORE_URL, which is empty at first.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { home, install, manifest, root, run } from "./installed.mjs";

const readme = readFileSync(join(root, "README.md"), "utf8");
const [program, receiver] = Array.from(readme.matchAll(/```ts\n(.*?)```/gs), ([, text]) => text);
const { PETSTORE_URL, PETSTORE_API_KEY: firstKey } = process.env;

test("is installed from the service's own address", () => {
  const [, path] = /npm install https:\/\/api\.example\.com(\S+)/.exec(readme);
  install(new URL(path, PETSTORE_URL).href);
  const print = 'import { version } from "petstore"; console.log(version)';
  assert.equal(run(process.execPath, ["--input-type=module", "-e", print]).trim(), manifest.version);
});

test("lists, adds, imports, orders and rotates, and so again with the new key", () => {
  writeFileSync(join(home, "program.mjs"), program);
  const runs = [];
  let key = firstKey;
  for (let i = 0; i < 2; i++) {
    runs.push(run(process.execPath, ["program.mjs"], { env: { PETSTORE_URL, PETSTORE_API_KEY: key } }));
    const stored = readFileSync(join(home, "petstore.key"), "utf8");
    assert.notEqual(stored, key);
    key = stored;
  }
  // The first run has ordered Rex, whose animal is pending since.
  assert.deepEqual(runs, ["1 created 2\n", "2 Luna\n1 replayed 2\n"]);
});

test("receives a webhook, and nobody else's", async (t) => {
  // Its port is fixed, and may be taken here.
  assert.match(receiver, /\.listen\(\d+\)/);
  writeFileSync(
    join(home, "receiver.mjs"),
    receiver.replace(/\.listen\(\d+\)/, ".listen(0, function () { console.log(this.address().port) })"),
  );
  const secret = Buffer.alloc(32, 7).toString("base64");
  const env = {
    ...process.env,
    PETSTORE_WEBHOOK_SECRETS: `whsec_${Buffer.alloc(32, 9).toString("base64")} whsec_${secret}`,
  };
  const child = spawn(process.execPath, ["receiver.mjs"], { cwd: home, env, stdio: ["ignore", "pipe", "inherit"] });
  t.after(() => child.kill());
  const lines = child.stdout.setEncoding("utf8")[Symbol.asyncIterator]();
  const port = Number((await lines.next()).value);
  const timestamp = String(Math.floor(Date.now() / 1000));
  const body = '{"type":"key.expiring","timestamp":"2026-11-20T09:21:48Z","data":{"keyId":"key_1"}}';
  const cryptoKey = await crypto.subtle.importKey(
    "raw",
    Buffer.from(secret, "base64"),
    { name: "HMAC", hash: "SHA-256" },
    false,
    ["sign"],
  );
  const signature = Buffer.from(await crypto.subtle.sign("HMAC", cryptoKey, Buffer.from(`e1.${timestamp}.${body}`)));
  const post = async (signature) => {
    const headers = { "webhook-id": "e1", "webhook-timestamp": timestamp, "webhook-signature": `v1,${signature}` };
    return (await fetch(`http://127.0.0.1:${port}`, { method: "POST", headers, body })).status;
  };
  assert.equal(await post(Buffer.alloc(32).toString("base64")), 400);
  assert.equal(await post(signature.toString("base64")), 204);
  assert.match((await lines.next()).value, /e1 key\.expiring \{ keyId: 'key_1' \}/);
});
