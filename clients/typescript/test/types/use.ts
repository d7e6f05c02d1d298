// What a customer's program does, for the compilers of TypeScript in their modes.
import {
  AuthenticationError,
  ImportError,
  type ImportedRow,
  type NewPet,
  type Pet,
  Petstore,
  PetstoreError,
  RateLimitError,
  type WebhookEvent,
  verifyWebhook,
} from "petstore";

const store = new Petstore({ url: "https://api.example.com/v1", key: "pst_test_x", maxWait: 60 });
export const ofEnvironment: Petstore = Petstore.fromEnv({ userAgent: "acme/1" });

export async function use(signal: AbortSignal, rows: AsyncIterable<NewPet>): Promise<Pet[]> {
  const found: Pet[] = [];
  for await (const pet of store.pets.list({ status: "available", ids: [1, 2] }, { signal })) found.push(pet);
  const { items, nextCursor, etag } = await store.orders.list({ limit: 5 }).page();
  const next: string | undefined = nextCursor;
  if (items[0] && etag) await store.orders.update(items[0].id, { status: "approved" }, { ifMatch: etag });
  const options = {
    source: "animals.csv",
    concurrency: 8,
    onRow: (row: ImportedRow) => row.pet?.id ?? row.error,
    signal,
  };
  const { created, startedAt } = await store.pets.importAll(rows, options).catch((error: unknown) => {
    if (error instanceof ImportError) return { created: error.firstUnfinished, startedAt: error.startedAt };
    throw error;
  });
  await store.pets.importAll([{ name: "Rex", categoryId: created }], { source: "b", startedAt });
  await store.pets.importAll([{ name: "Rex", categoryId: 1, sku: "A1" }], {
    source: "c",
    rowKey: ({ sku }) => sku,
    onRow: ({ data }) => data.sku.length,
  });
  const key = await store.keys.rotateSelf({ store: (text) => void text.length, signal });
  const usage = await store.usage.get();
  const left: number = usage.windows.minute.remaining;
  await store.requests.get(next ?? `${left}${key.id}`);
  // @ts-expect-error An animal has a category.
  await store.pets.create({ name: "Rex" });
  // @ts-expect-error Nor is this a status that can be asked for.
  store.pets.list({ status: "asleep" });
  // @ts-expect-error The source is what makes a row's idempotency key.
  await store.pets.importAll([], {});
  return found;
}

export function explain(error: unknown): string {
  if (error instanceof RateLimitError) return `again in ${error.retryAfter ?? 0} s`;
  if (error instanceof AuthenticationError) return error.code ?? error.message;
  return error instanceof PetstoreError ? `${error.status} ${error.requestId}` : String(error);
}

export async function receive(request: Request): Promise<WebhookEvent> {
  return verifyWebhook(["whsec_a", "whsec_b"], request.headers, await request.arrayBuffer(), { tolerance: 60 });
}
