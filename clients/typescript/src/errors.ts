/** What an error says besides its message. */
export interface ErrorDetails {
  status?: number | undefined;
  code?: string | undefined;
  requestId?: string | undefined;
  retryAfter?: number | undefined;
  docUrl?: string | undefined;
  keyId?: string | undefined;
}

/** The base of all errors of this package. Decide by `code` or class, never by `message`. */
export class PetstoreError extends Error {
  /** The name of the class, which minifiers leave alone. */
  override readonly name: string = "PetstoreError";
  /** The HTTP status; undefined if there was no response. */
  readonly status: number | undefined;
  /** What went wrong; undefined if the response is not the API's but, say, a proxy's. New codes may come. */
  readonly code: string | undefined;
  /** Name it when you ask support. */
  readonly requestId: string | undefined;
  /** For how many seconds to wait, at least 1; undefined if the response does not say. */
  readonly retryAfter: number | undefined;
  /** The page about this code. */
  readonly docUrl: string | undefined;
  /** The ID of the key that a request has made, or may have made; undefined if that is not known. */
  readonly keyId: string | undefined;

  constructor(message: string, details: ErrorDetails = {}) {
    super(message);
    this.status = details.status;
    this.code = details.code;
    this.requestId = details.requestId;
    this.retryAfter = details.retryAfter;
    this.docUrl = details.docUrl;
    this.keyId = details.keyId;
  }
}

/** 429: a limit is used up, or the key is banned, for longer than `maxWait`. */
export class RateLimitError extends PetstoreError {
  override readonly name: string = "RateLimitError";
}
/** 401 and 403: the key is not valid, or may not do this. */
export class AuthenticationError extends PetstoreError {
  override readonly name: string = "AuthenticationError";
}
/** 404 and 410. */
export class NotFoundError extends PetstoreError {
  override readonly name: string = "NotFoundError";
}
/** 409 and 412: the state does not allow it. */
export class ConflictError extends PetstoreError {
  override readonly name: string = "ConflictError";
}
/** 400, 413, 414, 415 and 422: the request is wrong. */
export class ValidationError extends PetstoreError {
  override readonly name: string = "ValidationError";
}
/** 5xx. */
export class ServerError extends PetstoreError {
  override readonly name: string = "ServerError";
}
/** There was no complete response: a POST or PATCH may have taken effect. */
export class ConnectionError extends PetstoreError {
  override readonly name: string = "ConnectionError";
}
/** There was no response in time: a POST or PATCH may have taken effect. */
export class TimeoutError extends ConnectionError {
  override readonly name: string = "TimeoutError";
}

/** The class of an error response. */
export function classOf(status: number): typeof PetstoreError {
  if (status >= 500) return ServerError;
  switch (status) {
    case 401:
    case 403:
      return AuthenticationError;
    case 404:
    case 410:
      return NotFoundError;
    case 409:
    case 412:
      return ConflictError;
    case 400:
    case 413:
    case 414:
    case 415:
    case 422:
      return ValidationError;
    case 429:
      return RateLimitError;
  }
  return PetstoreError;
}
