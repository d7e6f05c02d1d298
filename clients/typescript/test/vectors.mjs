// Runs the vectors of clients/testdata, as its README says, in Node.js and in browsers.
import { TestClock } from "./clock.mjs";

const URL_ = "https://api.example.com/v1";
const KEY = "pst_test_Zb7Q0mKxT4vL9sWcR2yNfHjD8aPuGe1dNUMm";
const draws = [0, 0.999999];

/** The files of vectors, and what runs one of them: it throws what is wrong. */
export const files = {
  "calls.json": exchange,
  "errors.json": exchange,
  "retries.json": exchange,
  "waits.json": exchange,
  "rotation.json": exchange,
  "imports.json": importRows,
  "import-keys.json": importKey,
  "clients.json": makeClient,
  "webhooks.json": webhook,
};

/** Runs all vectors of a file, and returns how many there are and what is wrong. */
export async function runFile(api, file, vectors) {
  const failures = [];
  for (const vector of vectors) {
    for (const draw of draws) {
      try {
        await files[file](api, vector, draw);
      } catch (error) {
        failures.push(`${file}: ${vector.name} (draws ${draw}): ${error?.stack ?? error}`);
      }
    }
  }
  return { count: vectors.length, failures };
}

function known(object, ...names) {
  for (const name of Object.keys(object)) if (!names.includes(name)) fail(`unknown member ${name}`);
}

function fail(message) {
  throw new Error(message);
}

function equal(got, want, what) {
  const [g, w] = [canonical(got), canonical(want)];
  if (g !== w) fail(`${what}: got ${g}, want ${w}`);
}

/** JSON with sorted members. Members that a log does not show, such as keys, are compared too. */
function canonical(value) {
  if (value === null || value === undefined) return "null";
  if (typeof value !== "object") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical)}]`;
  return `{${Object.getOwnPropertyNames(value)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`)}}`;
}

/** Compares the members that are wanted. */
function matches(got, want, what) {
  if (Array.isArray(want)) {
    if (got?.length !== want.length) fail(`${what}: got ${canonical(got)}, want ${canonical(want)}`);
    want.forEach((item, i) => matches(got[i], item, `${what}[${i}]`));
  } else if (want !== null && typeof want === "object") {
    for (const [name, value] of Object.entries(want)) matches(got?.[name], value, `${what}.${name}`);
  } else {
    equal(got, want, what);
  }
}

const classes = (api) => ({
  Authentication: api.AuthenticationError,
  NotFound: api.NotFoundError,
  Conflict: api.ConflictError,
  Validation: api.ValidationError,
  RateLimit: api.RateLimitError,
  Server: api.ServerError,
  Timeout: api.TimeoutError,
  Connection: api.ConnectionError,
  Petstore: api.PetstoreError,
});

function classOf(api, error) {
  return Object.entries(classes(api)).find(([, c]) => error.constructor === c)?.[0] ?? "Refused";
}

function checkError(api, error, { class: name, ...members }) {
  known(members, "code", "status", "message", "requestId", "retryAfter", "docUrl", "keyId", "firstUnfinished");
  if (!(error instanceof Error)) fail(`not an error: ${error}`);
  checkNoKey(error);
  if ("firstUnfinished" in members && !(error instanceof api.ImportError)) throw error;
  const cause = error instanceof api.ImportError ? error.cause : error;
  if (name !== undefined) equal(classOf(api, cause), name, `the class of ${cause.stack}`);
  for (const [member, want] of Object.entries(members)) {
    if (want === "endless") error[member] > 1e9 || fail(`${member}: ${error[member]}`);
    else equal(error[member], want, `${member} of ${cause.stack}`);
  }
}

function checkNoKey(error) {
  const text = [error, error.stack, error.cause, JSON.stringify(error), canonical(error)].join("\n");
  if (/pst_test_\w{10}/.test(text)) fail(`an error with a key: ${text}`);
}

/** Fills in {unix+1}, {date+1} and {time+1}. */
function filled(text, clock) {
  return text.replace(/\{(unix|date|time)([+-]\d+)\}/g, (_, form, seconds) => {
    const at = new Date(clock.date() + 1000 * Number(seconds));
    return { unix: String(Math.floor(at / 1000)), date: at.toUTCString(), time: at.toISOString() }[form];
  });
}

const isNullBody = (status) => status === 204 || status === 304;

/** Makes a Response. A fetch of Node.js gives redirects as they are; a test can't make one of a status below 200. */
function respond({ status, headers = {}, body, text, cut, ...others }, clock) {
  known(others);
  const content = text ?? (body === undefined ? "" : filled(JSON.stringify(body), clock));
  const entries = Object.entries(headers).map(([name, value]) => [name, filled(value, clock)]);
  let stream = content;
  if (cut) {
    stream = new ReadableStream({
      pull(controller) {
        controller.enqueue(new TextEncoder().encode(content));
        controller.error(new TypeError("terminated"));
      },
    });
  }
  return new Response(isNullBody(status) ? null : stream, { status, headers: entries });
}

const aborted = (signal) =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));

