import { List } from "./pages.js";
import type { CallOptions, Transport } from "./transport.js";
import type { ExplainedRequest, FailedRequest, ListRequests, Plan, Usage, UsageMonth } from "./types.js";

/** Your limits and your usage. */
export class UsageReports {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Gets the state of your limits and this month's usage. It is not counted, and waits for no limit. */
  async get(options: CallOptions = {}): Promise<Usage> {
    return (await this.#transport.send<Usage>({ ...options, method: "GET", path: "usage", free: true })).body;
  }

  /** Gets what was recorded in a month, such as "2026-11", by day and key. It counts as one request. */
  async report(month: string, options: CallOptions = {}): Promise<UsageMonth> {
    const query = { month, by: "key" };
    return (await this.#transport.send<Usage>({ ...options, method: "GET", path: "usage", query })).body.month;
  }
}

/** The plans that are sold. */
export class Plans {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  async list(options: CallOptions = {}): Promise<Plan[]> {
    return (await this.#transport.send<Plan[]>({ ...options, method: "GET", path: "plans", free: true })).body;
  }
}

/** Your requests that failed in the last day. They are not counted. */
export class FailedRequests {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Lists failed requests, the newest first. */
  list(query: ListRequests = {}, options: CallOptions = {}): List<FailedRequest> {
    return new List(this.#transport, { path: "requests", free: true }, query, options);
  }

  /** Explains a failed request, by the `requestId` of an error. */
  async get(id: string, options: CallOptions = {}): Promise<ExplainedRequest> {
    const path = `requests/${encodeURIComponent(id)}`;
    return (await this.#transport.send<ExplainedRequest>({ ...options, method: "GET", path, free: true })).body;
  }
}
