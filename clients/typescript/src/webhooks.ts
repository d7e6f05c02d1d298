/** An event that the service has sent. There may be types that this version does not know. */
export interface WebhookEvent<Type extends string = string, Data = Record<string, unknown>> {
  /** The ID of the event, which is the same in each delivery of it. */
  id: string;
  type: Type;
  timestamp: string;
  data: Data;
}

/** A request that is not an event of the service's, or not of now. */
export class WebhookError extends Error {
  override readonly name = "WebhookError";
}

/** The headers of a request, as fetch or node:http has them. */
export type WebhookHeaders = Headers | Record<string, string | string[] | undefined>;

/** How a webhook is verified. */
export interface WebhookOptions {
  /** How old, or how far ahead of this machine's clock, it may be, in seconds: 300. */
  tolerance?: number;
  /** The Unix time in seconds: now. */
  now?: number;
}

/**
 * Verifies a webhook by Standard Webhooks, and returns its event.
 *
 * @param secrets One secret, or two during a rotation.
 * @param rawBody The bytes of the body as they came, before anything has parsed them.
 */
export async function verifyWebhook(
  secrets: string | readonly string[],
  headers: WebhookHeaders,
  rawBody: Uint8Array | ArrayBuffer | string,
  { tolerance = 300, now = Date.now() / 1000 }: WebhookOptions = {},
): Promise<WebhookEvent> {
  const keys = await Promise.all((typeof secrets === "string" ? [secrets] : secrets).map(secretKey));
  const id = header(headers, "webhook-id");
  const timestamp = header(headers, "webhook-timestamp");
  if (!/^\d{1,12}$/.test(timestamp)) throw new WebhookError("webhook-timestamp is not a Unix time");
  if (Math.abs(now - Number(timestamp)) > tolerance)
    throw new WebhookError("the webhook is too old, or from the future");
  const encoder = new TextEncoder();
  const body = typeof rawBody === "string" ? encoder.encode(rawBody) : new Uint8Array(rawBody);
  const start = encoder.encode(`${id}.${timestamp}.`);
  const signed = new Uint8Array(start.length + body.length);
  signed.set(start);
  signed.set(body, start.length);

  let valid = false;
  for (const signature of header(headers, "webhook-signature").split(" ")) {
    const bytes = signature.startsWith("v1,") ? fromBase64(signature.slice(3)) : undefined;
    if (!bytes) continue;
    // subtle.verify takes the same time for each wrong signature.
    for (const key of keys) valid = (await crypto.subtle.verify("HMAC", key, bytes, signed)) || valid;
  }
  if (!valid) throw new WebhookError("no signature of the webhook is right");

  let event: unknown;
  try {
    event = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    throw new WebhookError("the body is not JSON");
  }
  if (typeof event !== "object" || event === null || Array.isArray(event))
    throw new WebhookError("the body is no object");
  return { type: "", timestamp: "", data: {}, ...event, id };
}

function header(headers: WebhookHeaders, name: string): string {
  const entries = headers instanceof Headers ? [...headers] : Object.entries(headers);
  const value = entries.find(([key]) => key.toLowerCase() === name)?.[1];
  if (typeof value === "string" && value !== "") return value;
  throw new WebhookError(`there is no ${name}`);
}

async function secretKey(secret: string): Promise<CryptoKey> {
  const bytes = fromBase64(secret.replace(/^whsec_/, ""));
  if (!bytes || bytes.length < 24) throw new TypeError("a secret is whsec_ and at least 24 bytes in base64");
  return crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
}

/** Decodes base64 that is well formed: atob alone takes blanks. */
function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^([0-9A-Za-z+/]{4})*([0-9A-Za-z+/]{2}==|[0-9A-Za-z+/]{3}=)?$/.test(text)) return undefined;
  return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
}
