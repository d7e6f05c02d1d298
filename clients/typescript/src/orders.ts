import { exact } from "./numbers.js";
import { List } from "./pages.js";
import type { CallOptions, PatchOptions, PostOptions, Transport } from "./transport.js";
import type { ListOrders, NewOrder, Order, OrderChange } from "./types.js";

/** The orders for your animals. */
export class Orders {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Lists orders in the order of their IDs. */
  list(query: ListOrders = {}, options: CallOptions = {}): List<Order> {
    return new List(this.#transport, { path: "store/orders" }, query, options);
  }

  async get(id: number, options: CallOptions = {}): Promise<Order> {
    return (await this.#transport.send<Order>({ ...options, method: "GET", path: path(id) })).body;
  }

  /** Orders an available animal, once however often the request is repeated. */
  async create(order: NewOrder, options: PostOptions = {}): Promise<Order> {
    const call = { ...options, method: "POST", path: "store/orders", body: order } as const;
    return (await this.#transport.send<Order>(call)).body;
  }

  /** Changes the status of an order. After a ConnectionError or `outcome_unknown` it may be changed: read it again. */
  async update(id: number, patch: OrderChange, options: PatchOptions = {}): Promise<Order> {
    return (await this.#transport.send<Order>({ ...options, method: "PATCH", path: path(id), body: patch })).body;
  }
}

function path(id: number): string {
  exact("id", id);
  return `store/orders/${encodeURIComponent(id)}`;
}
