import { exact } from "./numbers.js";
import { List } from "./pages.js";
import type { Call, CallOptions, PatchOptions, PostOptions, Transport } from "./transport.js";
import type {
  ListWebhookDeliveries,
  NewWebhook,
  Webhook,
  WebhookChange,
  WebhookDelivery,
  WebhookReplay,
  WebhookReplayed,
  WebhookRotation,
} from "./types.js";

/** Where your events are sent. They need a key with the scope `manage`, and are not counted. */
export class Webhooks {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Lists all webhooks, the newest first. */
  list(options: CallOptions = {}): Promise<Webhook[]> {
    return this.#call({ ...options, method: "GET", path: "webhooks" });
  }

  get(id: number, options: CallOptions = {}): Promise<Webhook> {
    return this.#call({ ...options, method: "GET", path: path(id) });
  }

  /** Adds a webhook; `secret` is there this once. If the response is lost, it may be there: rotate its secret. */
  create(webhook: NewWebhook, options: PostOptions = {}): Promise<Webhook> {
    return this.#call({ ...options, method: "POST", path: "webhooks", body: webhook });
  }

  update(id: number, patch: WebhookChange, options: PatchOptions = {}): Promise<Webhook> {
    return this.#call({ ...options, method: "PATCH", path: path(id), body: patch });
  }

  /** Removes a webhook with what waits for it. */
  async delete(id: number, options: CallOptions = {}): Promise<void> {
    await this.#call({ ...options, method: "DELETE", path: path(id) });
  }

  /** Makes another secret, which is there this once. Earlier ones sign too for `gracePeriod` seconds, a day by default. */
  rotate(id: number, rotation: WebhookRotation = {}, options: CallOptions = {}): Promise<Webhook> {
    return this.#call({ ...options, method: "POST", path: `${path(id)}/rotate`, body: rotation });
  }

  /** Sends a `ping`, and returns its delivery. */
  test(id: number, options: CallOptions = {}): Promise<WebhookDelivery> {
    return this.#call({ ...options, method: "POST", path: `${path(id)}/test` });
  }

  /** Lists what was sent to a webhook, the newest first. */
  deliveries(id: number, query: ListWebhookDeliveries = {}, options: CallOptions = {}): List<WebhookDelivery> {
    return new List(this.#transport, { path: `${path(id)}/deliveries`, free: true }, query, options);
  }

  /** Sends the event of a delivery now. */
  retry(id: number, deliveryId: number, options: CallOptions = {}): Promise<WebhookDelivery> {
    exact("deliveryId", deliveryId);
    return this.#call({ ...options, method: "POST", path: `${path(id)}/deliveries/${deliveryId}/retry` });
  }

  /** Sends events once more: by default those of the last 30 days that were not delivered. */
  replay(id: number, replay: WebhookReplay = {}, options: CallOptions = {}): Promise<WebhookReplayed> {
    return this.#call({ ...options, method: "POST", path: `${path(id)}/replay`, body: replay });
  }

  async #call<T>(call: Call): Promise<T> {
    const { body } = await this.#transport.send<T>({ ...call, free: true });
    // No log of the object shows the secret.
    if (body && Object.hasOwn(body, "secret")) Object.defineProperty(body, "secret", { enumerable: false });
    return body;
  }
}

function path(id: number): string {
  exact("id", id);
  return `webhooks/${encodeURIComponent(id)}`;
}
