// Runs the vectors and a few real requests in Chromium. It serves the package itself, to the browser alone.
import assert from "node:assert/strict";
import { once } from "node:events";
import { accessSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { files } from "./vectors.mjs";

const clients = fileURLToPath(new URL("../..", import.meta.url));

function installed(...names) {
  for (const name of names) {
    for (const dir of process.env.PATH.split(":")) {
      try {
        accessSync(join(dir, name));
        return join(dir, name);
      } catch {
        // It is elsewhere.
      }
    }
  }
  throw new Error("Chromium is not installed: install it with tools/install.sh chromium");
}

/** Of another origin than the page, as the API is. */
const requests = [];
const api = createServer((req, res) => {
  const cors = { "Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": "Retry-After" };
  if (req.method === "OPTIONS") {
    const headers = "Authorization, Content-Type, Idempotency-Key";
    return res.writeHead(204, { ...cors, "Access-Control-Allow-Headers": headers }).end();
  }
  requests.push(req);
  if (req.url.startsWith("/v1/usage")) return res.writeHead(302, { ...cors, Location: "/v1/plans" }).end();
  if (requests.length === 1)
    return res.writeHead(429, { ...cors, "Retry-After": "1" }).end('{"code":"rate_limit_exceeded"}');
  res.writeHead(201, cors).end('{"id":1,"name":"Rex","categoryId":7,"status":"available"}');
});
const pages = createServer((req, res) => {
  if (!req.url.endsWith("js")) return res.writeHead(200, { "Content-Type": "text/html" }).end("<!doctype html>");
  res.writeHead(200, { "Content-Type": "text/javascript" }).end(readFileSync(join(clients, req.url)));
});
for (const server of [api, pages]) await once(server.listen(0, "127.0.0.1"), "listening");
const addressOf = (server) => `http://127.0.0.1:${server.address().port}`;

const browser = await chromium.launch({
  executablePath: installed(
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
    "google-chrome",
  ),
  args: ["--no-sandbox"],
});
try {
  const page = await browser.newPage();
  page.on("console", (message) => console.error(message.text()));
  await page.goto(addressOf(pages));
  let count = 0;
  for (const file of Object.keys(files)) {
    const vectors = JSON.parse(readFileSync(join(clients, "testdata", file), "utf8"));
    const result = await page.evaluate(
      async ([file, vectors]) => {
        const { runFile } = await import("/typescript/test/vectors.mjs");
        const api = await import("/typescript/dist/esm/index.js");
        const { rowIdempotencyKey } = await import("/typescript/dist/esm/import.js");
        return runFile({ ...api, rowIdempotencyKey }, file, vectors);
      },
      [file, vectors],
    );
    assert.equal(result.failures.join("\n"), "");
    count += result.count;
  }

  const key = "pst_test_Zb7Q0mKxT4vL9sWcR2yNfHjD8aPuGe1dNUMm";
  const said = await page.evaluate(
    async ([url, key]) => {
      const { Petstore } = await import("/typescript/dist/esm/index.js");
      const store = new Petstore({ url, key });
      const pet = await store.pets.create({ name: "Rex", categoryId: 7 });
      const redirect = await store.usage.get().catch(({ name, message, status }) => ({ name, message, status }));
      return { pet, redirect };
    },
    [`${addressOf(api)}/v1`, key],
  );
  assert.equal(said.pet.name, "Rex");
  assert.match(said.redirect.message, /redirect/);
  assert.equal(said.redirect.status, undefined);
  assert.equal(requests.length, 3, "a redirect is not followed");
  const [first, second] = requests.map(({ headers }) => headers);
  assert.equal(first["idempotency-key"], second["idempotency-key"]);
  assert.equal(first.authorization, `Bearer ${key}`);
  assert.match(first["user-agent"], /HeadlessChrome|Chrome/);
  console.log(`Chromium ${browser.version()}: ${count} vectors`);
} finally {
  await browser.close();
  for (const server of [api, pages]) {
    server.close();
    server.closeAllConnections();
  }
}
