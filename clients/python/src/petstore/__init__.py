"""The Python client of the animal store's API. See the README of the package."""

from ._client import AsyncList as AsyncList, AsyncPetstore as AsyncPetstore, List as List, Petstore as Petstore
from ._core import __version__ as __version__
from ._errors import (
    APIConnectionError as APIConnectionError, APITimeoutError as APITimeoutError,
    AuthenticationError as AuthenticationError, ConflictError as ConflictError, ImportStopped as ImportStopped,
    NotFoundError as NotFoundError, PetstoreError as PetstoreError, RateLimitError as RateLimitError,
    ServerError as ServerError, ValidationError as ValidationError,
)
from ._import import ImportedRow as ImportedRow, ImportResult as ImportResult
from ._types import (
    ExplainedRequest as ExplainedRequest, FailedRequest as FailedRequest, Key as Key, Order as Order, Pet as Pet,
    Plan as Plan, Usage as Usage, UsageMonth as UsageMonth, Webhook as Webhook,
    WebhookAttempt as WebhookAttempt, WebhookDelivery as WebhookDelivery, WebhookReplayed as WebhookReplayed,
)
from ._values import (
    UNSET as UNSET, NewPet as NewPet, Page as Page, PetStatus as PetStatus, Rate as Rate, Response as Response,
    Secret as Secret,
)
from ._webhooks import WebhookError as WebhookError, WebhookEvent as WebhookEvent, verify_webhook as verify_webhook


