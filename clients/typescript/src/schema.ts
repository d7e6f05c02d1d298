// Made of internal/api/openapi.yaml by scripts/generate.mjs: do not edit.

export interface paths {
    "/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Where the API begins */
        get: operations["getAddresses"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List keys */
        get: operations["listKeys"];
        put?: never;
        /** Issue a key */
        post: operations["createKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/keys/{keyId}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The ID of the API key, which is no secret, or `self` for the key that you send.
                 * @example key_4Zt9QmVx2LbN7RcD
                 */
                keyId: components["parameters"]["KeyId"];
            };
            cookie?: never;
        };
        /** Get a key */
        get: operations["getKey"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /** Change a key */
        patch: operations["updateKey"];
        trace?: never;
    };
    "/keys/{keyId}/revoke": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The ID of the API key, which is no secret, or `self` for the key that you send.
                 * @example key_4Zt9QmVx2LbN7RcD
                 */
                keyId: components["parameters"]["KeyId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Revoke a key */
        post: operations["revokeKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/keys/{keyId}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The ID of the API key, which is no secret, or `self` for the key that you send.
                 * @example key_4Zt9QmVx2LbN7RcD
                 */
                keyId: components["parameters"]["KeyId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Rotate a key */
        post: operations["rotateKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** This document in JSON */
        get: operations["getOpenAPIDocument"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/openapi.yaml": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** This document in YAML */
        get: operations["getOpenAPIDocumentYaml"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/pets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List animals */
        get: operations["listPets"];
        put?: never;
        /** Add an animal */
        post: operations["createPet"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/pets/{petId}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The ID of the animal.
                 * @example 42
                 */
                petId: components["parameters"]["PetId"];
            };
            cookie?: never;
        };
        /**
         * Get an animal
         * @deprecated
         */
        get: operations["getPet"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /** Change an animal */
        patch: operations["updatePet"];
        trace?: never;
    };
    "/plans": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the plans */
        get: operations["listPlans"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/requests": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List requests that failed */
        get: operations["listRequests"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/requests/{requestId}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The `X-Request-Id` of the response. Percent-encode it if you chose it yourself.
                 * @example d4s6v8qk3m5t0b2n7c1g
                 */
                requestId: components["parameters"]["RequestId"];
            };
            cookie?: never;
        };
        /** Explain a request that failed */
        get: operations["getRequest"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/store/orders": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List orders */
        get: operations["listOrders"];
        put?: never;
        /** Place an order */
        post: operations["placeOrder"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/store/orders/{orderId}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The ID of the order.
                 * @example 7
                 */
                orderId: components["parameters"]["OrderId"];
            };
            cookie?: never;
        };
        /** Get an order */
        get: operations["getOrder"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /** Change an order */
        patch: operations["updateOrder"];
        trace?: never;
    };
    "/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get your usage */
        get: operations["getUsage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List webhooks */
        get: operations["listWebhooks"];
        put?: never;
        /** Add a webhook */
        post: operations["createWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhooks/{webhookId}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The ID of the webhook.
                 * @example 3
                 */
                webhookId: components["parameters"]["WebhookId"];
            };
            cookie?: never;
        };
        /** Get a webhook */
        get: operations["getWebhook"];
        put?: never;
        post?: never;
        /** Remove a webhook */
        delete: operations["deleteWebhook"];
        options?: never;
        head?: never;
        /** Change a webhook */
        patch: operations["updateWebhook"];
        trace?: never;
    };
    "/webhooks/{webhookId}/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The ID of the webhook.
                 * @example 3
                 */
                webhookId: components["parameters"]["WebhookId"];
            };
            cookie?: never;
        };
        /** List deliveries */
        get: operations["listWebhookDeliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhooks/{webhookId}/deliveries/{deliveryId}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The ID of the delivery.
                 * @example 1042
                 */
                deliveryId: components["parameters"]["DeliveryId"];
                /**
                 * @description The ID of the webhook.
                 * @example 3
                 */
                webhookId: components["parameters"]["WebhookId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Retry a delivery */
        post: operations["retryWebhookDelivery"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhooks/{webhookId}/replay": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The ID of the webhook.
                 * @example 3
                 */
                webhookId: components["parameters"]["WebhookId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Replay events */
        post: operations["replayWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhooks/{webhookId}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The ID of the webhook.
                 * @example 3
                 */
                webhookId: components["parameters"]["WebhookId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Rotate the secret of a webhook */
        post: operations["rotateWebhookSecret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhooks/{webhookId}/test": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The ID of the webhook.
                 * @example 3
                 */
                webhookId: components["parameters"]["WebhookId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Test a webhook */
        post: operations["testWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export interface webhooks {
    "endpoint.disabled": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * A webhook was disabled
         * @description Another webhook answered with 410, or every attempt of 5 days has failed. The webhook itself never gets this.
         */
        post: operations["endpointDisabled"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "endpoint.failing": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * A webhook fails
         * @description Every attempt at another webhook has failed for 24 hours. The webhook itself never gets this.
         */
        post: operations["endpointFailing"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "events.dropped": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Events were dropped
         * @description More than 100,000 events waited for this webhook, so the oldest of animals and orders were dropped. It is sent to every webhook.
         */
        post: operations["eventsDropped"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "key.banned": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * A key was banned
         * @description A key was banned, because it kept sending requests after 429 or by our staff.
         */
        post: operations["keyBanned"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "key.expiring": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * A key will expire
         * @description A key expires in 30, 7 or 1 days. One that has a replacement has only the last.
         */
        post: operations["keyExpiring"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "key.issued": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * A key was issued
         * @description A key was issued, by you, by our support or by a rotation.
         */
        post: operations["keyIssued"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "key.revoked": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * A key was revoked
         * @description A key was revoked.
         */
        post: operations["keyRevoked"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "key.rotated": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * A key was rotated
         * @description A key has a replacement, and works until `expiresAt`.
         */
        post: operations["keyRotated"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "key.unbanned": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * A ban ended
         * @description A ban was lifted or has ended, and none is in force.
         */
        post: operations["keyUnbanned"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "month.closed": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * A month was closed
         * @description A UTC month with usage of yours was closed: it does not change any more. What is recorded later is billed in the next one.
         */
        post: operations["monthClosed"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "order.created": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * An order was placed
         * @description An order was placed. It is sent only if it is named.
         */
        post: operations["orderCreated"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "order.updated": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * An order was changed
         * @description The status of an order changed. It is sent only if it is named.
         */
        post: operations["orderUpdated"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "pet.created": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * An animal was added
         * @description An animal was added. It is sent only if it is named.
         */
        post: operations["petCreated"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "pet.updated": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * An animal was changed
         * @description The name, category or status of an animal changed. It is sent only if it is named.
         */
        post: operations["petUpdated"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    ping: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * A test
         * @description You have asked for a test. It is sent to every webhook.
         */
        post: operations["ping"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "plan.changed": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Your plan changed
         * @description The limits in force are others than before.
         */
        post: operations["planChanged"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "plan.changing": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Your plan will change
         * @description The limits in force will be others at `since`, in 7 days at most.
         */
        post: operations["planChanging"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "quota.threshold_reached": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * A limit is nearly or wholly used up
         * @description Of your day, or of what your plan includes of the month, 80 or 100 % are used, or all that the month allows. Each is told once for a limit and a window.
         */
        post: operations["quotaThresholdReached"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "tenant.resumed": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Your account was resumed
         * @description Your account works again.
         */
        post: operations["tenantResumed"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "tenant.suspended": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Your account was suspended
         * @description Your account was suspended: none of its keys works.
         */
        post: operations["tenantSuspended"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export interface components {
    schemas: {
        /** @description Absolute addresses. More may be added. */
        Addresses: {
            /**
             * Format: uri
             * @description The reference and the guides.
             * @example https://api.example.com/docs
             */
            documentation: string;
            /**
             * Format: uri
             * @description Your API keys.
             * @example https://api.example.com/v1/keys
             */
            keys: string;
            /**
             * Format: uri
             * @description The OpenAPI document.
             * @example https://api.example.com/v1/openapi.json
             */
            openapi: string;
            /**
             * Format: uri
             * @description The list of orders.
             * @example https://api.example.com/v1/store/orders
             */
            orders: string;
            /**
             * Format: uri
             * @description The list of animals.
             * @example https://api.example.com/v1/pets
             */
            pets: string;
            /**
             * Format: uri
             * @description Your requests that failed.
             * @example https://api.example.com/v1/requests
             */
            requests: string;
            /**
             * Format: uri
             * @description Your limits and usage.
             * @example https://api.example.com/v1/usage
             */
            usage: string;
            /**
             * Format: uri
             * @description Where your events are sent.
             * @example https://api.example.com/v1/webhooks
             */
            webhooks: string;
        };
        /** @description The request is invalid. */
        BadRequestError: {
            /** @description The error code, for programs. See [all codes](https://api.example.com/docs/errors). More may be added. */
            code: string;
            /** @description What is wrong, for people. The wording may change. */
            message: string;
            /**
             * @description The HTTP status of the response.
             * @constant
             */
            status: 400;
        };
        /** @description The body is too long. */
        BodyTooLargeError: {
            /** @description The error code, for programs. See [all codes](https://api.example.com/docs/errors). More may be added. */
            code: string;
            /** @description What is wrong, for people. The wording may change. */
            message: string;
            /**
             * @description The HTTP status of the response.
             * @constant
             */
            status: 413;
        };
        /**
         * Format: int64
         * @description The category of the animal, numbered by you. Any 64-bit integer. Programs whose numbers are doubles, such as JavaScript's, hold it exactly
         *     only from -(2⁵³-1) to 2⁵³-1: a client that reads 9007199254740993 as a number and sends it back stores 9007199254740992. Stay within
         *     that range, or read the number as a big integer.
         * @example 7
         */
        CategoryId: number;
        /** @description The state of the animal, of the order or of an earlier request does not allow the request. */
        ConflictError: {
            /** @description The error code, for programs. See [all codes](https://api.example.com/docs/errors). More may be added. */
            code: string;
            /** @description What is wrong, for people. The wording may change. */
            message: string;
            /**
             * @description The HTTP status of the response.
             * @constant
             */
            status: 409;
        };
        /** @description A request that failed, and why. */
        ExplainedRequest: {
            /**
             * @description The code of the error. See [all codes](https://api.example.com/docs/errors).
             * @example rate_limit_exceeded
             */
            code: string;
            /**
             * @description How long our server worked on it, in milliseconds.
             * @example 0.183
             */
            durationMs: number;
            /**
             * @description What the response was, and why, for people. The wording may change.
             * @example The request was answered with 429 rate_limit_exceeded at 2026-11-20T09:21:48Z, over the account's limit of 60 requests per minute on plan free, until 2026-11-20T09:22:37Z.
             */
            explanation: string;
            /**
             * @description The `X-Request-Id` of the response.
             * @example d4s6v8qk3m5t0b2n7c1g
             */
            id: string;
            /**
             * @description The ID of the key.
             * @example key_4Zt9QmVx2LbN7RcD
             */
            keyId: string;
            /**
             * @description The method, or `other` if it is no usual one.
             * @example GET
             */
            method: string;
            /**
             * @description From when your limits and bans admit such a request again, as far as is known now; it may be over. `null` if they did not refuse it:
             *     then waiting does not help.
             * @example 2026-11-20T09:22:37Z
             */
            passesAt: string | null;
            /** @description What larger plans would change; `null` if no limit of your plan refused the request. */
            refusals: components["schemas"]["Refusals"] | null;
            /**
             * @description The path of the operation, with the names of its parameters; `null` if there is no such path.
             * @example /v1/pets
             */
            route: string | null;
            /**
             * @description The status of the response; 499 if you closed the connection before it.
             * @example 429
             */
            status: number;
            /**
             * Format: date-time
             * @description When the request came, in UTC.
             * @example 2026-11-20T09:21:48.120417Z
             */
            time: string;
            /** @description The window that refused the request; `null` if none did. */
            window: components["schemas"]["RefusingWindow"] | null;
        };
        /** @description A request that failed. */
        FailedRequest: {
            /**
             * @description The code of the error. See [all codes](https://api.example.com/docs/errors).
             * @example rate_limit_exceeded
             */
            code: string;
            /**
             * @description How long our server worked on it, in milliseconds.
             * @example 0.183
             */
            durationMs: number;
            /**
             * @description The `X-Request-Id` of the response.
             * @example d4s6v8qk3m5t0b2n7c1g
             */
            id: string;
            /**
             * @description The ID of the key.
             * @example key_4Zt9QmVx2LbN7RcD
             */
            keyId: string;
            /**
             * @description The method, or `other` if it is no usual one.
             * @example GET
             */
            method: string;
            /**
             * @description The path of the operation, with the names of its parameters; `null` if there is no such path.
             * @example /v1/pets
             */
            route: string | null;
            /**
             * @description The status of the response; 499 if you closed the connection before it.
             * @example 429
             */
            status: number;
            /**
             * Format: date-time
             * @description When the request came, in UTC.
             * @example 2026-11-20T09:21:48.120417Z
             */
            time: string;
        };
        /** @description A page of requests that failed, the newest first. */
        FailedRequests: components["schemas"]["FailedRequest"][];
        /** @description The API key may not do this, or not from this address. */
        ForbiddenError: {
            /** @description The error code, for programs. See [all codes](https://api.example.com/docs/errors). More may be added. */
            code: string;
            /** @description What is wrong, for people. The wording may change. */
            message: string;
            /**
             * @description The HTTP status of the response.
             * @constant
             */
            status: 403;
        };
        /** @description The operation has been removed. */
        GoneError: {
            /** @description The error code, for programs. See [all codes](https://api.example.com/docs/errors). More may be added. */
            code: string;
            /** @description What is wrong, for people. The wording may change. */
            message: string;
            /**
             * @description The HTTP status of the response.
             * @constant
             */
            status: 410;
        };
        /** @description Something went wrong on our side. */
        InternalServerError: {
            /** @description The error code, for programs. See [all codes](https://api.example.com/docs/errors). More may be added. */
            code: string;
            /** @description What is wrong, for people. The wording may change. */
            message: string;
            /**
             * @description The HTTP status of the response.
             * @constant
             */
            status: 500;
        };
        /** @description An API key. */
        Key: {
            /**
             * @description The addresses and blocks from which the key may be used; empty for any.
             * @example [
             *       "203.0.113.0/24"
             *     ]
             */
            allowedAddresses: string[];
            /**
             * @description In the response to a change, the IDs of the other keys that ended with it.
             * @example [
             *       "key_1Nc5VbYq7XrM0KeA"
             *     ]
             */
            alsoEnded?: string[];
            /**
             * Format: date-time
             * @description When the key was issued, in UTC.
             * @example 2026-11-20T09:21:48Z
             */
            createdAt: string;
            /**
             * @description `live` keys work in production, `test` keys in staging. We may add values, announced 30 days before.
             * @example live
             */
            environment: string;
            /**
             * @description When the key expires or expired; `null` for never.
             * @example 2027-11-20T00:00:00Z
             */
            expiresAt: string | null;
            /**
             * @description The ID. It is no secret.
             * @example key_4Zt9QmVx2LbN7RcD
             */
            id: string;
            /**
             * @description The ID of the key by which it was issued; `account` if it was issued on your account's page after our support had invited you, or `support`;
             *     `null` if that is no longer known.
             * @example key_8Hs3WkPz6TyF1GdJ
             */
            issuedBy: string | null;
            /**
             * @description The key itself, in the response to the request alone that issued it. It is a secret.
             * @example pst_live_Zb7Q0mKxT4vL9sWcR2yNfHjD8aPuGe1dN9fQ2
             */
            key?: string;
            /**
             * @description The last four characters of the key.
             * @example 9fQ2
             */
            last4: string;
            /**
             * @description When the key was last used, to a minute, also by requests that are not counted; `null` for never. A request that ends in `address_not_allowed`
             *     or 503 is no use.
             * @example 2026-11-20T09:21:48Z
             */
            lastUsedAt: string | null;
            /**
             * @description What the key is for. It may be empty.
             * @example nightly import
             */
            name: string;
            /**
             * @description The key's own limit of requests per minute; `null` for none.
             * @example 50
             */
            perMinute: number | null;
            /**
             * @description The ID of the key that replaced it in a rotation, unless that was revoked.
             * @example key_1Nc5VbYq7XrM0KeA
             */
            replacedBy: string | null;
            /**
             * @description The ID of the key that it replaced in a rotation.
             * @example key_1Nc5VbYq7XrM0KeA
             */
            replaces: string | null;
            /**
             * @description What the key may do, as in `KeyScope`. We may add values, announced 30 days before.
             * @example read
             */
            scope: string;
            /**
             * @description Whether the key is good. We may add values, announced 30 days before.
             * @example active
             */
            status: string;
        };
        /** @description Changes to a key. Members that are left out stay as they are. Other members are rejected. */
        KeyChange: {
            /**
             * @description The addresses from which the key may be used: IPv4 and IPv6 addresses or blocks. Empty for any. If they are of the key that sends
             *     the request and do not contain its address, it needs `confirmLockout`.
             * @example [
             *       "203.0.113.7",
             *       "2001:db8::/32"
             *     ]
             */
            allowedAddresses?: string[] | null;
            /** @description Confirms `allowedAddresses` without the address of this request. */
            confirmLockout?: boolean;
            /**
             * @description When the key expires, in the future; `null` for never.
             * @example 2027-11-20T00:00:00Z
             */
            expiresAt?: string | null;
            /**
             * @description What the key is for, as in a new key. `null` removes it.
             * @example nightly import
             */
            name?: string | null;
            /**
             * @description The key's own limit of requests per minute, besides those of your plan; `null` for none.
             * @example 50
             */
            perMinute?: number | null;
            scope?: components["schemas"]["KeyScope"];
        };
        /** @description How to revoke a key. Other members are rejected. */
        KeyRevocation: {
            /**
             * @description Why, not only blanks. Our support can read it for 30 days. Without control and format characters, line and paragraph separators, and API keys; joiners
             *     only after a character above U+00FF.
             */
            reason?: string;
        };
        /** @description How to rotate a key. Other members are rejected. */
        KeyRotation: {
            /**
             * @description When the new key expires, in the future; `null` for never. Without it, when the old one would have. A key that rotates itself without the
             *     scope `manage` may not choose a later time.
             * @example 2027-11-20T00:00:00Z
             */
            expiresAt?: string | null;
            /**
             * @description For how many seconds the old key stays valid, unless it expires earlier. Without it, 86400, which is the only value for a key that rotates
             *     itself without the scope `manage`.
             */
            gracePeriod?: number;
        };
        /** @description A page of keys, the newest first. */
        Keys: components["schemas"]["Key"][];
        /**
         * @description What the key may do: `read` for GET and HEAD, `write` for all but managing keys, which is the scope of a key that is issued without one, and
         *     `manage` for that too.
         * @enum {string}
         */
        KeyScope: "read" | "write" | "manage";
        /** @description What one key used. */
        KeyUsage: {
            /**
             * Format: int64
             * @description Requests admitted on all days together.
             * @example 1453
             */
            admitted: number;
            /** @description As for all keys together. */
            days: components["schemas"]["UsageDay"][];
            /**
             * @description The ID of the key, which is not secret.
             * @example key_4Zt9QmVx2LbN7RcD
             */
            id: string;
            /**
             * @description The name of the key; empty if it has none, or was removed.
             * @example web shop
             */
            name: string;
            /**
             * Format: int64
             * @description Requests refused with 429.
             * @example 12
             */
            refused: number;
        };
        /** @description What a larger plan would change. */
        LargerPlan: {
            /**
             * @description The name of the plan.
             * @example business
             */
            name: string;
            /**
             * Format: int64
             * @description How many of the refused requests would have been refused on the plan too, at least: by its limits, or by a key's own limit, which no plan
             *     changes. Only the number of requests of each hour is recorded, so they are taken to be spread evenly: bursts and bans may refuse more.
             * @example 30
             */
            remainAtLeast: number;
        };
        /** @description What the present UTC month comes to at your average rate of the last seven days, or since your first request in them, but of a day at least. */
        MonthForecast: {
            /**
             * Format: int64
             * @description Requests admitted when the month ends.
             * @example 104200
             */
            admitted: number;
            /**
             * Format: int64
             * @description How many of them are billed above those that your plan includes.
             * @example 4200
             */
            overage: number;
            /**
             * @description When the limit of the month is reached, in UTC; the current time if it is used up already; `null` if the month ends first, or has no limit.
             * @example 2026-11-28T14:42:15Z
             */
            runsOutAt: string | null;
        };
        /** @description A key to issue. Other members are rejected. */
        NewKey: {
            /**
             * @description The addresses from which the key may be used: IPv4 and IPv6 addresses or blocks. Empty for any. A block has
             *     no bits after its length: `203.0.113.0/24`, not `203.0.113.7/24`. Not `0.0.0.0/0`, zones, and numbers with leading zeros.
             * @example [
             *       "203.0.113.7",
             *       "2001:db8::/32"
             *     ]
             */
            allowedAddresses?: string[] | null;
            /** @description Has no effect on a new key. */
            confirmLockout?: boolean;
            /**
             * @description When the key expires, in the future; `null` for never.
             * @example 2027-11-20T00:00:00Z
             */
            expiresAt?: string | null;
            /**
             * @description What the key is for, not only blanks. Without control and format characters, line and paragraph separators, and API keys; joiners
             *     only after a character above U+00FF.
             * @example nightly import
             */
            name: string;
            /**
             * @description The key's own limit of requests per minute, besides those of your plan; `null` for none.
             * @example 50
             */
            perMinute?: number | null;
            scope?: components["schemas"]["KeyScope"];
        };
        /** @description An order to place. */
        NewOrder: {
            /**
             * Format: int64
             * @description The animal to order. It must be `available`.
             * @example 42
             */
            petId: number;
            /**
             * Format: int32
             * @description The quantity; 1 if you leave it out.
             */
            quantity?: number;
        };
        /** @description An animal to add. Without `status` it is `available`. */
        NewPet: {
            categoryId: components["schemas"]["CategoryId"];
            name: components["schemas"]["PetName"];
            status?: components["schemas"]["PetStatus"];
        };
        /** @description A webhook to add. Other members are rejected. */
        NewWebhook: {
            description?: components["schemas"]["WebhookDescription"];
            events?: components["schemas"]["WebhookEvents"];
            url: components["schemas"]["WebhookUrl"];
        };
        /** @description What the path names does not exist. */
        NotFoundError: {
            /** @description The error code, for programs. See [all codes](https://api.example.com/docs/errors). More may be added. */
            code: string;
            /** @description What is wrong, for people. The wording may change. */
            message: string;
            /**
             * @description The HTTP status of the response.
             * @constant
             */
            status: 404;
        };
        /** @description An order for an animal. */
        Order: {
            /**
             * Format: date-time
             * @description When the order was placed, in UTC.
             * @example 2026-11-20T09:21:48Z
             */
            createdAt: string;
            /**
             * Format: int64
             * @description The ID, assigned when the order was placed.
             * @example 7
             */
            id: number;
            /**
             * Format: int64
             * @description The animal.
             * @example 42
             */
            petId: number;
            /**
             * Format: int32
             * @description The quantity.
             * @example 1
             */
            quantity: number;
            /**
             * @description The status, as in `OrderStatus`. We may add values, announced 30 days before.
             * @example placed
             */
            status: string;
        };
        /** @description A change to an order. */
        OrderChange: {
            status: components["schemas"]["OrderStatus"];
        };
        /** @description A page of orders, ascending by `id`. */
        Orders: components["schemas"]["Order"][];
        /**
         * @description The status of the order. It can change from `placed` to `approved` to `delivered`, and from `placed` or `approved` to `cancelled`.
         * @enum {string}
         */
        OrderStatus: "placed" | "approved" | "delivered" | "cancelled";
        /** @description An animal in your catalogue. */
        Pet: {
            categoryId: components["schemas"]["CategoryId"];
            /**
             * Format: int64
             * @description The ID, assigned when the animal was added.
             * @example 42
             */
            id: number;
            name: components["schemas"]["PetName"];
            /**
             * @description The availability, as in `PetStatus`. We may add values, announced 30 days before.
             * @example available
             */
            status?: string;
        };
        /** @description Changes to an animal. Members that are left out stay as they are. */
        PetChange: {
            categoryId?: components["schemas"]["CategoryId"];
            name?: components["schemas"]["PetName"];
            status?: components["schemas"]["PetStatus"];
        };
        /**
         * @description The animal's name: 1 to 255 characters (code points), at least one of which is not white space, and no NUL. It is stored exactly
         *     as you send it. White space is what Unicode calls so (`White_Space`), which includes U+0085 and not U+FEFF.
         * @example Rex
         */
        PetName: string;
        /** @description A page of animals, ascending by `id`. */
        Pets: components["schemas"]["Pet"][];
        /**
         * @description The availability. It can change from `available` to `pending` to `sold`, and from `pending` back to `available`; `sold` is final.
         * @enum {string}
         */
        PetStatus: "available" | "pending" | "sold";
        /** @description A plan that is sold. */
        Plan: {
            /**
             * @description The name of the plan, as in `plan` of [your usage](#tag/usage/GET/usage).
             * @example free
             */
            name: string;
            /**
             * @description How many more requests a month admits, which are billed apart; 0 if those of `requestsPerMonth` are a limit; `null` if any number is
             *     admitted, and without `requestsPerMonth`.
             * @example 20000
             */
            overage?: number | null;
            /**
             * @description Requests per UTC day; `null` if the number is agreed with each customer.
             * @example 1000
             */
            requestsPerDay: number | null;
            /**
             * @description Requests per minute; `null` if the number is agreed with each customer.
             * @example 60
             */
            requestsPerMinute: number | null;
            /**
             * @description Requests of a UTC month that the price includes; `null` if the plan has no such number, or if it is agreed with each customer.
             * @example 100000
             */
            requestsPerMonth?: number | null;
            /**
             * @description What people call the plan; `null` if it has no other name.
             * @example Free
             */
            title: string | null;
        };
        /** @description A change that comes by itself, such as the end of a trial. What you used of the minute, the day and the month stays counted. */
        PlanChange: {
            /**
             * Format: date-time
             * @description When the change takes effect.
             * @example 2026-11-15T00:00:00Z
             */
            at: string;
            /**
             * @description Your plan from then on.
             * @example free
             */
            plan: string;
            quota: components["schemas"]["Quota"];
        };
        Plans: components["schemas"]["Plan"][];
        /** @description The animal, order, key or webhook is not the one that `If-Match` names. */
        PreconditionFailedError: {
            /** @description The error code, for programs. See [all codes](https://api.example.com/docs/errors). More may be added. */
            code: string;
            /** @description What is wrong, for people. The wording may change. */
            message: string;
            /**
             * @description The HTTP status of the response.
             * @constant
             */
            status: 412;
        };
        /** @description The number of requests that your plan allows. */
        Quota: {
            /**
             * @description How many more requests a month admits, which are billed apart; 0 if those of `perMonth` are a limit; `null` if any number is admitted, and
             *     without `perMonth`.
             * @example 20000
             */
            overage?: number | null;
            /**
             * Format: int64
             * @description Requests per UTC day.
             * @example 1000
             */
            perDay: number;
            /**
             * Format: int64
             * @description Requests per minute.
             * @example 60
             */
            perMinute: number;
            /**
             * @description Requests of a UTC month that the price includes; `null` if your plan has no such number.
             * @example 100000
             */
            perMonth?: number | null;
        };
        /** @description How many of your requests were refused, and how many of these would be on larger plans. */
        Refusals: {
            /**
             * @description The number of UTC days, with today.
             * @example 30
             */
            days: number;
            /**
             * @description The plans that are sold, are larger than yours, and raise the limit that refused the request, the smallest first. `explanation` names
             *     those whose limit is the same.
             */
            plans: components["schemas"]["LargerPlan"][];
            /**
             * Format: int64
             * @description Requests refused with 429 on these days, by limits of your plan, by a key's own limit and by bans.
             * @example 412
             */
            refused: number;
        };
        /** @description The window that refused a request. */
        RefusingWindow: {
            /**
             * Format: date-time
             * @description Since when `used` is counted. It is the beginning of the window. A minute is recorded until a key is used two minutes later: then it is
             *     the beginning of the UTC hour, whose use says nothing about the `limit` of a minute. `explanation` says so too.
             * @example 2026-11-20T09:21:37Z
             */
            from: string;
            /**
             * Format: int64
             * @description The number of requests that the window allowed.
             * @example 60
             */
            limit: number;
            /**
             * @description The name of the window, as in `RateLimit-Policy`.
             * @example minute
             */
            name: string;
            /**
             * Format: date-time
             * @description Up to when `used` is counted.
             * @example 2026-11-20T09:22:37Z
             */
            to: string;
            /** @description What each of your keys used, the most first; of the window `key`, that key alone. It may be a second behind. */
            used: components["schemas"]["UsedByKey"][];
        };
        /** @description A limit is exceeded, or the key is banned. */
        TooManyRequestsError: {
            /** @description The error code, for programs. See [all codes](https://api.example.com/docs/errors). More may be added. */
            code: string;
            /** @description What is wrong, for people. The wording may change. */
            message: string;
            /**
             * @description The HTTP status of the response.
             * @constant
             */
            status: 429;
        };
        /** @description The API key is missing or invalid. */
        UnauthorizedError: {
            /** @description The error code, for programs. See [all codes](https://api.example.com/docs/errors). More may be added. */
            code: string;
            /** @description What is wrong, for people. The wording may change. */
            message: string;
            /**
             * @description The HTTP status of the response.
             * @constant
             */
            status: 401;
        };
        /** @description The service is temporarily unavailable. */
        UnavailableError: {
            /** @description The error code, for programs. See [all codes](https://api.example.com/docs/errors). More may be added. */
            code: string;
            /** @description What is wrong, for people. The wording may change. */
            message: string;
            /**
             * @description The HTTP status of the response.
             * @constant
             */
            status: 503;
        };
        /** @description The `Idempotency-Key` belongs to another request. */
        UnprocessableError: {
            /** @description The error code, for programs. See [all codes](https://api.example.com/docs/errors). More may be added. */
            code: string;
            /** @description What is wrong, for people. The wording may change. */
            message: string;
            /**
             * @description The HTTP status of the response.
             * @constant
             */
            status: 422;
        };
        /** @description The body is not JSON in UTF-8. */
        UnsupportedMediaTypeError: {
            /** @description The error code, for programs. See [all codes](https://api.example.com/docs/errors). More may be added. */
            code: string;
            /** @description What is wrong, for people. The wording may change. */
            message: string;
            /**
             * @description The HTTP status of the response.
             * @constant
             */
            status: 415;
        };
        /** @description The path and query are too long. */
        URITooLongError: {
            /** @description The error code, for programs. See [all codes](https://api.example.com/docs/errors). More may be added. */
            code: string;
            /** @description What is wrong, for people. The wording may change. */
            message: string;
            /**
             * @description The HTTP status of the response.
             * @constant
             */
            status: 414;
        };
        /** @description Your limits and your usage. */
        Usage: {
            forecast: components["schemas"]["UsageForecast"];
            month: components["schemas"]["UsageMonth"];
            /** @description The next change of your plan or its quota, if one is scheduled; `null` otherwise. */
            nextChange: components["schemas"]["PlanChange"] | null;
            /**
             * @description Your plan.
             * @example free
             */
            plan: string;
            quota: components["schemas"]["Quota"];
            /**
             * @description The name of your account. All its keys share its limits.
             * @example acme
             */
            tenant: string;
            /** @description The state of your limits, by their names in `RateLimit-Policy`. */
            windows: {
                day: components["schemas"]["UsageWindow"];
                /** @description The per-minute limit of the key that you use; `null` if it has no limit of its own. */
                key: components["schemas"]["UsageWindow"] | null;
                minute: components["schemas"]["UsageWindow"];
                /** @description The UTC month, with what your plan includes and allows above it; `null` if your plan has no limit per month. */
                month?: components["schemas"]["UsageWindow"] | null;
            };
        };
        /** @description What arrived late of an earlier month. */
        UsageCorrection: {
            /**
             * Format: int64
             * @description Requests admitted. Negative if some were given back.
             * @example 7
             */
            admitted: number;
            /**
             * @description The earlier month.
             * @example 2026-10
             */
            month: string;
            /**
             * Format: int64
             * @description Requests refused with 429.
             * @example 0
             */
            refused: number;
        };
        /** @description One UTC day. */
        UsageDay: {
            /**
             * Format: int64
             * @description Requests admitted.
             * @example 641
             */
            admitted: number;
            /**
             * Format: date
             * @description The day.
             * @example 2026-11-03
             */
            date: string;
            /**
             * Format: int64
             * @description Requests refused with 429.
             * @example 0
             */
            refused: number;
        };
        /** @description What happens to the daily quota at your current rate, and to the month. */
        UsageForecast: {
            /**
             * @description When the daily quota runs out at that rate, in UTC; the current time if it is used up already; `null` if it lasts until the end of
             *     the day.
             * @example 2026-11-03T14:42:15Z
             */
            dayRunsOutAt: string | null;
            /** @description What the present month comes to at your average rate of the last seven days; `null` if your plan has no `perMonth`. */
            month?: components["schemas"]["MonthForecast"] | null;
            /**
             * Format: int64
             * @description Your current rate: requests admitted in this UTC hour and the one before it, per hour of that time. It may be
             *     a second behind.
             * @example 70
             */
            perHour: number;
        };
        /** @description The current month, or the one that you ask for, by UTC day, for all your keys together. It may be a second behind. */
        UsageMonth: {
            /**
             * Format: int64
             * @description Requests admitted on all days together.
             * @example 1453
             */
            admitted: number;
            /** @description Usage of earlier months that arrived after they were closed. It is billed in this month, in addition to `admitted`. */
            corrections?: components["schemas"]["UsageCorrection"][];
            /** @description Each day of the month; of the current one until today. */
            days: components["schemas"]["UsageDay"][];
            /**
             * @description How many requests of the month your plan includes; of a month that is over, the last number. `null` without one.
             * @example 100000
             */
            included?: number | null;
            /** @description Each key that was used in the month. Only in a report by key. */
            keys?: components["schemas"]["KeyUsage"][];
            /**
             * @description The month. Only in a report, as is `corrections`.
             * @example 2026-11
             */
            month?: string;
            /**
             * Format: int64
             * @description How many of the requests are billed apart, because they are above those that your plan included when they were sent. A request that ended in
             *     5xx is not, so `X-Quota-Overage` may be more.
             * @example 20
             */
            overage?: number;
            /**
             * Format: int64
             * @description Requests refused with 429. They are not counted.
             * @example 12
             */
            refused: number;
        };
        /** @description The state of one limit before the next request. */
        UsageWindow: {
            /**
             * Format: int64
             * @description The number of requests allowed in the window.
             * @example 60
             */
            limit: number;
            /**
             * Format: int64
             * @description The number of requests that remain.
             * @example 57
             */
            remaining: number;
            /**
             * Format: int64
             * @description When the window ends, as Unix time in seconds.
             * @example 1793698537
             */
            reset: number;
            /**
             * Format: int64
             * @description The number of requests used.
             * @example 3
             */
            used: number;
        };
        /** @description What one key used. */
        UsedByKey: {
            /**
             * Format: int64
             * @description Requests admitted.
             * @example 52
             */
            admitted: number;
            /**
             * @description The ID of the key.
             * @example key_4Zt9QmVx2LbN7RcD
             */
            id: string;
            /**
             * @description The name of the key; empty if it has none, or was removed.
             * @example web shop
             */
            name: string;
        };
        /** @description An endpoint of yours that gets events. */
        Webhook: {
            /**
             * Format: date-time
             * @description When it was added, in UTC.
             * @example 2026-11-20T09:21:48Z
             */
            createdAt: string;
            /**
             * @description What the webhook is for. It may be empty.
             * @example pager of the shop
             */
            description: string;
            /**
             * @description Why it is disabled: by you (`customer`) or our support (`support`), because it answered with 410 (`gone`), or because every attempt of 5 days failed
             *     (`failures`). `null` if it is not. We may add values.
             * @example gone
             */
            disabledReason: string | null;
            /**
             * @description `live`: the events of production, `test`: those of staging. We may add values, announced 30 days before.
             * @example live
             */
            environment: string;
            /**
             * @description The types of events that are sent, or `*` for all but `pet.…` and `order.…`. We may add values.
             * @example [
             *       "key.banned",
             *       "key.revoked"
             *     ]
             */
            events: string[];
            /**
             * Format: int64
             * @description The ID.
             * @example 3
             */
            id: number;
            /**
             * @description The secret that signs its events, in the response to the request alone that made it.
             * @example whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=
             */
            secret?: string;
            /**
             * @description Whether events are sent: `pending` before the webhook has answered a `ping` with a 2xx. We may add values, announced 30 days before.
             * @example enabled
             */
            status: string;
            /**
             * Format: uri
             * @description Where events are sent, with the host in its ASCII form.
             * @example https://shop.example.com/petstore
             */
            url: string;
        };
        /** @description An attempt to send an event. */
        WebhookAttempt: {
            /**
             * @description The first 256 bytes of the answer as text. What is not UTF-8 is replaced.
             * @example {"ok":true}
             */
            answer: string;
            /**
             * Format: date-time
             * @description When it began, in UTC.
             * @example 2026-11-20T09:21:48Z
             */
            at: string;
            /**
             * Format: int64
             * @description How long it took, in milliseconds.
             * @example 87
             */
            durationMs: number;
            /**
             * @description Why there was no answer, for people; `null` if there was one. The wording may change.
             * @example no answer within 10 seconds
             */
            problem: string | null;
            /**
             * @description The HTTP status of the answer; `null` if there was none.
             * @example 204
             */
            status: number | null;
        };
        /** @description Changes to a webhook. Members that are left out stay as they are. Other members are rejected. */
        WebhookChange: {
            /**
             * @description What the webhook is for, as in a new one. `null` removes it.
             * @example pager of the shop
             */
            description?: components["schemas"]["WebhookDescription"] | null;
            events?: components["schemas"]["WebhookEvents"];
            /**
             * @description `disabled` ends deliveries, `enabled` begins them. A webhook that has answered no `ping` yet stays `pending`.
             * @enum {string}
             */
            status?: "enabled" | "disabled";
            url?: components["schemas"]["WebhookUrl"];
        };
        /** @description A page of deliveries, the newest first. */
        WebhookDeliveries: components["schemas"]["WebhookDelivery"][];
        /** @description An event that is sent to a webhook. */
        WebhookDelivery: {
            /** @description The attempts so far, the oldest first. */
            attempts: components["schemas"]["WebhookAttempt"][];
            /**
             * Format: date-time
             * @description When the delivery was queued, in UTC.
             * @example 2026-11-20T09:21:48Z
             */
            createdAt: string;
            /**
             * @description The ID of the event, which the receiver gets as `webhook-id`.
             * @example 8e03978e-40d5-43e8-bc93-6894a57f9324
             */
            eventId: string;
            /**
             * Format: int64
             * @description The ID of the delivery.
             * @example 1042
             */
            id: number;
            /**
             * @description When it is sent next, at the earliest; `null` if it is not.
             * @example 2026-11-20T09:26:53Z
             */
            nextAttemptAt: string | null;
            /**
             * @description `waiting` for its next attempt, `delivered`, `failed` for good, or `dropped` unsent, as what waited when the webhook was disabled and enabled again. We may add values, announced 30 days before.
             * @example delivered
             */
            status: string;
            /**
             * @description The type of the event. We may add values.
             * @example key.banned
             */
            type: string;
        };
        /**
         * @description What the webhook is for, not only blanks. Without control and format characters, line and paragraph separators, and API keys; joiners
         *     only after a character above U+00FF.
         * @example pager of the shop
         */
        WebhookDescription: string;
        /**
         * @description The types of events that are sent, or `*` for all, also those that we add later, but `pet.…` and `order.…`: these are sent only if they are named.
         * @example [
         *       "key.banned",
         *       "key.revoked"
         *     ]
         */
        WebhookEvents: ("*" | "key.issued" | "key.rotated" | "key.revoked" | "key.banned" | "key.unbanned" | "key.expiring" | "plan.changed" | "plan.changing" | "quota.threshold_reached" | "month.closed" | "endpoint.failing" | "endpoint.disabled" | "tenant.suspended" | "tenant.resumed" | "pet.created" | "pet.updated" | "order.created" | "order.updated")[];
        /** @description Which events to send once more. Other members are rejected. */
        WebhookReplay: {
            /** @description Whether to send those that were delivered too. */
            all?: boolean;
            /**
             * Format: date-time
             * @description Events from this instant on. Without it, those of the last 30 days.
             * @example 2026-11-19T00:00:00Z
             */
            since?: string;
            types?: components["schemas"]["WebhookEvents"];
            /**
             * Format: date-time
             * @description Events before this instant. Without it, all until now.
             * @example 2026-11-20T00:00:00Z
             */
            until?: string;
        };
        /** @description What a replay sends. */
        WebhookReplayed: {
            /**
             * Format: int64
             * @description How many deliveries were queued.
             * @example 12
             */
            deliveries: number;
        };
        /** @description How to rotate a secret. Other members are rejected. */
        WebhookRotation: {
            /** @description For how many seconds the earlier secrets still sign. Without it, 86400. */
            gracePeriod?: number;
        };
        /** @description All webhooks, the newest first. */
        Webhooks: components["schemas"]["Webhook"][];
        /**
         * Format: uri
         * @description Where events are sent, by POST. It is `https` on port 443, without user and fragment, and leads to no private address: otherwise the response is
         *     `400` `invalid_url`, or the delivery fails.
         * @example https://shop.example.com/petstore
         */
        WebhookUrl: string;
    };
    responses: never;
    parameters: {
        /** @description Where the page begins, as returned in `X-Next-Cursor` and `Link`, such as `000000000000002a`. A cursor does not expire and grants no access. */
        Cursor: string;
        /**
         * @description The ID of the delivery.
         * @example 1042
         */
        DeliveryId: number;
        /**
         * @description Identifies this request, so that it takes effect once however often you send it. 1 to 255 visible ASCII characters, with or without
         *     double quotes, for example a random UUID: `8e03978e-40d5-43e8-bc93-6894a57f9324`. The response is kept for 24 hours.
         * @example 8e03978e-40d5-43e8-bc93-6894a57f9324
         */
        IdempotencyKey: string;
        /**
         * @description The `ETag` that the animal, order, key or webhook must still have, a list of them, or `*` for any (RFC 9110). An `ETag` in its weak form (`W/"…"`),
         *     which proxies that compress responses make of it, never matches: send it without `W/`.
         * @example "5a1c7d"
         */
        IfMatch: string;
        /**
         * @description The `ETag` that you have, a list of them, or `*` (RFC 9110). A malformed value is ignored.
         * @example "5a1c7d"
         */
        IfNoneMatch: string;
        /** @description Where the page begins, as returned in `X-Next-Cursor` and `Link`. It grants no access. */
        KeyCursor: string;
        /**
         * @description The ID of the API key, which is no secret, or `self` for the key that you send.
         * @example key_4Zt9QmVx2LbN7RcD
         */
        KeyId: string;
        /**
         * @description The maximum number of items to return. A number out of range is an error; it is never clamped.
         * @example 20
         */
        Limit: number;
        /**
         * @description The ID of the order.
         * @example 7
         */
        OrderId: number;
        /**
         * @description The ID of the animal.
         * @example 42
         */
        PetId: number;
        /**
         * @description `handling=strict` (RFC 7240): reject the request if its query has unknown parameters, or its body unknown members. Other preferences are
         *     ignored.
         * @example handling=strict
         */
        Prefer: string;
        /**
         * @description The `X-Request-Id` of the response. Percent-encode it if you chose it yourself.
         * @example d4s6v8qk3m5t0b2n7c1g
         */
        RequestId: string;
        /**
         * @description The ID of the webhook.
         * @example 3
         */
        WebhookId: number;
    };
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    getAddresses: {
        parameters: {
            query?: never;
            header?: {
                /** @description If `text/html` is preferred to JSON, the response leads to the documentation. */
                Accept?: string;
                /**
                 * @description `handling=strict` (RFC 7240): reject the request if its query has unknown parameters, or its body unknown members. Other preferences are
                 *     ignored.
                 * @example handling=strict
                 */
                Prefer?: components["parameters"]["Prefer"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    listKeys: {
        parameters: {
            query?: {
                /** @description Where the page begins, as returned in `X-Next-Cursor` and `Link`. It grants no access. */
                cursor?: components["parameters"]["KeyCursor"];
                /**
                 * @description The maximum number of items to return. A number out of range is an error; it is never clamped.
                 * @example 20
                 */
                limit?: components["parameters"]["Limit"];
                /** @description Return only keys with this status. */
                status?: "active" | "banned" | "expired" | "revoked";
            };
            header?: {
                /**
                 * @description The `ETag` that you have, a list of them, or `*` (RFC 9110). A malformed value is ignored.
                 * @example "5a1c7d"
                 */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                /**
                 * @description `handling=strict` (RFC 7240): reject the request if its query has unknown parameters, or its body unknown members. Other preferences are
                 *     ignored.
                 * @example handling=strict
                 */
                Prefer?: components["parameters"]["Prefer"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    createKey: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Identifies this request, so that it takes effect once however often you send it. 1 to 255 visible ASCII characters, with or without
                 *     double quotes, for example a random UUID: `8e03978e-40d5-43e8-bc93-6894a57f9324`. The response is kept for 24 hours.
                 * @example 8e03978e-40d5-43e8-bc93-6894a57f9324
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description `handling=strict` (RFC 7240): reject the request if its query has unknown parameters, or its body unknown members. Other preferences are
                 *     ignored.
                 * @example handling=strict
                 */
                Prefer?: components["parameters"]["Prefer"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    getKey: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description `handling=strict` (RFC 7240): reject the request if its query has unknown parameters, or its body unknown members. Other preferences are
                 *     ignored.
                 * @example handling=strict
                 */
                Prefer?: components["parameters"]["Prefer"];
            };
            path: {
                /**
                 * @description The ID of the API key, which is no secret, or `self` for the key that you send.
                 * @example key_4Zt9QmVx2LbN7RcD
                 */
                keyId: components["parameters"]["KeyId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    updateKey: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The `ETag` that the animal, order, key or webhook must still have, a list of them, or `*` for any (RFC 9110). An `ETag` in its weak form (`W/"…"`),
                 *     which proxies that compress responses make of it, never matches: send it without `W/`.
                 * @example "5a1c7d"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description `handling=strict` (RFC 7240): reject the request if its query has unknown parameters, or its body unknown members. Other preferences are
                 *     ignored.
                 * @example handling=strict
                 */
                Prefer?: components["parameters"]["Prefer"];
            };
            path: {
                /**
                 * @description The ID of the API key, which is no secret, or `self` for the key that you send.
                 * @example key_4Zt9QmVx2LbN7RcD
                 */
                keyId: components["parameters"]["KeyId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    revokeKey: {
        parameters: {
            query?: {
                /** @description Whether to revoke the keys that it has made by rotating itself too. */
                replacements?: boolean;
            };
            header?: {
                /**
                 * @description Identifies this request, so that it takes effect once however often you send it. 1 to 255 visible ASCII characters, with or without
                 *     double quotes, for example a random UUID: `8e03978e-40d5-43e8-bc93-6894a57f9324`. The response is kept for 24 hours.
                 * @example 8e03978e-40d5-43e8-bc93-6894a57f9324
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description `handling=strict` (RFC 7240): reject the request if its query has unknown parameters, or its body unknown members. Other preferences are
                 *     ignored.
                 * @example handling=strict
                 */
                Prefer?: components["parameters"]["Prefer"];
            };
            path: {
                /**
                 * @description The ID of the API key, which is no secret, or `self` for the key that you send.
                 * @example key_4Zt9QmVx2LbN7RcD
                 */
                keyId: components["parameters"]["KeyId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    rotateKey: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Identifies this request, so that it takes effect once however often you send it. 1 to 255 visible ASCII characters, with or without
                 *     double quotes, for example a random UUID: `8e03978e-40d5-43e8-bc93-6894a57f9324`. The response is kept for 24 hours.
                 * @example 8e03978e-40d5-43e8-bc93-6894a57f9324
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description `handling=strict` (RFC 7240): reject the request if its query has unknown parameters, or its body unknown members. Other preferences are
                 *     ignored.
                 * @example handling=strict
                 */
                Prefer?: components["parameters"]["Prefer"];
            };
            path: {
                /**
                 * @description The ID of the API key, which is no secret, or `self` for the key that you send.
                 * @example key_4Zt9QmVx2LbN7RcD
                 */
                keyId: components["parameters"]["KeyId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    getOpenAPIDocument: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The `ETag` that you have, a list of them, or `*` (RFC 9110). A malformed value is ignored.
                 * @example "5a1c7d"
                 */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                /**
                 * @description `handling=strict` (RFC 7240): reject the request if its query has unknown parameters, or its body unknown members. Other preferences are
                 *     ignored.
                 * @example handling=strict
                 */
                Prefer?: components["parameters"]["Prefer"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    getOpenAPIDocumentYaml: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The `ETag` that you have, a list of them, or `*` (RFC 9110). A malformed value is ignored.
                 * @example "5a1c7d"
                 */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                /**
                 * @description `handling=strict` (RFC 7240): reject the request if its query has unknown parameters, or its body unknown members. Other preferences are
                 *     ignored.
                 * @example handling=strict
                 */
                Prefer?: components["parameters"]["Prefer"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    listPets: {
        parameters: {
            query?: {
                /** @description Return only animals of this category. */
                categoryId?: components["schemas"]["CategoryId"];
                /** @description Where the page begins, as returned in `X-Next-Cursor` and `Link`, such as `000000000000002a`. A cursor does not expire and grants no access. */
                cursor?: components["parameters"]["Cursor"];
                /**
                 * @description Return only animals with these IDs, separated by commas as in `7,42`. At most 100. IDs that do not exist are left out, and each
                 *     animal is returned once. Clients that send each ID as a parameter, `ids=7&ids=42`, get the same.
                 * @example [
                 *       7,
                 *       42
                 *     ]
                 */
                ids?: number[];
                /**
                 * @description The maximum number of items to return. A number out of range is an error; it is never clamped.
                 * @example 20
                 */
                limit?: components["parameters"]["Limit"];
                /**
                 * @description Return only animals whose name begins with this text. Case and accents matter.
                 * @example Re
                 */
                name?: string;
                /** @description Return only animals with this status. */
                status?: components["schemas"]["PetStatus"];
            };
            header?: {
                /**
                 * @description The `ETag` that you have, a list of them, or `*` (RFC 9110). A malformed value is ignored.
                 * @example "5a1c7d"
                 */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                /**
                 * @description `handling=strict` (RFC 7240): reject the request if its query has unknown parameters, or its body unknown members. Other preferences are
                 *     ignored.
                 * @example handling=strict
                 */
                Prefer?: components["parameters"]["Prefer"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    createPet: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Identifies this request, so that it takes effect once however often you send it. 1 to 255 visible ASCII characters, with or without
                 *     double quotes, for example a random UUID: `8e03978e-40d5-43e8-bc93-6894a57f9324`. The response is kept for 24 hours.
                 * @example 8e03978e-40d5-43e8-bc93-6894a57f9324
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description `handling=strict` (RFC 7240): reject the request if its query has unknown parameters, or its body unknown members. Other preferences are
                 *     ignored.
                 * @example handling=strict
                 */
                Prefer?: components["parameters"]["Prefer"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    getPet: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The `ETag` that you have, a list of them, or `*` (RFC 9110). A malformed value is ignored.
                 * @example "5a1c7d"
                 */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                /**
                 * @description `handling=strict` (RFC 7240): reject the request if its query has unknown parameters, or its body unknown members. Other preferences are
                 *     ignored.
                 * @example handling=strict
                 */
                Prefer?: components["parameters"]["Prefer"];
            };
            path: {
                /**
                 * @description The ID of the animal.
                 * @example 42
                 */
                petId: components["parameters"]["PetId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    updatePet: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The `ETag` that the animal, order, key or webhook must still have, a list of them, or `*` for any (RFC 9110). An `ETag` in its weak form (`W/"…"`),
                 *     which proxies that compress responses make of it, never matches: send it without `W/`.
                 * @example "5a1c7d"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description `handling=strict` (RFC 7240): reject the request if its query has unknown parameters, or its body unknown members. Other preferences are
                 *     ignored.
                 * @example handling=strict
                 */
                Prefer?: components["parameters"]["Prefer"];
            };
            path: {
                /**
                 * @description The ID of the animal.
                 * @example 42
                 */
                petId: components["parameters"]["PetId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    listPlans: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The `ETag` that you have, a list of them, or `*` (RFC 9110). A malformed value is ignored.
                 * @example "5a1c7d"
                 */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                /**
                 * @description `handling=strict` (RFC 7240): reject the request if its query has unknown parameters, or its body unknown members. Other preferences are
                 *     ignored.
                 * @example handling=strict
                 */
                Prefer?: components["parameters"]["Prefer"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    listRequests: {
        parameters: {
            query?: {
                /**
                 * @description Return only requests whose response had this code, one of [all codes](https://api.example.com/docs/errors).
                 * @example rate_limit_exceeded
                 */
                code?: string;
                /** @description Where the page begins, as returned in `X-Next-Cursor` and `Link`, such as `000000000000002a`. A cursor does not expire and grants no access. */
                cursor?: components["parameters"]["Cursor"];
                /**
                 * @description Return only requests of the key with this ID.
                 * @example key_4Zt9QmVx2LbN7RcD
                 */
                key?: string;
                /**
                 * @description The maximum number of items to return. A number out of range is an error; it is never clamped.
                 * @example 20
                 */
                limit?: components["parameters"]["Limit"];
                /**
                 * @description Return only requests that came at this time or later. Write a `+` in it as `%2B`.
                 * @example 2026-11-20T09:00:00Z
                 */
                since?: string;
                /**
                 * @description Return only requests whose response had this status.
                 * @example 429
                 */
                status?: number;
                /**
                 * @description Return only requests that came before this time. Write a `+` in it as `%2B`.
                 * @example 2026-11-20T10:00:00Z
                 */
                until?: string;
            };
            header?: {
                /**
                 * @description The `ETag` that you have, a list of them, or `*` (RFC 9110). A malformed value is ignored.
                 * @example "5a1c7d"
                 */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                /**
                 * @description `handling=strict` (RFC 7240): reject the request if its query has unknown parameters, or its body unknown members. Other preferences are
                 *     ignored.
                 * @example handling=strict
                 */
                Prefer?: components["parameters"]["Prefer"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    getRequest: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The `ETag` that you have, a list of them, or `*` (RFC 9110). A malformed value is ignored.
                 * @example "5a1c7d"
                 */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                /**
                 * @description `handling=strict` (RFC 7240): reject the request if its query has unknown parameters, or its body unknown members. Other preferences are
                 *     ignored.
                 * @example handling=strict
                 */
                Prefer?: components["parameters"]["Prefer"];
            };
            path: {
                /**
                 * @description The `X-Request-Id` of the response. Percent-encode it if you chose it yourself.
                 * @example d4s6v8qk3m5t0b2n7c1g
                 */
                requestId: components["parameters"]["RequestId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    listOrders: {
        parameters: {
            query?: {
                /** @description Where the page begins, as returned in `X-Next-Cursor` and `Link`, such as `000000000000002a`. A cursor does not expire and grants no access. */
                cursor?: components["parameters"]["Cursor"];
                /**
                 * @description The maximum number of items to return. A number out of range is an error; it is never clamped.
                 * @example 20
                 */
                limit?: components["parameters"]["Limit"];
                /** @description Return only orders with this status. */
                status?: components["schemas"]["OrderStatus"];
            };
            header?: {
                /**
                 * @description The `ETag` that you have, a list of them, or `*` (RFC 9110). A malformed value is ignored.
                 * @example "5a1c7d"
                 */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                /**
                 * @description `handling=strict` (RFC 7240): reject the request if its query has unknown parameters, or its body unknown members. Other preferences are
                 *     ignored.
                 * @example handling=strict
                 */
                Prefer?: components["parameters"]["Prefer"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    placeOrder: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Identifies this request, so that it takes effect once however often you send it. 1 to 255 visible ASCII characters, with or without
                 *     double quotes, for example a random UUID: `8e03978e-40d5-43e8-bc93-6894a57f9324`. The response is kept for 24 hours.
                 * @example 8e03978e-40d5-43e8-bc93-6894a57f9324
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description `handling=strict` (RFC 7240): reject the request if its query has unknown parameters, or its body unknown members. Other preferences are
                 *     ignored.
                 * @example handling=strict
                 */
                Prefer?: components["parameters"]["Prefer"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    getOrder: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The `ETag` that you have, a list of them, or `*` (RFC 9110). A malformed value is ignored.
                 * @example "5a1c7d"
                 */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                /**
                 * @description `handling=strict` (RFC 7240): reject the request if its query has unknown parameters, or its body unknown members. Other preferences are
                 *     ignored.
                 * @example handling=strict
                 */
                Prefer?: components["parameters"]["Prefer"];
            };
            path: {
                /**
                 * @description The ID of the order.
                 * @example 7
                 */
                orderId: components["parameters"]["OrderId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    updateOrder: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The `ETag` that the animal, order, key or webhook must still have, a list of them, or `*` for any (RFC 9110). An `ETag` in its weak form (`W/"…"`),
                 *     which proxies that compress responses make of it, never matches: send it without `W/`.
                 * @example "5a1c7d"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description `handling=strict` (RFC 7240): reject the request if its query has unknown parameters, or its body unknown members. Other preferences are
                 *     ignored.
                 * @example handling=strict
                 */
                Prefer?: components["parameters"]["Prefer"];
            };
            path: {
                /**
                 * @description The ID of the order.
                 * @example 7
                 */
                orderId: components["parameters"]["OrderId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    getUsage: {
        parameters: {
            query?: {
                /** @description Report each of your keys too, also those that are revoked or expired. */
                by?: "key";
                /**
                 * @description The UTC month to report in `month`, as in `2026-10`; the current one if only `by` is given. A month in which nothing was used is all
                 *     zeros, also one before you had an account. A month to come is an error.
                 * @example 2026-10
                 */
                month?: string;
            };
            header?: {
                /**
                 * @description `handling=strict` (RFC 7240): reject the request if its query has unknown parameters, or its body unknown members. Other preferences are
                 *     ignored.
                 * @example handling=strict
                 */
                Prefer?: components["parameters"]["Prefer"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    listWebhooks: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The `ETag` that you have, a list of them, or `*` (RFC 9110). A malformed value is ignored.
                 * @example "5a1c7d"
                 */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                /**
                 * @description `handling=strict` (RFC 7240): reject the request if its query has unknown parameters, or its body unknown members. Other preferences are
                 *     ignored.
                 * @example handling=strict
                 */
                Prefer?: components["parameters"]["Prefer"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    createWebhook: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Identifies this request, so that it takes effect once however often you send it. 1 to 255 visible ASCII characters, with or without
                 *     double quotes, for example a random UUID: `8e03978e-40d5-43e8-bc93-6894a57f9324`. The response is kept for 24 hours.
                 * @example 8e03978e-40d5-43e8-bc93-6894a57f9324
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description `handling=strict` (RFC 7240): reject the request if its query has unknown parameters, or its body unknown members. Other preferences are
                 *     ignored.
                 * @example handling=strict
                 */
                Prefer?: components["parameters"]["Prefer"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    getWebhook: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description `handling=strict` (RFC 7240): reject the request if its query has unknown parameters, or its body unknown members. Other preferences are
                 *     ignored.
                 * @example handling=strict
                 */
                Prefer?: components["parameters"]["Prefer"];
            };
            path: {
                /**
                 * @description The ID of the webhook.
                 * @example 3
                 */
                webhookId: components["parameters"]["WebhookId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    deleteWebhook: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description `handling=strict` (RFC 7240): reject the request if its query has unknown parameters, or its body unknown members. Other preferences are
                 *     ignored.
                 * @example handling=strict
                 */
                Prefer?: components["parameters"]["Prefer"];
            };
            path: {
                /**
                 * @description The ID of the webhook.
                 * @example 3
                 */
                webhookId: components["parameters"]["WebhookId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    updateWebhook: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The `ETag` that the animal, order, key or webhook must still have, a list of them, or `*` for any (RFC 9110). An `ETag` in its weak form (`W/"…"`),
                 *     which proxies that compress responses make of it, never matches: send it without `W/`.
                 * @example "5a1c7d"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description `handling=strict` (RFC 7240): reject the request if its query has unknown parameters, or its body unknown members. Other preferences are
                 *     ignored.
                 * @example handling=strict
                 */
                Prefer?: components["parameters"]["Prefer"];
            };
            path: {
                /**
                 * @description The ID of the webhook.
                 * @example 3
                 */
                webhookId: components["parameters"]["WebhookId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    listWebhookDeliveries: {
        parameters: {
            query?: {
                /** @description Where the page begins, as returned in `X-Next-Cursor` and `Link`, such as `000000000000002a`. A cursor does not expire and grants no access. */
                cursor?: components["parameters"]["Cursor"];
                /**
                 * @description The maximum number of items to return. A number out of range is an error; it is never clamped.
                 * @example 20
                 */
                limit?: components["parameters"]["Limit"];
            };
            header?: {
                /**
                 * @description The `ETag` that you have, a list of them, or `*` (RFC 9110). A malformed value is ignored.
                 * @example "5a1c7d"
                 */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                /**
                 * @description `handling=strict` (RFC 7240): reject the request if its query has unknown parameters, or its body unknown members. Other preferences are
                 *     ignored.
                 * @example handling=strict
                 */
                Prefer?: components["parameters"]["Prefer"];
            };
            path: {
                /**
                 * @description The ID of the webhook.
                 * @example 3
                 */
                webhookId: components["parameters"]["WebhookId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    retryWebhookDelivery: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Identifies this request, so that it takes effect once however often you send it. 1 to 255 visible ASCII characters, with or without
                 *     double quotes, for example a random UUID: `8e03978e-40d5-43e8-bc93-6894a57f9324`. The response is kept for 24 hours.
                 * @example 8e03978e-40d5-43e8-bc93-6894a57f9324
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description `handling=strict` (RFC 7240): reject the request if its query has unknown parameters, or its body unknown members. Other preferences are
                 *     ignored.
                 * @example handling=strict
                 */
                Prefer?: components["parameters"]["Prefer"];
            };
            path: {
                /**
                 * @description The ID of the delivery.
                 * @example 1042
                 */
                deliveryId: components["parameters"]["DeliveryId"];
                /**
                 * @description The ID of the webhook.
                 * @example 3
                 */
                webhookId: components["parameters"]["WebhookId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    replayWebhook: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Identifies this request, so that it takes effect once however often you send it. 1 to 255 visible ASCII characters, with or without
                 *     double quotes, for example a random UUID: `8e03978e-40d5-43e8-bc93-6894a57f9324`. The response is kept for 24 hours.
                 * @example 8e03978e-40d5-43e8-bc93-6894a57f9324
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description `handling=strict` (RFC 7240): reject the request if its query has unknown parameters, or its body unknown members. Other preferences are
                 *     ignored.
                 * @example handling=strict
                 */
                Prefer?: components["parameters"]["Prefer"];
            };
            path: {
                /**
                 * @description The ID of the webhook.
                 * @example 3
                 */
                webhookId: components["parameters"]["WebhookId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    rotateWebhookSecret: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Identifies this request, so that it takes effect once however often you send it. 1 to 255 visible ASCII characters, with or without
                 *     double quotes, for example a random UUID: `8e03978e-40d5-43e8-bc93-6894a57f9324`. The response is kept for 24 hours.
                 * @example 8e03978e-40d5-43e8-bc93-6894a57f9324
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description `handling=strict` (RFC 7240): reject the request if its query has unknown parameters, or its body unknown members. Other preferences are
                 *     ignored.
                 * @example handling=strict
                 */
                Prefer?: components["parameters"]["Prefer"];
            };
            path: {
                /**
                 * @description The ID of the webhook.
                 * @example 3
                 */
                webhookId: components["parameters"]["WebhookId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    testWebhook: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Identifies this request, so that it takes effect once however often you send it. 1 to 255 visible ASCII characters, with or without
                 *     double quotes, for example a random UUID: `8e03978e-40d5-43e8-bc93-6894a57f9324`. The response is kept for 24 hours.
                 * @example 8e03978e-40d5-43e8-bc93-6894a57f9324
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description `handling=strict` (RFC 7240): reject the request if its query has unknown parameters, or its body unknown members. Other preferences are
                 *     ignored.
                 * @example handling=strict
                 */
                Prefer?: components["parameters"]["Prefer"];
            };
            path: {
                /**
                 * @description The ID of the webhook.
                 * @example 3
                 */
                webhookId: components["parameters"]["WebhookId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    endpointDisabled: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description The ID of the event, the same in each delivery of it. Handle each once.
                 * @example 8e03978e-40d5-43e8-bc93-6894a57f9324
                 */
                "webhook-id": string;
                /**
                 * @description Signatures by Standard Webhooks 1.0, with blanks between them: two while a secret is rotated. See
                 *     [Webhooks](https://api.example.com/docs/webhooks).
                 * @example v1,27i4BWLGct5fVbJLrbm0AYXg8PUQvWoU3nu7OtzvrAA=
                 */
                "webhook-signature": string;
                /**
                 * @description When this attempt was made, as Unix time in seconds.
                 * @example 1795166508
                 */
                "webhook-timestamp": string;
            };
            path?: never;
            cookie?: never;
        };
        /** @description The event. Members may be added. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "type": "endpoint.disabled",
                 *       "timestamp": "2026-11-20T09:21:48Z",
                 *       "data": {
                 *         "id": "3",
                 *         "host": "shop.example.com",
                 *         "environment": "live",
                 *         "failingSince": "2026-11-19T09:20:03Z",
                 *         "disabledReason": "failures"
                 *       }
                 *     }
                 */
                "application/json": {
                    /** @description The webhook. */
                    data: {
                        /**
                         * @description Why it is disabled: `gone` or `failures`, as in the webhook.
                         * @example failures
                         */
                        disabledReason: string;
                        /**
                         * @description `live` or `test`.
                         * @example live
                         */
                        environment: string;
                        /**
                         * Format: date-time
                         * @description When the first of the failures was, since which nothing succeeded.
                         * @example 2026-11-20T09:21:48Z
                         */
                        failingSince: string;
                        /**
                         * @description The host of its URL.
                         * @example shop.example.com
                         */
                        host: string;
                        /**
                         * @description The ID of the webhook.
                         * @example 3
                         */
                        id: string;
                    };
                    /**
                     * Format: date-time
                     * @description When it happened, in UTC.
                     * @example 2026-11-20T09:21:48Z
                     */
                    timestamp: string;
                    /**
                     * @description The type.
                     * @constant
                     */
                    type: "endpoint.disabled";
                };
            };
        };
        responses: never;
    };
    endpointFailing: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description The ID of the event, the same in each delivery of it. Handle each once.
                 * @example 8e03978e-40d5-43e8-bc93-6894a57f9324
                 */
                "webhook-id": string;
                /**
                 * @description Signatures by Standard Webhooks 1.0, with blanks between them: two while a secret is rotated. See
                 *     [Webhooks](https://api.example.com/docs/webhooks).
                 * @example v1,27i4BWLGct5fVbJLrbm0AYXg8PUQvWoU3nu7OtzvrAA=
                 */
                "webhook-signature": string;
                /**
                 * @description When this attempt was made, as Unix time in seconds.
                 * @example 1795166508
                 */
                "webhook-timestamp": string;
            };
            path?: never;
            cookie?: never;
        };
        /** @description The event. Members may be added. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "type": "endpoint.failing",
                 *       "timestamp": "2026-11-20T09:21:48Z",
                 *       "data": {
                 *         "id": "3",
                 *         "host": "shop.example.com",
                 *         "environment": "live",
                 *         "failingSince": "2026-11-19T09:20:03Z"
                 *       }
                 *     }
                 */
                "application/json": {
                    /** @description The webhook. */
                    data: {
                        /**
                         * @description `live` or `test`.
                         * @example live
                         */
                        environment: string;
                        /**
                         * Format: date-time
                         * @description When the first of the failures was, since which nothing succeeded.
                         * @example 2026-11-20T09:21:48Z
                         */
                        failingSince: string;
                        /**
                         * @description The host of its URL.
                         * @example shop.example.com
                         */
                        host: string;
                        /**
                         * @description The ID of the webhook.
                         * @example 3
                         */
                        id: string;
                    };
                    /**
                     * Format: date-time
                     * @description When it happened, in UTC.
                     * @example 2026-11-20T09:21:48Z
                     */
                    timestamp: string;
                    /**
                     * @description The type.
                     * @constant
                     */
                    type: "endpoint.failing";
                };
            };
        };
        responses: never;
    };
    eventsDropped: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description The ID of the event, the same in each delivery of it. Handle each once.
                 * @example 8e03978e-40d5-43e8-bc93-6894a57f9324
                 */
                "webhook-id": string;
                /**
                 * @description Signatures by Standard Webhooks 1.0, with blanks between them: two while a secret is rotated. See
                 *     [Webhooks](https://api.example.com/docs/webhooks).
                 * @example v1,27i4BWLGct5fVbJLrbm0AYXg8PUQvWoU3nu7OtzvrAA=
                 */
                "webhook-signature": string;
                /**
                 * @description When this attempt was made, as Unix time in seconds.
                 * @example 1795166508
                 */
                "webhook-timestamp": string;
            };
            path?: never;
            cookie?: never;
        };
        /** @description The event. Members may be added. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "type": "events.dropped",
                 *       "timestamp": "2026-11-20T09:21:48Z",
                 *       "data": {
                 *         "count": 1200
                 *       }
                 *     }
                 */
                "application/json": {
                    /** @description What was dropped. */
                    data: {
                        /**
                         * Format: int64
                         * @description How many events.
                         * @example 1200
                         */
                        count: number;
                    };
                    /**
                     * Format: date-time
                     * @description When it happened, in UTC.
                     * @example 2026-11-20T09:21:48Z
                     */
                    timestamp: string;
                    /**
                     * @description The type.
                     * @constant
                     */
                    type: "events.dropped";
                };
            };
        };
        responses: never;
    };
    keyBanned: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description The ID of the event, the same in each delivery of it. Handle each once.
                 * @example 8e03978e-40d5-43e8-bc93-6894a57f9324
                 */
                "webhook-id": string;
                /**
                 * @description Signatures by Standard Webhooks 1.0, with blanks between them: two while a secret is rotated. See
                 *     [Webhooks](https://api.example.com/docs/webhooks).
                 * @example v1,27i4BWLGct5fVbJLrbm0AYXg8PUQvWoU3nu7OtzvrAA=
                 */
                "webhook-signature": string;
                /**
                 * @description When this attempt was made, as Unix time in seconds.
                 * @example 1795166508
                 */
                "webhook-timestamp": string;
            };
            path?: never;
            cookie?: never;
        };
        /** @description The event. Members may be added. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "type": "key.banned",
                 *       "timestamp": "2026-11-20T09:21:48Z",
                 *       "data": {
                 *         "id": "key_4Zt9QmVx2LbN7RcD",
                 *         "name": "nightly import",
                 *         "environment": "live",
                 *         "last4": "9fQ2",
                 *         "scope": "read",
                 *         "createdAt": "2026-11-20T09:21:48Z",
                 *         "expiresAt": "2027-11-20T00:00:00Z",
                 *         "revokedAt": null,
                 *         "reason": "it kept sending requests after 429",
                 *         "startsAt": "2026-11-20T09:21:48Z",
                 *         "endsAt": "2026-11-20T09:26:48Z"
                 *       }
                 *     }
                 */
                "application/json": {
                    /** @description The key that was banned. */
                    data: {
                        /**
                         * Format: date-time
                         * @description When it was issued.
                         * @example 2026-11-20T09:21:48Z
                         */
                        createdAt: string;
                        /**
                         * Format: date-time
                         * @description When it ends.
                         * @example 2026-11-20T09:26:48Z
                         */
                        endsAt: string;
                        /**
                         * @description `live` or `test`.
                         * @example live
                         */
                        environment: string;
                        /**
                         * @description An instant, or `null`. When it expires; `null` for never.
                         * @example 2027-11-20T00:00:00Z
                         */
                        expiresAt: unknown;
                        /**
                         * @description The ID of the key.
                         * @example key_4Zt9QmVx2LbN7RcD
                         */
                        id: string;
                        /**
                         * @description The last four characters of the key.
                         * @example 9fQ2
                         */
                        last4: string;
                        /**
                         * @description The name that you gave it. It may be empty.
                         * @example nightly import
                         */
                        name: string;
                        /**
                         * @description Why, as the 429 says.
                         * @example it kept sending requests after 429
                         */
                        reason: string;
                        /**
                         * @description An instant, or `null`. When it was revoked; `null` if it was not.
                         * @example null
                         */
                        revokedAt: unknown;
                        /**
                         * @description What it may do, as in `KeyScope`.
                         * @example read
                         */
                        scope: string;
                        /**
                         * Format: date-time
                         * @description When the ban began.
                         * @example 2026-11-20T09:21:48Z
                         */
                        startsAt: string;
                    };
                    /**
                     * Format: date-time
                     * @description When it happened, in UTC.
                     * @example 2026-11-20T09:21:48Z
                     */
                    timestamp: string;
                    /**
                     * @description The type.
                     * @constant
                     */
                    type: "key.banned";
                };
            };
        };
        responses: never;
    };
    keyExpiring: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description The ID of the event, the same in each delivery of it. Handle each once.
                 * @example 8e03978e-40d5-43e8-bc93-6894a57f9324
                 */
                "webhook-id": string;
                /**
                 * @description Signatures by Standard Webhooks 1.0, with blanks between them: two while a secret is rotated. See
                 *     [Webhooks](https://api.example.com/docs/webhooks).
                 * @example v1,27i4BWLGct5fVbJLrbm0AYXg8PUQvWoU3nu7OtzvrAA=
                 */
                "webhook-signature": string;
                /**
                 * @description When this attempt was made, as Unix time in seconds.
                 * @example 1795166508
                 */
                "webhook-timestamp": string;
            };
            path?: never;
            cookie?: never;
        };
        /** @description The event. Members may be added. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "type": "key.expiring",
                 *       "timestamp": "2026-11-20T09:21:48Z",
                 *       "data": {
                 *         "id": "key_4Zt9QmVx2LbN7RcD",
                 *         "name": "nightly import",
                 *         "environment": "live",
                 *         "last4": "9fQ2",
                 *         "scope": "read",
                 *         "createdAt": "2026-11-20T09:21:48Z",
                 *         "expiresAt": "2027-11-20T00:00:00Z",
                 *         "revokedAt": null,
                 *         "days": 7,
                 *         "replacedBy": null
                 *       }
                 *     }
                 */
                "application/json": {
                    /** @description The key that will expire. */
                    data: {
                        /**
                         * Format: date-time
                         * @description When it was issued.
                         * @example 2026-11-20T09:21:48Z
                         */
                        createdAt: string;
                        /**
                         * Format: int64
                         * @description How many days before its end this is told: 30, 7 or 1.
                         * @example 7
                         */
                        days: number;
                        /**
                         * @description `live` or `test`.
                         * @example live
                         */
                        environment: string;
                        /**
                         * @description An instant, or `null`. When it expires; `null` for never.
                         * @example 2027-11-20T00:00:00Z
                         */
                        expiresAt: unknown;
                        /**
                         * @description The ID of the key.
                         * @example key_4Zt9QmVx2LbN7RcD
                         */
                        id: string;
                        /**
                         * @description The last four characters of the key.
                         * @example 9fQ2
                         */
                        last4: string;
                        /**
                         * @description The name that you gave it. It may be empty.
                         * @example nightly import
                         */
                        name: string;
                        /**
                         * @description A text, or `null`. The ID of the key that replaces it.
                         * @example null
                         */
                        replacedBy: unknown;
                        /**
                         * @description An instant, or `null`. When it was revoked; `null` if it was not.
                         * @example null
                         */
                        revokedAt: unknown;
                        /**
                         * @description What it may do, as in `KeyScope`.
                         * @example read
                         */
                        scope: string;
                    };
                    /**
                     * Format: date-time
                     * @description When it happened, in UTC.
                     * @example 2026-11-20T09:21:48Z
                     */
                    timestamp: string;
                    /**
                     * @description The type.
                     * @constant
                     */
                    type: "key.expiring";
                };
            };
        };
        responses: never;
    };
    keyIssued: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description The ID of the event, the same in each delivery of it. Handle each once.
                 * @example 8e03978e-40d5-43e8-bc93-6894a57f9324
                 */
                "webhook-id": string;
                /**
                 * @description Signatures by Standard Webhooks 1.0, with blanks between them: two while a secret is rotated. See
                 *     [Webhooks](https://api.example.com/docs/webhooks).
                 * @example v1,27i4BWLGct5fVbJLrbm0AYXg8PUQvWoU3nu7OtzvrAA=
                 */
                "webhook-signature": string;
                /**
                 * @description When this attempt was made, as Unix time in seconds.
                 * @example 1795166508
                 */
                "webhook-timestamp": string;
            };
            path?: never;
            cookie?: never;
        };
        /** @description The event. Members may be added. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "type": "key.issued",
                 *       "timestamp": "2026-11-20T09:21:48Z",
                 *       "data": {
                 *         "id": "key_4Zt9QmVx2LbN7RcD",
                 *         "name": "nightly import",
                 *         "environment": "live",
                 *         "last4": "9fQ2",
                 *         "scope": "read",
                 *         "createdAt": "2026-11-20T09:21:48Z",
                 *         "expiresAt": "2027-11-20T00:00:00Z",
                 *         "revokedAt": null
                 *       }
                 *     }
                 */
                "application/json": {
                    /** @description The key. */
                    data: {
                        /**
                         * Format: date-time
                         * @description When it was issued.
                         * @example 2026-11-20T09:21:48Z
                         */
                        createdAt: string;
                        /**
                         * @description `live` or `test`.
                         * @example live
                         */
                        environment: string;
                        /**
                         * @description An instant, or `null`. When it expires; `null` for never.
                         * @example 2027-11-20T00:00:00Z
                         */
                        expiresAt: unknown;
                        /**
                         * @description The ID of the key.
                         * @example key_4Zt9QmVx2LbN7RcD
                         */
                        id: string;
                        /**
                         * @description The last four characters of the key.
                         * @example 9fQ2
                         */
                        last4: string;
                        /**
                         * @description The name that you gave it. It may be empty.
                         * @example nightly import
                         */
                        name: string;
                        /**
                         * @description An instant, or `null`. When it was revoked; `null` if it was not.
                         * @example null
                         */
                        revokedAt: unknown;
                        /**
                         * @description What it may do, as in `KeyScope`.
                         * @example read
                         */
                        scope: string;
                    };
                    /**
                     * Format: date-time
                     * @description When it happened, in UTC.
                     * @example 2026-11-20T09:21:48Z
                     */
                    timestamp: string;
                    /**
                     * @description The type.
                     * @constant
                     */
                    type: "key.issued";
                };
            };
        };
        responses: never;
    };
    keyRevoked: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description The ID of the event, the same in each delivery of it. Handle each once.
                 * @example 8e03978e-40d5-43e8-bc93-6894a57f9324
                 */
                "webhook-id": string;
                /**
                 * @description Signatures by Standard Webhooks 1.0, with blanks between them: two while a secret is rotated. See
                 *     [Webhooks](https://api.example.com/docs/webhooks).
                 * @example v1,27i4BWLGct5fVbJLrbm0AYXg8PUQvWoU3nu7OtzvrAA=
                 */
                "webhook-signature": string;
                /**
                 * @description When this attempt was made, as Unix time in seconds.
                 * @example 1795166508
                 */
                "webhook-timestamp": string;
            };
            path?: never;
            cookie?: never;
        };
        /** @description The event. Members may be added. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "type": "key.revoked",
                 *       "timestamp": "2026-11-20T09:21:48Z",
                 *       "data": {
                 *         "id": "key_4Zt9QmVx2LbN7RcD",
                 *         "name": "nightly import",
                 *         "environment": "live",
                 *         "last4": "9fQ2",
                 *         "scope": "read",
                 *         "createdAt": "2026-11-20T09:21:48Z",
                 *         "expiresAt": "2027-11-20T00:00:00Z",
                 *         "revokedAt": null
                 *       }
                 *     }
                 */
                "application/json": {
                    /** @description The key that was revoked. */
                    data: {
                        /**
                         * Format: date-time
                         * @description When it was issued.
                         * @example 2026-11-20T09:21:48Z
                         */
                        createdAt: string;
                        /**
                         * @description `live` or `test`.
                         * @example live
                         */
                        environment: string;
                        /**
                         * @description An instant, or `null`. When it expires; `null` for never.
                         * @example 2027-11-20T00:00:00Z
                         */
                        expiresAt: unknown;
                        /**
                         * @description The ID of the key.
                         * @example key_4Zt9QmVx2LbN7RcD
                         */
                        id: string;
                        /**
                         * @description The last four characters of the key.
                         * @example 9fQ2
                         */
                        last4: string;
                        /**
                         * @description The name that you gave it. It may be empty.
                         * @example nightly import
                         */
                        name: string;
                        /**
                         * @description An instant, or `null`. When it was revoked; `null` if it was not.
                         * @example null
                         */
                        revokedAt: unknown;
                        /**
                         * @description What it may do, as in `KeyScope`.
                         * @example read
                         */
                        scope: string;
                    };
                    /**
                     * Format: date-time
                     * @description When it happened, in UTC.
                     * @example 2026-11-20T09:21:48Z
                     */
                    timestamp: string;
                    /**
                     * @description The type.
                     * @constant
                     */
                    type: "key.revoked";
                };
            };
        };
        responses: never;
    };
    keyRotated: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description The ID of the event, the same in each delivery of it. Handle each once.
                 * @example 8e03978e-40d5-43e8-bc93-6894a57f9324
                 */
                "webhook-id": string;
                /**
                 * @description Signatures by Standard Webhooks 1.0, with blanks between them: two while a secret is rotated. See
                 *     [Webhooks](https://api.example.com/docs/webhooks).
                 * @example v1,27i4BWLGct5fVbJLrbm0AYXg8PUQvWoU3nu7OtzvrAA=
                 */
                "webhook-signature": string;
                /**
                 * @description When this attempt was made, as Unix time in seconds.
                 * @example 1795166508
                 */
                "webhook-timestamp": string;
            };
            path?: never;
            cookie?: never;
        };
        /** @description The event. Members may be added. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "type": "key.rotated",
                 *       "timestamp": "2026-11-20T09:21:48Z",
                 *       "data": {
                 *         "id": "key_4Zt9QmVx2LbN7RcD",
                 *         "name": "nightly import",
                 *         "environment": "live",
                 *         "last4": "9fQ2",
                 *         "scope": "read",
                 *         "createdAt": "2026-11-20T09:21:48Z",
                 *         "expiresAt": "2027-11-20T00:00:00Z",
                 *         "revokedAt": null,
                 *         "replacedBy": "key_1Nc5VbYq7XrM0KeA"
                 *       }
                 *     }
                 */
                "application/json": {
                    /** @description The key that was rotated. */
                    data: {
                        /**
                         * Format: date-time
                         * @description When it was issued.
                         * @example 2026-11-20T09:21:48Z
                         */
                        createdAt: string;
                        /**
                         * @description `live` or `test`.
                         * @example live
                         */
                        environment: string;
                        /**
                         * @description An instant, or `null`. When it expires; `null` for never.
                         * @example 2027-11-20T00:00:00Z
                         */
                        expiresAt: unknown;
                        /**
                         * @description The ID of the key.
                         * @example key_4Zt9QmVx2LbN7RcD
                         */
                        id: string;
                        /**
                         * @description The last four characters of the key.
                         * @example 9fQ2
                         */
                        last4: string;
                        /**
                         * @description The name that you gave it. It may be empty.
                         * @example nightly import
                         */
                        name: string;
                        /**
                         * @description The ID of the key that replaces it.
                         * @example key_1Nc5VbYq7XrM0KeA
                         */
                        replacedBy: string;
                        /**
                         * @description An instant, or `null`. When it was revoked; `null` if it was not.
                         * @example null
                         */
                        revokedAt: unknown;
                        /**
                         * @description What it may do, as in `KeyScope`.
                         * @example read
                         */
                        scope: string;
                    };
                    /**
                     * Format: date-time
                     * @description When it happened, in UTC.
                     * @example 2026-11-20T09:21:48Z
                     */
                    timestamp: string;
                    /**
                     * @description The type.
                     * @constant
                     */
                    type: "key.rotated";
                };
            };
        };
        responses: never;
    };
    keyUnbanned: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description The ID of the event, the same in each delivery of it. Handle each once.
                 * @example 8e03978e-40d5-43e8-bc93-6894a57f9324
                 */
                "webhook-id": string;
                /**
                 * @description Signatures by Standard Webhooks 1.0, with blanks between them: two while a secret is rotated. See
                 *     [Webhooks](https://api.example.com/docs/webhooks).
                 * @example v1,27i4BWLGct5fVbJLrbm0AYXg8PUQvWoU3nu7OtzvrAA=
                 */
                "webhook-signature": string;
                /**
                 * @description When this attempt was made, as Unix time in seconds.
                 * @example 1795166508
                 */
                "webhook-timestamp": string;
            };
            path?: never;
            cookie?: never;
        };
        /** @description The event. Members may be added. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "type": "key.unbanned",
                 *       "timestamp": "2026-11-20T09:21:48Z",
                 *       "data": {
                 *         "id": "key_4Zt9QmVx2LbN7RcD",
                 *         "name": "nightly import",
                 *         "environment": "live",
                 *         "last4": "9fQ2",
                 *         "scope": "read",
                 *         "createdAt": "2026-11-20T09:21:48Z",
                 *         "expiresAt": "2027-11-20T00:00:00Z",
                 *         "revokedAt": null
                 *       }
                 *     }
                 */
                "application/json": {
                    /** @description The key. */
                    data: {
                        /**
                         * Format: date-time
                         * @description When it was issued.
                         * @example 2026-11-20T09:21:48Z
                         */
                        createdAt: string;
                        /**
                         * @description `live` or `test`.
                         * @example live
                         */
                        environment: string;
                        /**
                         * @description An instant, or `null`. When it expires; `null` for never.
                         * @example 2027-11-20T00:00:00Z
                         */
                        expiresAt: unknown;
                        /**
                         * @description The ID of the key.
                         * @example key_4Zt9QmVx2LbN7RcD
                         */
                        id: string;
                        /**
                         * @description The last four characters of the key.
                         * @example 9fQ2
                         */
                        last4: string;
                        /**
                         * @description The name that you gave it. It may be empty.
                         * @example nightly import
                         */
                        name: string;
                        /**
                         * @description An instant, or `null`. When it was revoked; `null` if it was not.
                         * @example null
                         */
                        revokedAt: unknown;
                        /**
                         * @description What it may do, as in `KeyScope`.
                         * @example read
                         */
                        scope: string;
                    };
                    /**
                     * Format: date-time
                     * @description When it happened, in UTC.
                     * @example 2026-11-20T09:21:48Z
                     */
                    timestamp: string;
                    /**
                     * @description The type.
                     * @constant
                     */
                    type: "key.unbanned";
                };
            };
        };
        responses: never;
    };
    monthClosed: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description The ID of the event, the same in each delivery of it. Handle each once.
                 * @example 8e03978e-40d5-43e8-bc93-6894a57f9324
                 */
                "webhook-id": string;
                /**
                 * @description Signatures by Standard Webhooks 1.0, with blanks between them: two while a secret is rotated. See
                 *     [Webhooks](https://api.example.com/docs/webhooks).
                 * @example v1,27i4BWLGct5fVbJLrbm0AYXg8PUQvWoU3nu7OtzvrAA=
                 */
                "webhook-signature": string;
                /**
                 * @description When this attempt was made, as Unix time in seconds.
                 * @example 1795166508
                 */
                "webhook-timestamp": string;
            };
            path?: never;
            cookie?: never;
        };
        /** @description The event. Members may be added. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "type": "month.closed",
                 *       "timestamp": "2026-11-20T09:21:48Z",
                 *       "data": {
                 *         "month": "2026-10",
                 *         "sha256": "06b4574dd76b30d9a03be2a9c43dc4dee7ea6e95ef99b33693e9a009b166d4ee"
                 *       }
                 *     }
                 */
                "application/json": {
                    /** @description The month. */
                    data: {
                        /**
                         * @description The month, as in `month` of [your usage](#tag/usage/GET/usage).
                         * @example 2026-10
                         */
                        month: string;
                        /**
                         * @description The seal of the closed month: the SHA-256 of its lines, in hexadecimal.
                         * @example 06b4574dd76b30d9a03be2a9c43dc4dee7ea6e95ef99b33693e9a009b166d4ee
                         */
                        sha256: string;
                    };
                    /**
                     * Format: date-time
                     * @description When it happened, in UTC.
                     * @example 2026-11-20T09:21:48Z
                     */
                    timestamp: string;
                    /**
                     * @description The type.
                     * @constant
                     */
                    type: "month.closed";
                };
            };
        };
        responses: never;
    };
    orderCreated: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description The ID of the event, the same in each delivery of it. Handle each once.
                 * @example 8e03978e-40d5-43e8-bc93-6894a57f9324
                 */
                "webhook-id": string;
                /**
                 * @description Signatures by Standard Webhooks 1.0, with blanks between them: two while a secret is rotated. See
                 *     [Webhooks](https://api.example.com/docs/webhooks).
                 * @example v1,27i4BWLGct5fVbJLrbm0AYXg8PUQvWoU3nu7OtzvrAA=
                 */
                "webhook-signature": string;
                /**
                 * @description When this attempt was made, as Unix time in seconds.
                 * @example 1795166508
                 */
                "webhook-timestamp": string;
            };
            path?: never;
            cookie?: never;
        };
        /** @description The event. Members may be added. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "type": "order.created",
                 *       "timestamp": "2026-11-20T09:21:48Z",
                 *       "data": {
                 *         "id": "7",
                 *         "petId": "42",
                 *         "quantity": 1,
                 *         "status": "placed",
                 *         "createdAt": "2026-11-20T09:21:48Z"
                 *       }
                 *     }
                 */
                "application/json": {
                    /** @description The order. */
                    data: {
                        /**
                         * Format: date-time
                         * @description When it was placed.
                         * @example 2026-11-20T09:21:48Z
                         */
                        createdAt: string;
                        /**
                         * @description The ID, as text.
                         * @example 7
                         */
                        id: string;
                        /**
                         * @description The ID of the animal, as text.
                         * @example 42
                         */
                        petId: string;
                        /**
                         * Format: int64
                         * @description The quantity.
                         * @example 1
                         */
                        quantity: number;
                        /**
                         * @description The status.
                         * @example placed
                         */
                        status: string;
                    };
                    /**
                     * Format: date-time
                     * @description When it happened, in UTC.
                     * @example 2026-11-20T09:21:48Z
                     */
                    timestamp: string;
                    /**
                     * @description The type.
                     * @constant
                     */
                    type: "order.created";
                };
            };
        };
        responses: never;
    };
    orderUpdated: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description The ID of the event, the same in each delivery of it. Handle each once.
                 * @example 8e03978e-40d5-43e8-bc93-6894a57f9324
                 */
                "webhook-id": string;
                /**
                 * @description Signatures by Standard Webhooks 1.0, with blanks between them: two while a secret is rotated. See
                 *     [Webhooks](https://api.example.com/docs/webhooks).
                 * @example v1,27i4BWLGct5fVbJLrbm0AYXg8PUQvWoU3nu7OtzvrAA=
                 */
                "webhook-signature": string;
                /**
                 * @description When this attempt was made, as Unix time in seconds.
                 * @example 1795166508
                 */
                "webhook-timestamp": string;
            };
            path?: never;
            cookie?: never;
        };
        /** @description The event. Members may be added. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "type": "order.updated",
                 *       "timestamp": "2026-11-20T09:21:48Z",
                 *       "data": {
                 *         "id": "7",
                 *         "petId": "42",
                 *         "quantity": 1,
                 *         "status": "placed",
                 *         "createdAt": "2026-11-20T09:21:48Z"
                 *       }
                 *     }
                 */
                "application/json": {
                    /** @description The order. */
                    data: {
                        /**
                         * Format: date-time
                         * @description When it was placed.
                         * @example 2026-11-20T09:21:48Z
                         */
                        createdAt: string;
                        /**
                         * @description The ID, as text.
                         * @example 7
                         */
                        id: string;
                        /**
                         * @description The ID of the animal, as text.
                         * @example 42
                         */
                        petId: string;
                        /**
                         * Format: int64
                         * @description The quantity.
                         * @example 1
                         */
                        quantity: number;
                        /**
                         * @description The status.
                         * @example placed
                         */
                        status: string;
                    };
                    /**
                     * Format: date-time
                     * @description When it happened, in UTC.
                     * @example 2026-11-20T09:21:48Z
                     */
                    timestamp: string;
                    /**
                     * @description The type.
                     * @constant
                     */
                    type: "order.updated";
                };
            };
        };
        responses: never;
    };
    petCreated: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description The ID of the event, the same in each delivery of it. Handle each once.
                 * @example 8e03978e-40d5-43e8-bc93-6894a57f9324
                 */
                "webhook-id": string;
                /**
                 * @description Signatures by Standard Webhooks 1.0, with blanks between them: two while a secret is rotated. See
                 *     [Webhooks](https://api.example.com/docs/webhooks).
                 * @example v1,27i4BWLGct5fVbJLrbm0AYXg8PUQvWoU3nu7OtzvrAA=
                 */
                "webhook-signature": string;
                /**
                 * @description When this attempt was made, as Unix time in seconds.
                 * @example 1795166508
                 */
                "webhook-timestamp": string;
            };
            path?: never;
            cookie?: never;
        };
        /** @description The event. Members may be added. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "type": "pet.created",
                 *       "timestamp": "2026-11-20T09:21:48Z",
                 *       "data": {
                 *         "id": "42",
                 *         "name": "Rex",
                 *         "categoryId": "7",
                 *         "status": "available"
                 *       }
                 *     }
                 */
                "application/json": {
                    /** @description The animal. */
                    data: {
                        /**
                         * @description The category, as text.
                         * @example 7
                         */
                        categoryId: string;
                        /**
                         * @description The ID, as text.
                         * @example 42
                         */
                        id: string;
                        /**
                         * @description The name.
                         * @example Rex
                         */
                        name: string;
                        /**
                         * @description The status.
                         * @example available
                         */
                        status: string;
                    };
                    /**
                     * Format: date-time
                     * @description When it happened, in UTC.
                     * @example 2026-11-20T09:21:48Z
                     */
                    timestamp: string;
                    /**
                     * @description The type.
                     * @constant
                     */
                    type: "pet.created";
                };
            };
        };
        responses: never;
    };
    petUpdated: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description The ID of the event, the same in each delivery of it. Handle each once.
                 * @example 8e03978e-40d5-43e8-bc93-6894a57f9324
                 */
                "webhook-id": string;
                /**
                 * @description Signatures by Standard Webhooks 1.0, with blanks between them: two while a secret is rotated. See
                 *     [Webhooks](https://api.example.com/docs/webhooks).
                 * @example v1,27i4BWLGct5fVbJLrbm0AYXg8PUQvWoU3nu7OtzvrAA=
                 */
                "webhook-signature": string;
                /**
                 * @description When this attempt was made, as Unix time in seconds.
                 * @example 1795166508
                 */
                "webhook-timestamp": string;
            };
            path?: never;
            cookie?: never;
        };
        /** @description The event. Members may be added. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "type": "pet.updated",
                 *       "timestamp": "2026-11-20T09:21:48Z",
                 *       "data": {
                 *         "id": "42",
                 *         "name": "Rex",
                 *         "categoryId": "7",
                 *         "status": "available"
                 *       }
                 *     }
                 */
                "application/json": {
                    /** @description The animal. */
                    data: {
                        /**
                         * @description The category, as text.
                         * @example 7
                         */
                        categoryId: string;
                        /**
                         * @description The ID, as text.
                         * @example 42
                         */
                        id: string;
                        /**
                         * @description The name.
                         * @example Rex
                         */
                        name: string;
                        /**
                         * @description The status.
                         * @example available
                         */
                        status: string;
                    };
                    /**
                     * Format: date-time
                     * @description When it happened, in UTC.
                     * @example 2026-11-20T09:21:48Z
                     */
                    timestamp: string;
                    /**
                     * @description The type.
                     * @constant
                     */
                    type: "pet.updated";
                };
            };
        };
        responses: never;
    };
    ping: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description The ID of the event, the same in each delivery of it. Handle each once.
                 * @example 8e03978e-40d5-43e8-bc93-6894a57f9324
                 */
                "webhook-id": string;
                /**
                 * @description Signatures by Standard Webhooks 1.0, with blanks between them: two while a secret is rotated. See
                 *     [Webhooks](https://api.example.com/docs/webhooks).
                 * @example v1,27i4BWLGct5fVbJLrbm0AYXg8PUQvWoU3nu7OtzvrAA=
                 */
                "webhook-signature": string;
                /**
                 * @description When this attempt was made, as Unix time in seconds.
                 * @example 1795166508
                 */
                "webhook-timestamp": string;
            };
            path?: never;
            cookie?: never;
        };
        /** @description The event. Members may be added. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "type": "ping",
                 *       "timestamp": "2026-11-20T09:21:48Z",
                 *       "data": {}
                 *     }
                 */
                "application/json": {
                    /** @description Nothing. */
                    data: Record<string, never>;
                    /**
                     * Format: date-time
                     * @description When it happened, in UTC.
                     * @example 2026-11-20T09:21:48Z
                     */
                    timestamp: string;
                    /**
                     * @description The type.
                     * @constant
                     */
                    type: "ping";
                };
            };
        };
        responses: never;
    };
    planChanged: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description The ID of the event, the same in each delivery of it. Handle each once.
                 * @example 8e03978e-40d5-43e8-bc93-6894a57f9324
                 */
                "webhook-id": string;
                /**
                 * @description Signatures by Standard Webhooks 1.0, with blanks between them: two while a secret is rotated. See
                 *     [Webhooks](https://api.example.com/docs/webhooks).
                 * @example v1,27i4BWLGct5fVbJLrbm0AYXg8PUQvWoU3nu7OtzvrAA=
                 */
                "webhook-signature": string;
                /**
                 * @description When this attempt was made, as Unix time in seconds.
                 * @example 1795166508
                 */
                "webhook-timestamp": string;
            };
            path?: never;
            cookie?: never;
        };
        /** @description The event. Members may be added. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "type": "plan.changed",
                 *       "timestamp": "2026-11-20T09:21:48Z",
                 *       "data": {
                 *         "plan": "pro",
                 *         "perMinute": 300,
                 *         "perDay": 10000,
                 *         "perMonth": null,
                 *         "overage": null,
                 *         "overageLimit": null,
                 *         "since": "2026-11-20T09:21:48Z",
                 *         "before": {
                 *           "plan": "pro",
                 *           "perMinute": 300,
                 *           "perDay": 10000,
                 *           "perMonth": null,
                 *           "overage": null,
                 *           "overageLimit": null
                 *         }
                 *       }
                 *     }
                 */
                "application/json": {
                    /** @description Your plan as it is now. */
                    data: {
                        /** @description The plan before, with its numbers. */
                        before: {
                            /**
                             * @description A text, or `null`. How many requests a month allows above them: `none`, `number`, `share` or `unlimited`; `null` if the plan has no month.
                             * @example null
                             */
                            overage: unknown;
                            /**
                             * @description A whole number, or `null`. That number; `null` without one.
                             * @example null
                             */
                            overageLimit: unknown;
                            /**
                             * Format: int64
                             * @description The requests per day.
                             * @example 10000
                             */
                            perDay: number;
                            /**
                             * Format: int64
                             * @description The requests per minute.
                             * @example 300
                             */
                            perMinute: number;
                            /**
                             * @description A whole number, or `null`. The requests that a month includes; `null` if the plan has no month.
                             * @example null
                             */
                            perMonth: unknown;
                            /**
                             * @description The name of the plan.
                             * @example pro
                             */
                            plan: string;
                        };
                        /**
                         * @description A text, or `null`. How many requests a month allows above them: `none`, `number`, `share` or `unlimited`; `null` if the plan has no month.
                         * @example null
                         */
                        overage: unknown;
                        /**
                         * @description A whole number, or `null`. That number; `null` without one.
                         * @example null
                         */
                        overageLimit: unknown;
                        /**
                         * Format: int64
                         * @description The requests per day.
                         * @example 10000
                         */
                        perDay: number;
                        /**
                         * Format: int64
                         * @description The requests per minute.
                         * @example 300
                         */
                        perMinute: number;
                        /**
                         * @description A whole number, or `null`. The requests that a month includes; `null` if the plan has no month.
                         * @example null
                         */
                        perMonth: unknown;
                        /**
                         * @description The name of the plan.
                         * @example pro
                         */
                        plan: string;
                        /**
                         * Format: date-time
                         * @description From when on it holds.
                         * @example 2026-11-20T09:21:48Z
                         */
                        since: string;
                    };
                    /**
                     * Format: date-time
                     * @description When it happened, in UTC.
                     * @example 2026-11-20T09:21:48Z
                     */
                    timestamp: string;
                    /**
                     * @description The type.
                     * @constant
                     */
                    type: "plan.changed";
                };
            };
        };
        responses: never;
    };
    planChanging: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description The ID of the event, the same in each delivery of it. Handle each once.
                 * @example 8e03978e-40d5-43e8-bc93-6894a57f9324
                 */
                "webhook-id": string;
                /**
                 * @description Signatures by Standard Webhooks 1.0, with blanks between them: two while a secret is rotated. See
                 *     [Webhooks](https://api.example.com/docs/webhooks).
                 * @example v1,27i4BWLGct5fVbJLrbm0AYXg8PUQvWoU3nu7OtzvrAA=
                 */
                "webhook-signature": string;
                /**
                 * @description When this attempt was made, as Unix time in seconds.
                 * @example 1795166508
                 */
                "webhook-timestamp": string;
            };
            path?: never;
            cookie?: never;
        };
        /** @description The event. Members may be added. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "type": "plan.changing",
                 *       "timestamp": "2026-11-20T09:21:48Z",
                 *       "data": {
                 *         "plan": "pro",
                 *         "perMinute": 300,
                 *         "perDay": 10000,
                 *         "perMonth": null,
                 *         "overage": null,
                 *         "overageLimit": null,
                 *         "since": "2026-11-20T09:21:48Z",
                 *         "before": {
                 *           "plan": "pro",
                 *           "perMinute": 300,
                 *           "perDay": 10000,
                 *           "perMonth": null,
                 *           "overage": null,
                 *           "overageLimit": null
                 *         }
                 *       }
                 *     }
                 */
                "application/json": {
                    /** @description Your plan as it is now. */
                    data: {
                        /** @description The plan before, with its numbers. */
                        before: {
                            /**
                             * @description A text, or `null`. How many requests a month allows above them: `none`, `number`, `share` or `unlimited`; `null` if the plan has no month.
                             * @example null
                             */
                            overage: unknown;
                            /**
                             * @description A whole number, or `null`. That number; `null` without one.
                             * @example null
                             */
                            overageLimit: unknown;
                            /**
                             * Format: int64
                             * @description The requests per day.
                             * @example 10000
                             */
                            perDay: number;
                            /**
                             * Format: int64
                             * @description The requests per minute.
                             * @example 300
                             */
                            perMinute: number;
                            /**
                             * @description A whole number, or `null`. The requests that a month includes; `null` if the plan has no month.
                             * @example null
                             */
                            perMonth: unknown;
                            /**
                             * @description The name of the plan.
                             * @example pro
                             */
                            plan: string;
                        };
                        /**
                         * @description A text, or `null`. How many requests a month allows above them: `none`, `number`, `share` or `unlimited`; `null` if the plan has no month.
                         * @example null
                         */
                        overage: unknown;
                        /**
                         * @description A whole number, or `null`. That number; `null` without one.
                         * @example null
                         */
                        overageLimit: unknown;
                        /**
                         * Format: int64
                         * @description The requests per day.
                         * @example 10000
                         */
                        perDay: number;
                        /**
                         * Format: int64
                         * @description The requests per minute.
                         * @example 300
                         */
                        perMinute: number;
                        /**
                         * @description A whole number, or `null`. The requests that a month includes; `null` if the plan has no month.
                         * @example null
                         */
                        perMonth: unknown;
                        /**
                         * @description The name of the plan.
                         * @example pro
                         */
                        plan: string;
                        /**
                         * Format: date-time
                         * @description From when on it holds.
                         * @example 2026-11-20T09:21:48Z
                         */
                        since: string;
                    };
                    /**
                     * Format: date-time
                     * @description When it happened, in UTC.
                     * @example 2026-11-20T09:21:48Z
                     */
                    timestamp: string;
                    /**
                     * @description The type.
                     * @constant
                     */
                    type: "plan.changing";
                };
            };
        };
        responses: never;
    };
    quotaThresholdReached: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description The ID of the event, the same in each delivery of it. Handle each once.
                 * @example 8e03978e-40d5-43e8-bc93-6894a57f9324
                 */
                "webhook-id": string;
                /**
                 * @description Signatures by Standard Webhooks 1.0, with blanks between them: two while a secret is rotated. See
                 *     [Webhooks](https://api.example.com/docs/webhooks).
                 * @example v1,27i4BWLGct5fVbJLrbm0AYXg8PUQvWoU3nu7OtzvrAA=
                 */
                "webhook-signature": string;
                /**
                 * @description When this attempt was made, as Unix time in seconds.
                 * @example 1795166508
                 */
                "webhook-timestamp": string;
            };
            path?: never;
            cookie?: never;
        };
        /** @description The event. Members may be added. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "type": "quota.threshold_reached",
                 *       "timestamp": "2026-11-20T09:21:48Z",
                 *       "data": {
                 *         "window": "day",
                 *         "percent": 80,
                 *         "limit": 10000,
                 *         "enforced": true,
                 *         "used": 8000,
                 *         "resetsAt": "2026-11-21T00:00:00Z"
                 *       }
                 *     }
                 */
                "application/json": {
                    /** @description The threshold. */
                    data: {
                        /**
                         * @description Whether requests above `limit` are refused. Above what a month includes they may be overage, which is billed.
                         * @example true
                         */
                        enforced: boolean;
                        /**
                         * Format: int64
                         * @description The limit: of a month what your plan includes, or what it allows with overage.
                         * @example 10000
                         */
                        limit: number;
                        /**
                         * Format: int64
                         * @description The threshold, in per cent of `limit`: 80 or 100.
                         * @example 80
                         */
                        percent: number;
                        /**
                         * Format: date-time
                         * @description When the window ends.
                         * @example 2026-11-21T00:00:00Z
                         */
                        resetsAt: string;
                        /**
                         * Format: int64
                         * @description How many requests are used, as far as it is recorded.
                         * @example 8000
                         */
                        used: number;
                        /**
                         * @description The window, `day` or `month`.
                         * @example day
                         */
                        window: string;
                    };
                    /**
                     * Format: date-time
                     * @description When it happened, in UTC.
                     * @example 2026-11-20T09:21:48Z
                     */
                    timestamp: string;
                    /**
                     * @description The type.
                     * @constant
                     */
                    type: "quota.threshold_reached";
                };
            };
        };
        responses: never;
    };
    tenantResumed: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description The ID of the event, the same in each delivery of it. Handle each once.
                 * @example 8e03978e-40d5-43e8-bc93-6894a57f9324
                 */
                "webhook-id": string;
                /**
                 * @description Signatures by Standard Webhooks 1.0, with blanks between them: two while a secret is rotated. See
                 *     [Webhooks](https://api.example.com/docs/webhooks).
                 * @example v1,27i4BWLGct5fVbJLrbm0AYXg8PUQvWoU3nu7OtzvrAA=
                 */
                "webhook-signature": string;
                /**
                 * @description When this attempt was made, as Unix time in seconds.
                 * @example 1795166508
                 */
                "webhook-timestamp": string;
            };
            path?: never;
            cookie?: never;
        };
        /** @description The event. Members may be added. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "type": "tenant.resumed",
                 *       "timestamp": "2026-11-20T09:21:48Z",
                 *       "data": {
                 *         "name": "acme"
                 *       }
                 *     }
                 */
                "application/json": {
                    /** @description Your account. */
                    data: {
                        /**
                         * @description Its name.
                         * @example acme
                         */
                        name: string;
                    };
                    /**
                     * Format: date-time
                     * @description When it happened, in UTC.
                     * @example 2026-11-20T09:21:48Z
                     */
                    timestamp: string;
                    /**
                     * @description The type.
                     * @constant
                     */
                    type: "tenant.resumed";
                };
            };
        };
        responses: never;
    };
    tenantSuspended: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description The ID of the event, the same in each delivery of it. Handle each once.
                 * @example 8e03978e-40d5-43e8-bc93-6894a57f9324
                 */
                "webhook-id": string;
                /**
                 * @description Signatures by Standard Webhooks 1.0, with blanks between them: two while a secret is rotated. See
                 *     [Webhooks](https://api.example.com/docs/webhooks).
                 * @example v1,27i4BWLGct5fVbJLrbm0AYXg8PUQvWoU3nu7OtzvrAA=
                 */
                "webhook-signature": string;
                /**
                 * @description When this attempt was made, as Unix time in seconds.
                 * @example 1795166508
                 */
                "webhook-timestamp": string;
            };
            path?: never;
            cookie?: never;
        };
        /** @description The event. Members may be added. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "type": "tenant.suspended",
                 *       "timestamp": "2026-11-20T09:21:48Z",
                 *       "data": {
                 *         "name": "acme"
                 *       }
                 *     }
                 */
                "application/json": {
                    /** @description Your account. */
                    data: {
                        /**
                         * @description Its name.
                         * @example acme
                         */
                        name: string;
                    };
                    /**
                     * Format: date-time
                     * @description When it happened, in UTC.
                     * @example 2026-11-20T09:21:48Z
                     */
                    timestamp: string;
                    /**
                     * @description The type.
                     * @constant
                     */
                    type: "tenant.suspended";
                };
            };
        };
        responses: never;
    };
}
