import { type Clock, systemClock } from "./clock.js";
import { ConnectionError, type ErrorDetails, PetstoreError, RateLimitError, TimeoutError, classOf } from "./errors.js";
import { exhaustedFor, link, retryAfter } from "./headers.js";
import { checkExact, exact } from "./numbers.js";
import { Pause, backoff, jittered } from "./pause.js";

/** How a client is made. */
export interface Options {
  /** The address of the API, which ends in /v1. Plain http is for this machine only. */
  url: string;
  /** The API key. Whoever can read a page or an app can read a key in it: keep it on servers. */
  key: string;
  /** How often a call is repeated: 3. Waiting for a reset is no repetition. With 0 no call waits. */
  maxRetries?: number;
  /** The longest wait for a reset, in seconds: 90. A longer one is an error at once. */
  maxWait?: number;
  /** How long a call may take with all its waits, in seconds: 600. */
  timeout?: number;
  /** Your program, such as "acme-sync/2.1", for User-Agent. Browsers send their own. */
  userAgent?: string;
  /** Gets each warning, once. Without it they go to console.warn. */
  onWarning?: (warning: Warning) => void;
  /** Sends the requests: the global fetch by default. */
  fetch?: typeof fetch;
  /** @internal */
  clock?: Clock;
  /** @internal What runs the program, for User-Agent. */
  runtime?: string;
}

/** A header of a response that somebody should know of. */
export interface Warning {
  header: string;
  value: string;
  message: string;
}

/** What every call takes. */
export interface CallOptions {
  /** Ends the call, and each of its waits. */
  signal?: AbortSignal;
  /** Instead of the client's timeout, in seconds. */
  timeout?: number;
  /** Gets what each response says besides its body. */
  onResponse?: (response: ResponseInfo) => void;
}

/** What a POST takes. */
export interface PostOptions extends CallOptions {
  /** The same key within 24 hours takes effect once. Without it each call has its own, for its retries. */
  idempotencyKey?: string;
}

/** What a PATCH takes. */
export interface PatchOptions extends CallOptions {
  /** Change it only if this is still its ETag; else a ConflictError. */
  ifMatch?: string;
}

/** A response without its body. */
export interface ResponseInfo {
  status: number;
  headers: Headers;
  requestId: string | undefined;
  /** For `ifMatch`. */
  etag: string | undefined;
  /** It repeats that to an earlier request with the same idempotency key. */
  replayed: boolean;
}

/** One operation with its arguments. */
export interface Call extends CallOptions {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  path: string;
  query?: object;
  body?: object;
  idempotencyKey?: string;
  ifMatch?: string;
  /** It is not counted, and waits for no limit of others. */
  free?: boolean;
  /** The last instant to send it at, as Unix time in milliseconds. */
  notAfter?: number;
}

/** A response with its JSON. */
export interface Answer<T> {
  body: T;
  response: ResponseInfo;
}

export const version = "1.0.0";

/** How long one request may take, in milliseconds. */
const attemptTimeout = 30_000;

/** Sends calls with one key, waits and repeats. */
export class Transport {
  readonly clock: Clock;
  readonly #url: string;
  #key: string;
  readonly #maxRetries: number;
  readonly #maxWait: number;
  readonly #timeout: number;
  readonly #fetch: typeof fetch;
  readonly #userAgent: string | undefined;
  readonly #onWarning: (warning: Warning) => void;
  readonly #warned = new Set<string>();
  readonly #pause: Pause;

  constructor(options: Options) {
    this.#url = checkedUrl(options.url);
    this.#key = checkedKey(options.key);
    this.clock = options.clock ?? systemClock;
    this.#maxRetries = options.maxRetries ?? 3;
    this.#maxWait = options.maxWait ?? 90;
    this.#timeout = options.timeout ?? 600;
    // A browser's fetch must be called without a receiver.
    this.#fetch = options.fetch ?? ((input, init) => fetch(input, init));
    const { runtime, userAgent } = options;
    if (runtime) this.#userAgent = `${userAgent ? `${userAgent} ` : ""}petstore-typescript/${version} ${runtime}`;
    this.#onWarning = options.onWarning ?? (({ message }) => console.warn(`petstore: ${message}`));
    this.#pause = new Pause(this.clock, this.#maxWait);
  }

  /** From now on calls are sent with another key. */
  useKey(key: string): void {
    this.#key = checkedKey(key);
  }

