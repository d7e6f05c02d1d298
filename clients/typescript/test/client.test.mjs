// What the vectors can't see: Node.js's own fetch, types of JavaScript, and what logs show.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { test } from "node:test";
import { inspect } from "node:util";
import * as petstore from "../dist/esm/node.js";
import * as browser from "../dist/esm/index.js";
import { TestClock } from "./clock.mjs";

const key = "pst_test_Zb7Q0mKxT4vL9sWcR2yNfHjD8aPuGe1dNUMm";
const newKey = "pst_test_Qm3xV8nB5kLr7TgYc1WzHdJp6sAfUe0i2XqR9";
const rex = { id: 1, name: "Rex", categoryId: 7, status: "available" };

/** Starts a server, and returns a client of it. */
async function serve(t, handler, options = {}) {
  const server = createServer(handler).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return new petstore.Petstore({ url: `http://127.0.0.1:${server.address().port}/v1`, key, ...options });
}

/** A client whose fetch is a function, and whose clock stands. */
function fake(fetch, options = {}) {
  const clock = new TestClock(0);
  return new petstore.Petstore({ url: "https://api.example.com/v1", key, clock, fetch, ...options });
}

const json = (body, init) => new Response(JSON.stringify(body), init);

test("User-Agent has the version and the runtime", async (t) => {
  let seen;
  const handler = (req, res) => {
    seen = req.headers;
    res.end("[]");
  };
  const store = await serve(t, handler, { userAgent: "acme/2" });
  await store.pets.list().page();
  assert.equal(seen["user-agent"], `acme/2 petstore-typescript/${petstore.version} node/${process.versions.node}`);
  assert.equal(seen.authorization, `Bearer ${key}`);
});

test("a redirect is not followed", async (t) => {
  let requests = 0;
  const store = await serve(t, (req, res) => {
    requests++;
    res.writeHead(302, { Location: "/v1/elsewhere" }).end();
  });
  await assert.rejects(store.pets.list().page(), (error) => error.status === 302 && /redirect/.test(error.message));
  assert.equal(requests, 1);
});

test("a connection that breaks, before and within a response", async (t) => {
  const seen = [];
  const store = await serve(t, (req, res) => {
    seen.push(req.headers["idempotency-key"]);
    if (seen.length === 1) return req.socket.destroy();
    if (seen.length === 2) {
      res.writeHead(201, { "Content-Length": 1000 }).write("{");
      return setImmediate(() => res.destroy());
    }
    res.writeHead(201).end(JSON.stringify(rex));
  });
  assert.deepEqual(await store.pets.create({ name: "Rex", categoryId: 7 }), rex);
  assert.equal(seen.length, 3);
  assert.equal(new Set(seen).size, 1);
});

test("nobody listens", async () => {
  const store = new petstore.Petstore({ url: "http://127.0.0.1:1/v1", key, maxRetries: 0 });
  await assert.rejects(
    store.pets.list().page(),
    (error) => error.constructor === petstore.ConnectionError && /ECONNREFUSED|bad port/.test(error.message),
  );
});

test("a signal ends a request and a wait", async (t) => {
  const ended = new AbortController();
  const hanging = await serve(t, () => ended.abort(new Error("enough")));
  await assert.rejects(hanging.pets.list({}, { signal: ended.signal }).page(), /enough/);

  const waiting = new AbortController();
  const store = await serve(t, (req, res) => {
    setImmediate(() => waiting.abort(new Error("no longer")));
    res.writeHead(429, { "Retry-After": "60" }).end("{}");
  });
  await assert.rejects(store.pets.list({}, { signal: waiting.signal }).page(), /no longer/);
  await assert.rejects(store.pets.list({}, { signal: AbortSignal.abort(new Error("at once")) }).page(), /at once/);
});

test("a timer of a call that has ended does not keep the program", async (t) => {
  const store = await serve(t, (req, res) => res.end("[]"));
  await store.pets.list().page();
  assert.deepEqual(
    process.getActiveResourcesInfo().filter((name) => name === "Timeout"),
    [],
  );
});

