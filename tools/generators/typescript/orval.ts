// The flow with the client of orval, whose requests request.ts sends.
import { createPet, getOrder, getPet, getUsage, listOrders, listPets, placeOrder, updateOrder, updatePet } from "./generated/orval.js";
import { bearer, environment, need, say, strong } from "./flow.js";

const me = { headers: bearer(environment.key) };

const rex = await createPet({ name: "Rex", categoryId: 7 }, undefined, me);
if (rex.status !== 201) throw new Error(rex.data?.message);
say("add", rex.status, rex.data.name, rex.data.categoryId, rex.data.status);
const mia = await createPet({ name: "Mia", categoryId: -8, status: "pending" }, undefined, me);
if (mia.status !== 201) throw new Error(mia.data?.message);
say("add with a status", mia.status, mia.data.name, mia.data.categoryId, mia.data.status);
const once = { "Idempotency-Key": "row-17" };
const tom = await createPet({ name: "Tom", categoryId: 9, status: "sold" }, once, me);
if (tom.status !== 201) throw new Error(tom.data?.message);
say("add once", tom.status, tom.data.name, tom.headers.has("Idempotent-Replayed"));
const again = await createPet({ name: "Tom", categoryId: 9, status: "sold" }, once, me);
say("add once again", again.status, again.status === 201 && again.data.id === tom.data.id, again.headers.get("Idempotent-Replayed"));

const first = await listPets({ limit: 2 }, undefined, me);
say("list", first.status, first.status === 200 && first.data.map((p) => p.name));
const cursor = need(first.headers.get("X-Next-Cursor"), "next page");
const last = await listPets({ limit: 2, cursor }, undefined, me);
say("last page", last.status, last.status === 200 && last.data.map((p) => p.name), last.headers.has("X-Next-Cursor"));
const unchanged = await listPets({ limit: 2 }, { "If-None-Match": need(first.headers.get("ETag"), "ETag") }, me);
say("list unchanged", unchanged.status, unchanged.status === 304 ? unchanged.data : "?");
const pending = await listPets({ status: "pending" }, undefined, me);
say("list pending", pending.status, pending.status === 200 && pending.data.map((p) => p.name));

const ids = [mia.data.id, 4711];
const byId = await listPets({ ids }, undefined, me);
say("list by ID", byId.status, byId.status === 200 && byId.data.map((p) => p.name));
const byName = await listPets({ name: "Re", categoryId: 7 }, undefined, me);
say("list by name", byName.status, byName.status === 200 && byName.data.map((p) => p.name));

const got = await getPet(rex.data.id, undefined, me);
say("get", got.status, got.status === 200 && got.data.name, got.headers.get("Deprecation"));
const match = { "If-Match": strong(mia.headers) };
const changed = await updatePet(mia.data.id, { categoryId: 10 }, match, me);
if (changed.status !== 200) throw new Error(changed.data?.message);
say("change", changed.status, changed.data.name, changed.data.categoryId, changed.data.status);

const order = await placeOrder({ petId: rex.data.id, quantity: 1 }, undefined, me);
if (order.status !== 201) throw new Error(order.data?.message);
say("order", order.status, order.data.petId === rex.data.id, order.data.quantity, order.data.status);
const approved = await updateOrder(order.data.id, { status: "approved" }, undefined, me);
say("approve", approved.status, approved.status === 200 && approved.data.status);
const one = await getOrder(order.data.id, undefined, me);
say("get order", one.status, one.status === 200 && one.data.status);
const orders = await listOrders({ status: "approved" }, undefined, me);
if (orders.status !== 200) throw new Error(`status ${orders.status}`);
say("orders", orders.status, orders.data.length, orders.data[0]?.id === order.data.id);
const usage = await getUsage(undefined, undefined, me);
if (usage.status !== 200) throw new Error(usage.data?.message);
say("usage", usage.status, usage.data.plan, usage.data.windows.day.limit, usage.data.nextChange === null);

const wrong = await listPets(undefined, undefined, { headers: bearer("pst_live_wrong") });
say("wrong key", wrong.status, wrong.status === 401 && wrong.data.code);
const unknown = await getPet(4711, undefined, me);
say("unknown animal", unknown.status, unknown.status === 404 && unknown.data.code);
const taken = await placeOrder({ petId: rex.data.id }, undefined, me);
say("animal taken", taken.status, taken.status === 409 && taken.data.code);
const stale = await updatePet(mia.data.id, { name: "Max" }, match, me);
say("changed meanwhile", stale.status, stale.status === 412 && stale.data.code);
const reused = await createPet({ name: "Max", categoryId: 9 }, once, me);
say("key reused", reused.status, reused.status === 422 && reused.data.code);
const slow = { headers: bearer(environment.slowKey) };
let limited = await listPets(undefined, undefined, slow);
while (limited.status === 200) limited = await listPets(undefined, undefined, slow);
say("limited", limited.status, limited.status === 429 && limited.data.code, Number(limited.headers.get("Retry-After")) > 0);
