export {
  AuthenticationError,
  ConflictError,
  ConnectionError,
  NotFoundError,
  PetstoreError,
  RateLimitError,
  ServerError,
  TimeoutError,
  ValidationError,
} from "./errors.js";
export { ImportError, type ImportOptions, type ImportResult, type ImportedRow } from "./import.js";
export type { Webhooks } from "./hooks.js";
export type { Keys, SelfRotation } from "./keys.js";
export type { Orders } from "./orders.js";
export type { List, Page } from "./pages.js";
export type { Pets } from "./pets.js";
export type { FailedRequests, Plans, UsageReports } from "./reports.js";
export { version } from "./transport.js";
export type { CallOptions, Options, PatchOptions, PostOptions, ResponseInfo, Warning } from "./transport.js";
export type * from "./types.js";
export {
  WebhookError,
  type WebhookEvent,
  type WebhookHeaders,
  type WebhookOptions,
  verifyWebhook,
} from "./webhooks.js";