async function exchange(api, vector, draw) {
  known(vector, "name", "options", "calls", "exchanges", "warnings", "stored");
  const clock = new TestClock(draw);
  const names = new Map();
  const warnings = [];
  const stored = [];
  let sent = 0;
  let lastEnd = 0;
  const wrong = [];

  const fetch = async (url, init) => {
    try {
      const expected = vector.exchanges[sent++];
      if (!expected) fail(`request ${sent}: one too many: ${init.method} ${url}`);
      const { wait = [0, 0], request, response, ...others } = expected;
      known(others);
      const waited = (clock.now() - lastEnd) / 1000;
      const want = draw === 0 ? wait[0] : wait[1];
      if (Math.abs(waited - want) > 0.05) fail(`request ${sent}: waited ${waited} s, want ${want} s`);
      checkRequest(request, url, init, names, `request ${sent}`);
      if (response.lost) throw new TypeError("fetch failed", { cause: new Error(`socket hang up ${KEY}`) });
      if (response.hangs) await aborted(init.signal);
      return respond(response, clock);
    } catch (error) {
      if (error.constructor === Error) wrong.push(error);
      throw error;
    } finally {
      lastEnd = clock.now();
    }
  };

  const options = { ...vector.options };
  known(options, "maxRetries", "maxWait", "timeout");
  const onWarning = ({ header, value }) => warnings.push(`${header}: ${value}`);
  const store = new api.Petstore({ url: URL_, key: KEY, clock, fetch, onWarning, ...options });
  for (const { call, args, result, error, ...others } of vector.calls) {
    known(others);
    let got;
    try {
      got = await clock.run(invoke(store, call, args ?? {}, stored));
    } catch (caught) {
      if (wrong.length > 0) throw wrong[0];
      if (!error) throw caught;
      checkError(api, caught, error);
      continue;
    }
    if (wrong.length > 0) throw wrong[0];
    if (error) fail(`${call}: no error, but ${canonical(got)}`);
    matches(got, result, call);
  }
  equal(sent, vector.exchanges.length, "requests");
  if (vector.warnings) equal(warnings, vector.warnings, "warnings");
  if (vector.stored) equal(stored, vector.stored, "stored");
}

function checkRequest(want, url, init, names, what) {
  known(want, "method", "path", "query", "headers", "body");
  const { origin, pathname, searchParams } = new URL(url);
  equal(origin, "https://api.example.com", `${what}: origin`);
  equal(init.method, want.method, `${what}: method`);
  equal(pathname, want.path, `${what}: path`);
  equal(Object.fromEntries(searchParams), want.query ?? {}, `${what}: query`);
  equal(init.redirect, "manual", `${what}: redirect`);
  const headers = new Headers(init.headers);
  for (const [name, value] of Object.entries({ Authorization: `Bearer ${KEY}`, ...want.headers })) {
    const got = headers.get(name);
    if (!value?.startsWith("$")) {
      equal(got, value, `${what}: ${name}`);
      continue;
    }
    if (!/^[!-~]{1,255}$/.test(got)) fail(`${what}: ${name}: ${got}`);
    const known = names.get(value);
    if (known ? known !== got : [...names.values()].includes(got))
      fail(`${what}: ${name} is ${got}, and ${value} is ${known}`);
    names.set(value, got);
  }
  const body = init.body === undefined ? undefined : JSON.parse(init.body);
  if (want.body !== undefined) equal(body, want.body, `${what}: body`);
  else if (body !== undefined) equal(body, {}, `${what}: body`);
}