  /** Makes a call, and returns its JSON and what else its response says. */
  async send<T>(call: Call): Promise<Answer<T>> {
    const request = this.#request(call);
    const deadline = this.clock.now() + 1000 * (call.timeout ?? this.#timeout);
    let last: PetstoreError | undefined;
    for (let failures = 0; ;) {
      await this.#turn(call, deadline, last);
      if (call.notAfter !== undefined && this.clock.date() > call.notAfter) {
        throw new PetstoreError(
          "The import began more than 23 h 55 min ago, so rows could be added twice: look for animals that were " +
            "added and not told to onRow, then run it without startedAt.",
        );
      }
      try {
        return await this.#attempt<T>(call, request, deadline);
      } catch (error) {
        if (!(error instanceof PetstoreError)) throw error;
        last = error;
      }
      const { retryAfter } = last;
      const isReset = last.status === 429 && retryAfter !== undefined;
      // Calls that are not counted have a limit of their own; a ban holds for all.
      const isShared = isReset && (!call.free || last.code === "key_banned");
      if (isShared) this.#pause.begin(retryAfter, last.code);
      // Waiting for a reset is no repetition.
      if (this.#maxRetries === 0 || !isTransient(last, call) || (!isReset && ++failures > this.#maxRetries)) throw last;
      if ((retryAfter ?? 0) > this.#maxWait) throw last;
      if (isShared && !call.free) continue;
      await this.#wait(
        retryAfter ? jittered(retryAfter, this.clock) : backoff(failures, this.clock),
        deadline,
        call,
        last,
      );
    }
  }

  /** Waits for the end of the pause. */
  async #turn(call: Call, deadline: number, last: PetstoreError | undefined): Promise<void> {
    while (!call.free && this.#maxRetries > 0 && this.#pause.left > 0) {
      const retryAfter = this.#pause.tooLong;
      if (retryAfter) {
        const { code } = this.#pause;
        throw (
          last ??
          new RateLimitError(`Not sent: the limit resets in ${retryAfter} s.`, { status: 429, code, retryAfter })
        );
      }
      await this.#wait(this.#pause.left, deadline, call, last);
    }
  }

  /** Waits, unless the call would end first: then it ends at once. */
  async #wait(ms: number, deadline: number, call: Call, last: PetstoreError | undefined): Promise<void> {
    if (this.clock.now() + ms >= deadline) {
      throw last ?? new TimeoutError("Not sent: the limit resets after the timeout of the call.");
    }
    await this.clock.sleep(ms, call.signal);
  }

  /** What all attempts of a call send. */
  #request(call: Call): { url: string; init: RequestInit } {
    const { method, body } = call;
    const headers: Record<string, string> = { Accept: "application/json" };
    if (this.#userAgent) headers["User-Agent"] = this.#userAgent;
    if (method === "POST")
      headers["Idempotency-Key"] = visible("idempotencyKey", call.idempotencyKey ?? crypto.randomUUID());
    // A proxy that compresses makes an ETag weak, and a weak one never matches.
    if (call.ifMatch !== undefined) headers["If-Match"] = visible("ifMatch", call.ifMatch.replace(/^W\//, ""));
    const init: RequestInit = { method, headers, redirect: "manual" };
    if (body !== undefined) {
      checkExact(body);
      headers["Content-Type"] = "application/json";
      init.body = JSON.stringify(body);
    }
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(call.query ?? {})) {
      if (typeof value === "number" || Array.isArray(value)) exact(name, value);
      if (value !== undefined) query.set(name, String(value));
    }
    const text = query.toString();
    return { url: `${this.#url}/${call.path}${text && `?${text}`}`, init };
  }

  async #attempt<T>(
    call: Call,
    { url, init }: { url: string; init: RequestInit },
    deadline: number,
  ): Promise<Answer<T>> {
    const { signal } = call;
    signal?.throwIfAborted();
    const key = this.#key;
    const headers = { ...(init.headers as Record<string, string>), Authorization: `Bearer ${key}` };
    const ended = new AbortController();
    const end = () => ended.abort();
    signal?.addEventListener("abort", end);
    const done = new AbortController();
    let late = false;
    const timer = this.clock.sleep(Math.min(attemptTimeout, deadline - this.clock.now()), done.signal);
    timer.then(
      () => {
        late = true;
        end();
      },
      () => {},
    );
    let response: Response;
    let text: string;
    try {
      response = await this.#fetch(url, { ...init, headers, signal: ended.signal });
      text = await response.text();
    } catch (error) {
      signal?.throwIfAborted();
      if (late) throw new TimeoutError("No response in time.");
      throw new ConnectionError(redact(`No response: ${reasonOf(error)}`, key));
    } finally {
      done.abort();
      signal?.removeEventListener("abort", end);
    }
    return this.#read<T>(call, response, text, key);
  }

