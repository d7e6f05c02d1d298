import { PetstoreError } from "./errors.js";
import type { Transport } from "./transport.js";
import type { NewPet, Pet } from "./types.js";

/** What became of a row. */
export type ImportedRow<Row extends NewPet = NewPet> = {
  /** Its number, from 1. */
  row: number;
  /** The row itself. */
  data: Row;
  /** When the import began: pass it to a further run. */
  startedAt: Date;
  /** Each row before this one has been told. A further run gets all rows again: their numbers must stay. */
  firstUnfinished: number;
} & Outcome;

type Outcome =
  { status: "created" | "replayed"; pet: Pet; error?: undefined } | { status: "failed"; pet?: undefined; error: Error };

/** How rows are imported. */
export interface ImportOptions<Row extends NewPet = NewPet> {
  /**
   * What the rows are called, such as the name of their file. It is part of each row's idempotency
   * key: whoever imports the same rows from the same source again, adds nothing twice for 24 hours.
   */
  source: string;
  /** How many rows are sent at the same time: 4. */
  concurrency?: number;
  /** A name of the row in place of its number, such as a SKU, so that rows may move. */
  rowKey?: (data: Row, row: number) => string;
  /**
   * When the first run began. The import then ends before it sends a row later than 23 h 55 min
   * after that, because the service forgets idempotency keys after 24 hours.
   */
  startedAt?: Date | string;
  /** Is told what became of each row, one at a time, and awaited. If it throws, the import ends. */
  onRow?: (row: ImportedRow<Row>) => unknown;
  /** Ends the import. */
  signal?: AbortSignal;
}

/** What became of all rows. */
export interface ImportResult {
  created: number;
  replayed: number;
  failed: number;
  startedAt: Date;
}

/** An import has ended before its last row. `cause` says why. */
export class ImportError extends PetstoreError {
  override readonly name = "ImportError";

  constructor(
    override readonly cause: unknown,
    /** Each row before this one has been told to `onRow`. */
    readonly firstUnfinished: number,
    /** When the import began: pass it to a further run. */
    readonly startedAt: Date,
  ) {
    super(
      `The import ended before row ${firstUnfinished}: ${cause instanceof Error ? cause.message : String(cause)}`,
      cause instanceof PetstoreError ? cause : {},
    );
  }
}

/** A service forgets an idempotency key after 24 hours: 23 h 55 min, in milliseconds. */
const longestRun = (23 * 60 + 55) * 60_000;

export async function importAll<Row extends NewPet>(
  transport: Transport,
  rows: Iterable<Row> | AsyncIterable<Row>,
  options: ImportOptions<Row>,
): Promise<ImportResult> {
  const { source, concurrency = 4, rowKey, onRow, signal } = options;
  if (!(concurrency >= 1)) throw new RangeError("concurrency must be at least 1");
  const startedAt = new Date(options.startedAt ?? transport.clock.date());
  const notAfter = options.startedAt === undefined ? undefined : startedAt.valueOf() + longestRun;
  if (Number.isNaN(notAfter)) throw new RangeError("startedAt must be a date");

  const result: ImportResult = { created: 0, replayed: 0, failed: 0, startedAt };
  const unfinished = new Set<number>();
  let next = 1;
  const firstUnfinished = () => Math.min(next, ...unfinished);
  let ended: { cause: unknown } | undefined;
  const end = (cause: unknown) => (ended ??= { cause });
  // One for each row under way: Node.js warns of more than ten listeners to one signal.
  const underWay = new Set<AbortController>();
  const endBySignal = () => {
    end(signal?.reason);
    for (const row of underWay) row.abort(signal?.reason);
  };
  if (signal?.aborted) endBySignal();
  signal?.addEventListener("abort", endBySignal);

  const iterator = Symbol.asyncIterator in rows ? rows[Symbol.asyncIterator]() : rows[Symbol.iterator]();
  const take = inTurn(async () => {
    if (ended) return undefined;
    const { done, value } = await iterator.next();
    if (done) return undefined;
    unfinished.add(next);
    return { row: next++, data: value as Row };
  });
  const tell = inTurn(async (row: number, data: Row, outcome: Outcome) => {
    result[outcome.status]++;
    unfinished.delete(row);
    const told = { row, data, startedAt, firstUnfinished: firstUnfinished(), ...outcome } as ImportedRow<Row>;
    unfinished.add(row);
    await onRow?.(told);
    unfinished.delete(row);
  });

  const add = async (row: number, data: Row): Promise<Outcome> => {
    const place: [string, string] = rowKey ? ["key", rowKey(data, row)] : ["row", String(row)];
    const idempotencyKey = await rowIdempotencyKey(source, place, data);
    const { name, categoryId, status } = data; // A row may have more.
    const abort = new AbortController();
    underWay.add(abort);
    if (signal?.aborted) endBySignal();
    const body = { name, categoryId, status };
    const call = { method: "POST", path: "pets", body, idempotencyKey, signal: abort.signal } as const;
    try {
      const { body, response } = await transport.send<Pet>({ ...call, ...(notAfter !== undefined && { notAfter }) });
      return { status: response.replayed ? "replayed" : "created", pet: body };
    } catch (error) {
      const isRows =
        error instanceof PetstoreError ? error.status === 400 || error.status === 422 : error instanceof RangeError;
      if (!isRows) throw error;
      return { status: "failed", error: error as Error };
    } finally {
      underWay.delete(abort);
    }
  };

  // When an error ends one worker, the others finish their rows and take no more.
  const work = async () => {
    try {
      for (let taken; (taken = await take());) {
        await tell(taken.row, taken.data, await add(taken.row, taken.data));
      }
    } catch (error) {
      end(error);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  signal?.removeEventListener("abort", endBySignal);
  if (!ended) return result;
  await Promise.resolve(iterator.return?.()).catch(() => {});
  throw new ImportError(ended.cause, firstUnfinished(), startedAt);
}

/** Makes a function whose calls wait for each other. */
function inTurn<A extends unknown[], R>(call: (...args: A) => Promise<R>): (...args: A) => Promise<R> {
  let last: Promise<unknown> = Promise.resolve();
  return (...args) => {
    const result = last.then(() => call(...args));
    last = result.catch(() => {});
    return result;
  };
}

/** The idempotency key of a row, which is the same in all languages: clients/testdata/README.md. */
export async function rowIdempotencyKey(source: string, name: [string, string], pet: NewPet): Promise<string> {
  const encoder = new TextEncoder();
  const texts = [source, ...name, String(pet.name), String(pet.categoryId), pet.status ?? ""];
  const bytes = encoder.encode(texts.map((text) => `${encoder.encode(text).length}:${text}`).join(""));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return btoa(String.fromCharCode(...digest)).replace(/[+/=]/g, (c) => ({ "+": "-", "/": "_" })[c] ?? "");
}