async function all(list) {
  const items = [];
  for await (const item of list) items.push(item);
  return items;
}

function invoke(store, call, args, stored) {
  const [noun, verb] = call.split(".");
  const { params, id, deliveryId, body, idempotencyKey, ifMatch, month, hook, ...others } = args;
  const options = { ...(idempotencyKey && { idempotencyKey }), ...(ifMatch && { ifMatch }) };
  if (!["keys.rotate", "keys.rotateSelf", "keys.revoke", "webhooks.rotate"].includes(call)) known(others);
  switch (verb) {
    case "page":
      return store[noun].list(params).page();
    case "all":
      return all(store[noun].list(params));
    case "create":
      return store[noun].create(body, options);
    case "update":
      return store[noun].update(id, body, options);
    case "get":
      return id === undefined ? store[noun].get() : store[noun].get(id);
    case "list":
      return store[noun].list();
    case "report":
      return store[noun].report(month);
    case "delete":
    case "test":
      return store[noun][verb](id);
    case "deliveries":
      return store[noun].deliveries(id, params).page();
    case "retry":
      return store[noun].retry(id, deliveryId);
    case "replay":
      return store[noun].replay(id, body);
    case "rotate":
    case "revoke":
      return store[noun][verb](id, others);
    case "rotateSelf":
      known(others, "gracePeriod", "expiresAt");
      return store[noun].rotateSelf({
        ...others,
        store: async (key) => {
          if (hook === "fails") throw new Error(`could not store ${key}`);
          stored.push(key);
        },
      });
  }
  fail(`unknown call ${call}`);
}

/** A service that admits a number of requests a minute. */
class Service {
  #clock;
  #server;
  #made = new Map();
  #minute = -1;
  #used = 0;
  #lost;
  keys = {};
  refused = new Map();
  answers;

  constructor({
    limit,
    takes = 0,
    refusalTakes = takes,
    headers = true,
    answers = {},
    retryAfter,
    lost = [],
    ...others
  }) {
    known(others);
    this.#server = { limit, takes, refusalTakes, headers, retryAfter };
    this.answers = answers;
    this.#lost = new Set(lost);
  }