test("numbers that are not exact", async () => {
  let sent = 0;
  const fetch = async () => {
    sent++;
    return new Response('[{"id":1,"name":"Rex","categoryId":9007199254740993,"status":"available"}]');
  };
  const store = fake(fetch);
  const names = (member) => (error) => error instanceof RangeError && error.message.startsWith(member);
  await assert.rejects(store.pets.create({ name: "Rex", categoryId: 2 ** 53 }), names("categoryId"));
  await assert.rejects(store.orders.create({ petId: -(2 ** 53) }), names("petId"));
  await assert.rejects(store.pets.update(2 ** 53, {}), names("id"));
  await assert.rejects(store.pets.list({ ids: [1, 2 ** 53] }).page(), names("ids"));
  await assert.rejects(store.pets.list({ categoryId: 1.5 }).page(), names("categoryId must be an integer, not 1.5"));
  assert.equal(sent, 0);
  await assert.rejects(store.pets.list().page(), names("categoryId of ID 1 is about 9007199254740992:"));
  assert.equal(sent, 1);
});

test("unknown members are kept", async () => {
  const store = fake(async () => json([{ ...rex, colour: { name: "brown" }, weight: 2 ** 60 }]));
  const { items } = await store.pets.list().page();
  assert.deepEqual(items[0].colour, { name: "brown" });
});

test("an iterator fetches a page when it needs it", async () => {
  let pages = 0;
  const store = fake(async () => json([rex, rex], { headers: { "X-Next-Cursor": String(++pages) } }));
  for await (const pet of store.pets.list()) {
    assert.equal(pet.id, 1);
    if (pages === 3) break;
  }
  assert.equal(pages, 3);
});

test("a page that is its own next page is an error", async () => {
  const store = fake(async () => json([rex], { headers: { "X-Next-Cursor": "a" } }));
  await assert.rejects(async () => {
    for await (const _ of store.pets.list());
  }, /same page/);
});

test("no log shows a key", async () => {
  const issued = { id: "key_2", name: "ci", key: newKey };
  const store = fake(async () => json(issued, { status: 201 }));
  const made = await store.keys.create({ name: "ci" });
  assert.equal(made.key, newKey);
  for (const value of [store, store.keys, made, { ...made }, [made]]) {
    for (const text of [inspect(value, { depth: 9, showHidden: false }), JSON.stringify(value), String(value)]) {
      assert.doesNotMatch(text, /pst_test_\w/);
    }
  }
});

test("without onWarning, warnings go to the console", async (t) => {
  const warn = t.mock.method(console, "warn", () => {});
  const store = fake(async () => json([], { headers: { "X-Key-Expires": "1795166568", Deprecation: "@1764892800" } }));
  await store.pets.list().page();
  await store.pets.list().page();
  assert.deepEqual(
    warn.mock.calls.map((call) => call.arguments[0]),
    [
      "petstore: The API key expires at 2026-11-20T09:22:48.000Z. Only a key with the scope manage can set a later expiresAt.",
      "petstore: GET /pets is deprecated.",
    ],
  );
});

test("fromEnv", () => {
  const { PETSTORE_URL, PETSTORE_API_KEY } = process.env;
  try {
    process.env.PETSTORE_URL = "https://api.example.com/v1";
    process.env.PETSTORE_API_KEY = `${key}\n`;
    assert.throws(() => petstore.Petstore.fromEnv(), /line break/);
    process.env.PETSTORE_API_KEY = key;
    assert.ok(petstore.Petstore.fromEnv({ maxWait: 10 }) instanceof petstore.Petstore);
    delete process.env.PETSTORE_URL;
    assert.throws(() => petstore.Petstore.fromEnv(), /url must be an address/);
  } finally {
    Object.assign(process.env, { PETSTORE_URL, PETSTORE_API_KEY });
    if (PETSTORE_URL === undefined) delete process.env.PETSTORE_URL;
    if (PETSTORE_API_KEY === undefined) delete process.env.PETSTORE_API_KEY;
  }
  assert.throws(() => browser.Petstore.fromEnv(), /no environment/);
});

test("arguments that are refused", async () => {
  const store = fake(() => assert.fail("a request was sent"));
  await assert.rejects(store.pets.create({ name: "a", categoryId: 1 }, { idempotencyKey: "a b" }), TypeError);
  await assert.rejects(store.pets.update(1, {}, { ifMatch: "a\nb" }), TypeError);
  await assert.rejects(store.pets.importAll([], { source: "a", concurrency: 0 }), RangeError);
  await assert.rejects(store.pets.importAll([], { source: "a", startedAt: "soon" }), RangeError);
});

test("a response says more than its body", async () => {
  const headers = { ETag: '"abc"', "X-Request-Id": "r1", "Idempotent-Replayed": "true" };
  const store = fake(async () => json(rex, { status: 201, headers }));
  let seen;
  await store.pets.create({ name: "Rex", categoryId: 7 }, { onResponse: (response) => (seen = response) });
  assert.deepEqual(
    { ...seen, headers: 0 },
    { status: 201, headers: 0, requestId: "r1", etag: '"abc"', replayed: true },
  );
});

