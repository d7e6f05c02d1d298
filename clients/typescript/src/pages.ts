import { PetstoreError } from "./errors.js";
import { nextCursor } from "./headers.js";
import type { Call, CallOptions, Transport } from "./transport.js";

/** One page of a list. */
export interface Page<T> {
  items: T[];
  /** The `cursor` of the next page; undefined on the last one. */
  nextCursor: string | undefined;
  /** That of the item, if the list has one item only, for `ifMatch`. */
  etag: string | undefined;
}

/** A list, which is fetched page by page while you iterate, or one page of it. */
export class List<T> implements AsyncIterable<T> {
  readonly #transport: Transport;
  readonly #call: Omit<Call, "method">;
  readonly #query: { limit?: number; cursor?: string };

  /** @internal */
  constructor(transport: Transport, call: Omit<Call, "method" | "query">, query: object, options: CallOptions) {
    this.#transport = transport;
    this.#call = { ...call, ...options };
    this.#query = query;
  }

  /** Fetches one page, of 20 items unless `limit` says otherwise. */
  page(): Promise<Page<T>> {
    return this.#page(this.#query);
  }

  /** Goes through all pages, which are of 100 items unless `limit` says otherwise. */
  async *pages(): AsyncGenerator<Page<T>, void, undefined> {
    for (let { cursor } = this.#query; ;) {
      const page = await this.#page({ limit: 100, ...this.#query, ...(cursor && { cursor }) });
      yield page;
      if (!page.nextCursor) return;
      if (page.nextCursor === cursor) throw new PetstoreError("the next page is the same page");
      cursor = page.nextCursor;
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const page of this.pages()) yield* page.items;
  }

  async #page(query: object): Promise<Page<T>> {
    const { body, response } = await this.#transport.send<T[]>({ ...this.#call, method: "GET", query });
    return { items: body, nextCursor: nextCursor(response.headers), etag: response.etag };
  }
}