  /** From now on by another clock, which goes on where the last one stands. */
  fetch(clock) {
    this.#clock = clock;
    return async (url, init) => {
      const { limit, takes, refusalTakes } = this.#server;
      const now = clock.date();
      const minute = Math.floor(now / 60_000);
      if (minute !== this.#minute) [this.#minute, this.#used] = [minute, 0];
      if (this.#used >= limit) {
        this.refused.set(minute, (this.refused.get(minute) ?? 0) + 1);
        await clock.sleep(1000 * refusalTakes, init.signal);
        return this.#respond(429, { code: "rate_limit_exceeded" }, 60 * (minute + 1) - Math.floor(now / 1000));
      }
      this.#used++;
      const remaining = limit - this.#used;
      const pet = JSON.parse(init.body);
      const row = Number(pet.name.slice(4));
      const key = new Headers(init.headers).get("idempotency-key");
      this.keys[row] = key;
      const status = this.answers[row];
      const made = this.#made.get(key);
      if (!status && !made) this.#made.set(key, { id: row, ...pet, status: "available" });
      await clock.sleep(1000 * takes, init.signal);
      if (status === 429) return this.#respond(429, { code: "key_banned" }, this.#server.retryAfter, remaining);
      if (status) return this.#respond(status, { code: "some_code" }, undefined, remaining);
      if (this.#lost.delete(row)) throw new TypeError("fetch failed");
      return this.#respond(201, this.#made.get(key), undefined, remaining, made && { "Idempotent-Replayed": "true" });
    };
  }

  #respond(status, body, retryAfter, remaining = 0, headers = {}) {
    const { limit, headers: shown } = this.#server;
    if (retryAfter !== undefined) headers = { ...headers, "Retry-After": String(retryAfter) };
    if (shown) {
      headers = {
        ...headers,
        "X-Request-Id": "r1",
        "X-RateLimit-Limit": String(limit),
        "X-RateLimit-Remaining": String(remaining),
        "X-RateLimit-Reset": String(60 * (this.#minute + 1)),
      };
    }
    return respond({ status, headers, body: { message: "So it is.", status, ...body } }, this.#clock);
  }
}

async function importRows(api, vector, draw) {
  const { server, rows, concurrency, runs, source: first, idempotencyKeys = {}, ...others } = vector;
  known(others, "name");
  const service = new Service(server);
  const clock = new TestClock(draw);
  let source = first;
  let begun;
  for (const [index, run] of runs.entries()) {
    known(
      run,
      "source",
      "answers",
      "startedAt",
      "created",
      "replayed",
      "failed",
      "error",
      "refused",
      "seconds",
      "draws",
      "rests",
    );
    source = run.source ?? source;
    service.answers = run.answers ?? service.answers;
    service.refused.clear();
    clock.draws = 0;
    const store = new api.Petstore({ url: URL_, key: KEY, clock, fetch: service.fetch(clock) });
    const told = { created: 0, replayed: 0, failed: [] };
    const done = new Set();
    let startedAt = run.startedAt;
    if (typeof startedAt === "number") startedAt = new Date(clock.date() + 1000 * startedAt);
    if (startedAt === "first") startedAt = begun;
    const from = clock.now();
    let waitingRows = 0;
    const generated = (function* () {
      for (let i = 1; i <= rows; i++) {
        if (++waitingRows > concurrency) fail("more rows in memory than workers");
        yield { name: `Rex ${i}`, categoryId: 7 };
      }
    })();
    const onRow = async ({ row, status, pet, error, startedAt, firstUnfinished }) => {
      waitingRows--;
      begun ??= startedAt;
      done.add(row);
      if (status === "failed") told.failed.push(row);
      else told[status]++;
      if (status === "failed" ? !(error instanceof Error) : pet.name !== `Rex ${row}`)
        fail(`row ${row}: ${error} ${canonical(pet)}`);
      for (let i = 1; i < firstUnfinished; i++)
        if (!done.has(i)) fail(`row ${i} is unfinished, before ${firstUnfinished}`);
      if (run.rests?.[row]) await clock.sleep(1000 * run.rests[row]);
    };
    let error;
    try {
      await clock.run(store.pets.importAll(generated, { source, concurrency, startedAt, onRow }));
    } catch (caught) {
      error = caught;
    }
    const what = `run ${index + 1}`;
    if (run.error) {
      if (!error) fail(`${what}: no error`);
      checkError(api, error, run.error);
      for (let i = 1; i < error.firstUnfinished; i++) if (!done.has(i)) fail(`${what}: row ${i} was not told`);
    } else if (error) {
      throw error;
    }
    const { created, replayed, failed } = run;
    equal({ ...told, failed: told.failed.sort((a, b) => a - b) }, { created, replayed, failed }, what);
    const refused = Math.max(0, ...service.refused.values());
    if (run.refused !== undefined && refused > run.refused) fail(`${what}: ${refused} refusals in a minute`);
    if (run.draws !== undefined) equal(clock.draws, run.draws, `${what}: draws of chance`);
    const seconds = (clock.now() - from) / 1000;
    if (run.seconds && (seconds < run.seconds[0] || seconds > run.seconds[1])) fail(`${what}: ${seconds} s`);
  }
  matches(service.keys, idempotencyKeys, "idempotencyKeys");
}

async function importKey(api, vector) {
  const { source, row, rowKey, pet, idempotencyKey, ...others } = vector;
  known(others, "name", "bytes");
  const name = rowKey === undefined ? ["row", String(row)] : ["key", rowKey];
  equal(await api.rowIdempotencyKey(source, name, pet), idempotencyKey, "idempotencyKey");
}

async function makeClient(api, vector) {
  const { url, key, ok, ...others } = vector;
  known(others, "name");
  let error;
  try {
    new api.Petstore({ url, key });
  } catch (caught) {
    error = caught;
  }
  if (error) checkNoKey(error);
  equal(error === undefined, ok, `${error}`);
}

async function webhook(api, vector) {
  const { secrets, headers, body, now, tolerance, result, error, ...others } = vector;
  known(others, "name");
  const bytes = new TextEncoder().encode(body);
  let event;
  try {
    event = await api.verifyWebhook(secrets, headers, bytes, { now, ...(tolerance !== undefined && { tolerance }) });
  } catch (caught) {
    if (error) return;
    throw caught;
  }
  if (error) fail(`no error, but ${canonical(event)}`);
  matches(event, result, "event");
}