test("after a ban no call is sent, and each says why", async () => {
  let sent = 0;
  const headers = { "Retry-After": "900" };
  const store = fake(async () => {
    sent++;
    return json({ code: "key_banned", message: "It is banned." }, { status: 429, headers });
  });
  for (let i = 0; i < 3; i++) {
    const banned = { name: "RateLimitError", code: "key_banned", status: 429, retryAfter: 900 };
    await assert.rejects(store.pets.list().page(), banned);
  }
  assert.equal(sent, 1);
});

const rows = (n) => Array.from({ length: n }, (_, i) => ({ name: `Rex ${i + 1}`, categoryId: 7 }));
const created = async (_, { body }) => json({ id: 1, ...JSON.parse(body) }, { status: 201 });

test("rows may come from an asynchronous iterator, which is asked once at a time", async () => {
  let asked = 0;
  let most = 0;
  let next = 0;
  const source = {
    [Symbol.asyncIterator]: () => ({
      async next() {
        most = Math.max(most, ++asked);
        await new Promise(setImmediate);
        asked--;
        return next++ < 9 ? { done: false, value: rows(1)[0] } : { done: true };
      },
    }),
  };
  const result = await fake(created).pets.importAll(source, { source: "a", concurrency: 4 });
  assert.equal(result.created, 9);
  assert.equal(most, 1);
});

test("an import ends with its place, and closes the rows", async () => {
  let closed = 0;
  const source = function* (fails) {
    try {
      yield* rows(3);
      if (fails) throw new Error("the file ends too soon");
      yield* rows(9);
    } finally {
      closed++;
    }
  };
  const ended = (cause) => (error) =>
    error instanceof petstore.ImportError &&
    error.cause.message === cause &&
    error.startedAt instanceof Date &&
    error.firstUnfinished;
  const run = (fails, options) =>
    fake(created).pets.importAll(source(fails), { source: "a", concurrency: 1, ...options });
  await assert.rejects(run(true), (error) => ended("the file ends too soon")(error) === 4);
  const onRow = ({ row }) => {
    if (row === 3) throw new Error("the disk is full");
  };
  await assert.rejects(run(false, { onRow }), (error) => ended("the disk is full")(error) === 3);
  const stop = new AbortController();
  const stops = ({ row }) => row === 5 && stop.abort(new Error("stop"));
  await assert.rejects(run(false, { onRow: stops, signal: stop.signal }), (error) => ended("stop")(error) === 6);
  assert.equal(closed, 3);
});

test("an error ends an import when the rows under way are finished, and rows are told one at a time", async () => {
  const asked = [];
  const told = [];
  let telling = 0;
  const fetch = async (url, init) => {
    const { name } = JSON.parse(init.body);
    asked.push(Number(name.slice("Rex ".length)));
    if (name === "Rex 2") return json({ code: "insufficient_scope", message: "no" }, { status: 403 });
    await new Promise(setImmediate);
    return created(url, init);
  };
  const onRow = async ({ row }) => {
    assert.equal(++telling, 1);
    await new Promise(setImmediate);
    told.push(row);
    telling--;
  };
  const run = fake(fetch).pets.importAll(rows(999), { source: "a", concurrency: 3, onRow });
  await assert.rejects(
    run,
    (error) => error.firstUnfinished === 2 && error.cause instanceof petstore.AuthenticationError,
  );
  // What was asked for before the refusal was read is the machine's affair; all of it is told.
  const order = (a, b) => a - b;
  assert.deepEqual([2, ...told].sort(order), asked.sort(order));
  assert.ok(asked.length < 999, `${asked.length} of 999 rows were asked for`);
});

test("a row that is not exact is the row's, and rows may have names", async () => {
  const keys = [];
  const told = [];
  const fetch = (url, init) => {
    keys.push(new Headers(init.headers).get("idempotency-key"));
    assert.equal(init.body, '{"name":"B","categoryId":1}');
    return created(url, init);
  };
  const pets = [
    { name: "A", categoryId: 2 ** 53, sku: "1" },
    { name: "B", categoryId: 1, sku: "2" },
    { name: "B", categoryId: 1, sku: "3" },
  ];
  const options = {
    source: "a",
    concurrency: 1,
    rowKey: (pet) => pet.name,
    onRow: ({ row, data, status }) => told.push(row, data.sku, status),
  };
  await fake(fetch).pets.importAll(pets, options);
  assert.deepEqual(told, [1, "1", "failed", 2, "2", "created", 3, "3", "created"]);
  assert.equal(keys[0], keys[1]);
});
