// The flow with the client of hey-api.
import { createClient } from "./generated/hey-api/client/index.js";
import * as sdk from "./generated/hey-api/index.js";
import { environment, need, say, strong } from "./flow.js";

const clientOf = (key: string) => createClient({ baseUrl: environment.url, auth: key });
const client = clientOf(environment.key);

const rex = await sdk.createPet({ client, body: { name: "Rex", categoryId: 7 } });
say("add", rex.response?.status, rex.data?.name, rex.data?.categoryId, rex.data?.status);
const mia = await sdk.createPet({ client, body: { name: "Mia", categoryId: -8, status: "pending" } });
say("add with a status", mia.response?.status, mia.data?.name, mia.data?.categoryId, mia.data?.status);
const headers = { "Idempotency-Key": "row-17" };
const tom = await sdk.createPet({ client, headers, body: { name: "Tom", categoryId: 9, status: "sold" } });
say("add once", tom.response?.status, tom.data?.name, tom.response?.headers.has("Idempotent-Replayed"));
const again = await sdk.createPet({ client, headers, body: { name: "Tom", categoryId: 9, status: "sold" } });
say("add once again", again.response?.status, again.data?.id === tom.data?.id, again.response?.headers.get("Idempotent-Replayed"));

const first = await sdk.listPets({ client, query: { limit: 2 } });
say("list", first.response?.status, first.data?.map((p) => p.name));
const cursor = need(first.response?.headers.get("X-Next-Cursor"), "next page");
const last = await sdk.listPets({ client, query: { limit: 2, cursor } });
say("last page", last.response?.status, last.data?.map((p) => p.name), last.response?.headers.has("X-Next-Cursor"));
const etag = need(first.response?.headers.get("ETag"), "ETag");
const unchanged = await sdk.listPets({ client, query: { limit: 2 }, headers: { "If-None-Match": etag } });
say("list unchanged", unchanged.response?.status, unchanged.data?.length);
const pending = await sdk.listPets({ client, query: { status: "pending" } });
say("list pending", pending.response?.status, pending.data?.map((p) => p.name));

const ids = [need(mia.data, "animal").id, 4711];
const byId = await sdk.listPets({ client, query: { ids } });
say("list by ID", byId.response?.status, byId.data?.map((p) => p.name));
const byName = await sdk.listPets({ client, query: { name: "Re", categoryId: 7 } });
say("list by name", byName.response?.status, byName.data?.map((p) => p.name));

const petId = need(rex.data, "animal").id;
const got = await sdk.getPet({ client, path: { petId } });
say("get", got.response?.status, got.data?.name, got.response?.headers.get("Deprecation"));
const path = { petId: need(mia.data, "animal").id };
const match = { "If-Match": strong(need(mia.response, "response").headers) };
const changed = await sdk.updatePet({ client, path, headers: match, body: { categoryId: 10 } });
say("change", changed.response?.status, changed.data?.name, changed.data?.categoryId, changed.data?.status);

const order = await sdk.placeOrder({ client, body: { petId, quantity: 1 } });
say("order", order.response?.status, order.data?.petId === petId, order.data?.quantity, order.data?.status);
const orderId = need(order.data, "order").id;
const approved = await sdk.updateOrder({ client, path: { orderId }, body: { status: "approved" } });
say("approve", approved.response?.status, approved.data?.status);
const one = await sdk.getOrder({ client, path: { orderId } });
say("get order", one.response?.status, one.data?.status);
const orders = await sdk.listOrders({ client, query: { status: "approved" } });
say("orders", orders.response?.status, orders.data?.length, orders.data?.[0]?.id === orderId);
const usage = await sdk.getUsage({ client });
say("usage", usage.response?.status, usage.data?.plan, usage.data?.windows.day.limit, usage.data?.nextChange === null);

const wrong = await sdk.listPets({ client: clientOf("pst_live_wrong") });
say("wrong key", wrong.response?.status, wrong.error?.code);
const unknown = await sdk.getPet({ client, path: { petId: 4711 } });
say("unknown animal", unknown.response?.status, unknown.error?.code);
const taken = await sdk.placeOrder({ client, body: { petId } });
say("animal taken", taken.response?.status, taken.error?.code);
const stale = await sdk.updatePet({ client, path, headers: match, body: { name: "Max" } });
say("changed meanwhile", stale.response?.status, stale.error?.code);
const reused = await sdk.createPet({ client, headers, body: { name: "Max", categoryId: 9 } });
say("key reused", reused.response?.status, reused.error?.code);
const slow = clientOf(environment.slowKey);
let limited = await sdk.listPets({ client: slow });
while (limited.data) limited = await sdk.listPets({ client: slow });
say("limited", limited.response?.status, limited.error?.code, Number(limited.response?.headers.get("Retry-After")) > 0);
