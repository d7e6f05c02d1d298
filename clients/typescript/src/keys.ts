import { PetstoreError } from "./errors.js";
import { List } from "./pages.js";
import {
  type Call,
  type CallOptions,
  type PatchOptions,
  type PostOptions,
  type Transport,
  isUnknown,
} from "./transport.js";
import type { Key, KeyChange, KeyRevocation, KeyRotation, ListKeys, NewKey } from "./types.js";

/** How a key rotates itself. */
export interface SelfRotation extends CallOptions {
  /** Stores the new key. Until it returns, the client uses the old one. */
  store: (key: string, issued: Key) => unknown;
  /** For how many seconds the old key stays valid, at least 3600. Needs the scope `manage`. */
  gracePeriod?: number;
  /** When the new key expires, null for never. Needs the scope `manage`. */
  expiresAt?: string | null;
}

/** The API keys of your account. All but those on "self" need the scope `manage`. They are not counted. */
export class Keys {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Lists keys, the newest first. */
  list(query: ListKeys = {}, options: CallOptions = {}): List<Key> {
    return new List(this.#transport, { path: "keys", free: true }, query, options);
  }

  /** Gets a key; "self" is the client's own. */
  get(id: string, options: CallOptions = {}): Promise<Key> {
    return this.#call({ ...options, method: "GET", path: path(id) });
  }

  /** Issues a key. If the response is lost, the error has the ID of the key in `keyId`. */
  create(key: NewKey, options: PostOptions = {}): Promise<Key> {
    const from = this.#transport.clock.date() - skew;
    return this.#issue({ ...options, method: "POST", path: "keys", body: key }, async () => {
      const { items } = await this.list({ limit: 20 }, only(options)).page();
      return items.find(({ name, createdAt }) => name === key.name && Date.parse(createdAt) >= from)?.id;
    });
  }

  update(id: string, patch: KeyChange, options: PatchOptions = {}): Promise<Key> {
    return this.#call({ ...options, method: "PATCH", path: path(id), body: patch });
  }

  /** Issues a key in place of another one. If the response is lost, the error has its ID in `keyId`. */
  rotate(id: string, rotation: KeyRotation = {}, options: PostOptions = {}): Promise<Key> {
    return this.#issue({ ...options, method: "POST", path: `${path(id)}/rotate`, body: rotation }, async () => {
      return (await this.get(id, only(options))).replacedBy ?? undefined;
    });
  }

  /**
   * Replaces the client's own key, hands the new one to `store`, and then goes on with it. If `store`
   * throws, the client keeps the old key, and the error has the ID of the new one in `keyId`.
   */
  async rotateSelf({ store, gracePeriod, expiresAt, ...options }: SelfRotation): Promise<Key> {
    const rotation: KeyRotation = {};
    if (gracePeriod !== undefined) {
      if (gracePeriod < 3600) throw new RangeError("gracePeriod must be at least 3600 seconds");
      rotation.gracePeriod = gracePeriod;
    }
    if (expiresAt !== undefined) rotation.expiresAt = expiresAt;
    if (Object.keys(rotation).length > 0 && (await this.get("self", only(options))).scope !== "manage") {
      throw new TypeError("gracePeriod and expiresAt need a key with the scope manage");
    }
    const issued = await this.rotate("self", rotation, options);
    const { id, key = "" } = issued;
    try {
      await store(key, issued);
    } catch {
      // What it threw may have the key.
      throw new PetstoreError(`The key ${id} was issued and not stored. The client keeps the old one.`, { keyId: id });
    }
    this.#transport.useKey(key);
    return issued;
  }

  /** Ends a key for ever; with `replacements` also those that it has made by rotating itself. */
  revoke(
    id: string,
    revocation: KeyRevocation & { replacements?: boolean } = {},
    options: PostOptions = {},
  ): Promise<Key> {
    const { replacements, ...body } = revocation;
    const query = replacements ? { replacements } : {};
    return this.#call({ ...options, method: "POST", path: `${path(id)}/revoke`, query, body });
  }

  /** Makes a call that issues a key. Its response can't be had twice, so it is never repeated blindly. */
  async #issue(call: Call, find: () => Promise<string | undefined>): Promise<Key> {
    try {
      return await this.#call(call);
    } catch (error) {
      if (!(error instanceof PetstoreError) || !isUnknown(error)) throw error;
      const { message, ...details } = error;
      const keyId = await find().catch(() => undefined);
      throw new (error.constructor as typeof PetstoreError)(message, { ...details, keyId });
    }
  }

  async #call(call: Call): Promise<Key> {
    const { body } = await this.#transport.send<Key>({ ...call, free: true });
    // No log of the object shows the key.
    if (body.key !== undefined) Object.defineProperty(body, "key", { enumerable: false });
    return body;
  }
}

/** How far this machine's clock may be ahead of the service's, in milliseconds. */
const skew = 60_000;

/** Options for a further call, whose response is nobody's business. */
function only({ signal, timeout }: CallOptions): CallOptions {
  return { ...(signal && { signal }), ...(timeout !== undefined && { timeout }) };
}

function path(id: string): string {
  return `keys/${encodeURIComponent(id)}`;
}
