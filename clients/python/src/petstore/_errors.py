"""The errors. None of them contains the key."""

from __future__ import annotations

import math
from datetime import datetime


class PetstoreError(Exception):
    """The base of all errors of the API and of the way to it. Decide by its class or by code."""

    def __init__(
        self, message: str, *, code: str | None = None, status: int | None = None, request_id: str | None = None,
        retry_after: float | None = None, doc_url: str | None = None, key_id: str | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        """The kind of the error. Codes are only ever added. None: the response is not the API's."""
        self.message = message
        """For people. Its wording may change."""
        self.status = status
        """The HTTP status, None without a response."""
        self.request_id = request_id
        """Identifies the request. Include it when you contact support."""
        self.retry_after = retry_after
        """How many seconds to wait before the next request, None if the response does not say."""
        self.doc_url = doc_url
        """The page about the code."""
        self.key_id = key_id
        """The ID of a key that exists now, after an error in making or rotating one."""

    def __str__(self) -> str:
        text = " ".join(str(part) for part in (self.status, self.code) if part is not None)
        text = f"{text}: {self.message}" if text else self.message
        if self.request_id:
            text += f" (request {self.request_id})"
        if self.retry_after:
            text += f"; try again in {math.ceil(self.retry_after)} s"
        return text

    def __reduce__(self) -> tuple[object, ...]:
        return type(self).__new__, (type(self), self.message), self.__dict__


class RateLimitError(PetstoreError):
    """429: a limit is used up, or the key is banned."""


class AuthenticationError(PetstoreError):
    """401 or 403: the key is unknown, has ended, or may not do this."""


class NotFoundError(PetstoreError):
    """404 or 410: there is no such item, or no such operation any more."""


class ConflictError(PetstoreError):
    """409 or 412: the state of the item does not allow this."""


class ValidationError(PetstoreError):
    """400, 413, 414, 415 or 422: the request is wrong."""


class ServerError(PetstoreError):
    """5xx: the service, or a proxy before it, failed."""


class APIConnectionError(PetstoreError):
    """There was no complete response. A change may have been made."""


class APITimeoutError(APIConnectionError):
    """There was no complete response in time. A change may have been made."""


class ImportStopped(PetstoreError):
    """An import ended before its last row. __cause__ says why, and its code and retry_after are those here."""

    def __init__(self, cause: BaseException, first_unfinished: int, started_at: datetime) -> None:
        super().__init__(f"the import ended before row {first_unfinished}: {cause}")
        if isinstance(cause, PetstoreError):
            for name in ("code", "status", "request_id", "retry_after", "doc_url"):
                setattr(self, name, getattr(cause, name))
        self.first_unfinished = first_unfinished
        """The first row that is not done. Later ones may be done."""
        self.started_at = started_at
        """What to pass to import_all when the import is continued."""

    def __str__(self) -> str:
        return self.message


CLASSES: dict[int, type[PetstoreError]] = {
    429: RateLimitError, **dict.fromkeys((401, 403), AuthenticationError), **dict.fromkeys((404, 410), NotFoundError),
    **dict.fromkeys((409, 412), ConflictError), **dict.fromkeys((400, 413, 414, 415, 422), ValidationError),
}


def class_of(status: int) -> type[PetstoreError]:
    """Returns the class of an error response."""
    return CLASSES.get(status, ServerError if status >= 500 else PetstoreError)
