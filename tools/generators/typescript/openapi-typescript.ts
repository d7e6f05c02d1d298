// The flow with openapi-fetch and the types of openapi-typescript.
import createClient from "openapi-fetch";
import type { paths } from "./generated/openapi-typescript.js";
import { bearer, environment, need, say, strong } from "./flow.js";

const clientOf = (key: string) => createClient<paths>({ baseUrl: environment.url, headers: bearer(key) });
const api = clientOf(environment.key);

const rex = await api.POST("/pets", { body: { name: "Rex", categoryId: 7 } });
say("add", rex.response.status, rex.data?.name, rex.data?.categoryId, rex.data?.status);
const mia = await api.POST("/pets", { body: { name: "Mia", categoryId: -8, status: "pending" } });
say("add with a status", mia.response.status, mia.data?.name, mia.data?.categoryId, mia.data?.status);
const once = { params: { header: { "Idempotency-Key": "row-17" } }, body: { name: "Tom", categoryId: 9, status: "sold" } } as const;
const tom = await api.POST("/pets", once);
say("add once", tom.response.status, tom.data?.name, tom.response.headers.has("Idempotent-Replayed"));
const again = await api.POST("/pets", once);
say("add once again", again.response.status, again.data?.id === tom.data?.id, again.response.headers.get("Idempotent-Replayed"));

const first = await api.GET("/pets", { params: { query: { limit: 2 } } });
say("list", first.response.status, first.data?.map((p) => p.name));
const cursor = need(first.response.headers.get("X-Next-Cursor"), "next page");
const last = await api.GET("/pets", { params: { query: { limit: 2, cursor } } });
say("last page", last.response.status, last.data?.map((p) => p.name), last.response.headers.has("X-Next-Cursor"));
const etag = need(first.response.headers.get("ETag"), "ETag");
const unchanged = await api.GET("/pets", { params: { query: { limit: 2 }, header: { "If-None-Match": etag } } });
say("list unchanged", unchanged.response.status, unchanged.data?.length);
const pending = await api.GET("/pets", { params: { query: { status: "pending" } } });
say("list pending", pending.response.status, pending.data?.map((p) => p.name));

const ids = [need(mia.data, "animal").id, 4711];
const byId = await api.GET("/pets", { params: { query: { ids } } });
say("list by ID", byId.response.status, byId.data?.map((p) => p.name));
const byName = await api.GET("/pets", { params: { query: { name: "Re", categoryId: 7 } } });
say("list by name", byName.response.status, byName.data?.map((p) => p.name));

const rexId = need(rex.data, "animal").id;
const got = await api.GET("/pets/{petId}", { params: { path: { petId: rexId } } });
say("get", got.response.status, got.data?.name, got.response.headers.get("Deprecation"));
const path = { petId: need(mia.data, "animal").id };
const header = { "If-Match": strong(mia.response.headers) };
const changed = await api.PATCH("/pets/{petId}", { params: { path, header }, body: { categoryId: 10 } });
say("change", changed.response.status, changed.data?.name, changed.data?.categoryId, changed.data?.status);

const order = await api.POST("/store/orders", { body: { petId: rexId, quantity: 1 } });
say("order", order.response.status, order.data?.petId === rexId, order.data?.quantity, order.data?.status);
const orderId = need(order.data, "order").id;
const approved = await api.PATCH("/store/orders/{orderId}", { params: { path: { orderId } }, body: { status: "approved" } });
say("approve", approved.response.status, approved.data?.status);
const one = await api.GET("/store/orders/{orderId}", { params: { path: { orderId } } });
say("get order", one.response.status, one.data?.status);
const orders = await api.GET("/store/orders", { params: { query: { status: "approved" } } });
say("orders", orders.response.status, orders.data?.length, orders.data?.[0]?.id === orderId);
const usage = await api.GET("/usage");
say("usage", usage.response.status, usage.data?.plan, usage.data?.windows.day.limit, usage.data?.nextChange === null);

const wrong = await clientOf("pst_live_wrong").GET("/pets");
say("wrong key", wrong.response.status, wrong.error?.code);
const unknown = await api.GET("/pets/{petId}", { params: { path: { petId: 4711 } } });
say("unknown animal", unknown.response.status, unknown.error?.code);
const taken = await api.POST("/store/orders", { body: { petId: rexId } });
say("animal taken", taken.response.status, taken.error?.code);
const stale = await api.PATCH("/pets/{petId}", { params: { path, header }, body: { name: "Max" } });
say("changed meanwhile", stale.response.status, stale.error?.code);
const reused = await api.POST("/pets", { ...once, body: { name: "Max", categoryId: 9 } });
say("key reused", reused.response.status, reused.error?.code);
const slow = clientOf(environment.slowKey);
let limited = await slow.GET("/pets");
while (limited.response.ok) limited = await slow.GET("/pets");
say("limited", limited.response.status, limited.error?.code, Number(limited.response.headers.get("Retry-After")) > 0);