  #read<T>(call: Call, { status, ok, headers }: Response, text: string, key: string): Answer<T> {
    const response: ResponseInfo = {
      status,
      headers,
      requestId: headers.get("x-request-id") ?? undefined,
      etag: headers.get("etag") ?? undefined,
      replayed: headers.get("idempotent-replayed") === "true",
    };
    this.#warn(call, headers);
    call.onResponse?.(response);
    let body: unknown;
    try {
      body = status === 204 ? null : JSON.parse(text);
    } catch {
      // It is not the API's.
    }
    if (!ok || body === undefined) throw this.#error(status, headers, text, body, key);
    if (!call.free) this.#pause.begin(exhaustedFor(headers, this.clock));
    checkExact(body);
    return { body: body as T, response };
  }

  #error(status: number, headers: Headers, text: string, body: unknown, key: string): PetstoreError {
    const details: ErrorDetails = {
      status: status || undefined,
      requestId: redact(headers.get("x-request-id") ?? "", key) || undefined,
      retryAfter: retryAfter(headers, this.clock),
    };
    const help = link(headers, "help");
    if (help && URL.canParse(help, this.#url)) details.docUrl = redact(new URL(help, this.#url).href, key);
    const { code, message } = (body ?? {}) as { code?: unknown; message?: unknown };
    if (typeof code === "string") {
      details.code = redact(code, key);
      if (code.startsWith("key_already_")) details.keyId = /key_[0-9A-Za-z]+/.exec(String(message))?.[0];
      return new (classOf(status))(redact(String(message), key), details);
    }
    // A browser hides the status of a redirect.
    const isRedirect = status < 400 && (status >= 300 || status === 0);
    const page = isRedirect ? "It is a redirect, which is not followed: check the URL." : redact(text, key);
    const short = [...page.replace(/\s+/g, " ").trim()].slice(0, 200).join("");
    return new (classOf(status))(short || `HTTP ${status}`, details);
  }

  #warn(call: Call, headers: Headers): void {
    const expiry = headers.get("x-key-expires");
    const at = new Date(1000 * Number(expiry));
    const sunset = headers.get("sunset");
    const warnings: [string, string][] = [
      [
        "X-Key-Expires",
        `The API key expires at ${Number.isNaN(at.valueOf()) ? expiry : at.toISOString()}. ` +
          "Only a key with the scope manage can set a later expiresAt.",
      ],
      ["Deprecation", `${call.method} /${call.path} is deprecated${sunset ? ` and ends at ${sunset}` : ""}.`],
      ["X-Ignored-Parameters", `${call.method} /${call.path} ignores ${headers.get("x-ignored-parameters")}.`],
    ];
    for (const [header, message] of warnings) {
      const value = headers.get(header);
      if (value === null || this.#warned.has(header + value)) continue;
      this.#warned.add(header + value);
      this.#onWarning({ header, value, message: redact(message, this.#key) });
    }
  }
}

/** Whether the outcome is unknown: the API says so, or a proxy has answered, or nobody. */
export function isUnknown(error: PetstoreError): boolean {
  const { status = 0, code, requestId } = error;
  return (
    error instanceof ConnectionError || code === "outcome_unknown" || (status >= 502 && status <= 504 && !requestId)
  );
}

/** Whether the call may succeed if it is repeated, and has no second effect. */
function isTransient(error: PetstoreError, { method, path }: Call): boolean {
  const { status, code } = error;
  if (isUnknown(error)) return method === "GET" || (method === "POST" && (path === "pets" || path === "store/orders"));
  return status === 429 || status === 503 || code === "idempotency_in_progress";
}

function redact(text: string, key: string): string {
  return text.replaceAll(key, "[redacted]");
}

function reasonOf(error: unknown): string {
  const { cause, message } = error as { cause?: { message?: string }; message?: string };
  return cause?.message || message || String(error);
}

function visible(what: string, text: string): string {
  if (/^[!-~]{1,255}$/.test(text)) return text;
  throw new TypeError(`${what} must be 1 to 255 visible ASCII characters`);
}

function checkedKey(key: string): string {
  if (/^[!-~]+$/.test(key)) return key;
  throw new TypeError("key must be visible ASCII characters: is there a blank or a line break around it?");
}

/** Its errors do not quote the address, which is the key if the two were mixed up. */
function checkedUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:\/\/[^/]/i.test(text) || url.username || url.password || url.search || url.hash) {
    throw new TypeError("url must be an address, as in https://api.example.com/v1");
  }
  if (url.protocol === "http:" && !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname)) {
    throw new TypeError("url must begin with https: plain http is for this machine only");
  }
  const path = url.pathname.replace(/\/+$/, "");
  if (!path.endsWith("/v1")) throw new TypeError("url must end in /v1");
  return url.origin + path;
}
