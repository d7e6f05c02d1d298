import type { components, operations } from "./schema.js";

type Schemas = components["schemas"];
type Query<Name extends keyof operations> = NonNullable<operations[Name]["parameters"]["query"]>;

/** A value that is listed, or one that the API has got since. */
export type Open<T extends string> = T | (string & {});

export type PetStatus = Schemas["PetStatus"];
export type OrderStatus = Schemas["OrderStatus"];
export type KeyScope = Schemas["KeyScope"];

/** An animal. */
export type Pet = Schemas["Pet"];
/** An animal to add. */
export type NewPet = Schemas["NewPet"];
/** What to change of an animal. */
export type PetChange = Schemas["PetChange"];
export type Order = Schemas["Order"];
export type NewOrder = Schemas["NewOrder"];
export type OrderChange = Schemas["OrderChange"];
/** An API key. `key`, in the answer that issued it alone, is not enumerable, so that no log shows it. */
export type Key = Schemas["Key"];
export type NewKey = Schemas["NewKey"];
export type KeyChange = Schemas["KeyChange"];
export type KeyRotation = Schemas["KeyRotation"];
export type KeyRevocation = Schemas["KeyRevocation"];
/** Where events are sent. `secret`, in the answer that made it alone, is not enumerable, so that no log shows it. */
export type Webhook = Schemas["Webhook"];
export type NewWebhook = Schemas["NewWebhook"];
export type WebhookChange = Schemas["WebhookChange"];
export type WebhookRotation = Schemas["WebhookRotation"];
export type WebhookReplay = Schemas["WebhookReplay"];
export type WebhookReplayed = Schemas["WebhookReplayed"];
/** An event that is sent to a webhook. */
export type WebhookDelivery = Schemas["WebhookDelivery"];
export type Usage = Schemas["Usage"];
export type UsageMonth = Schemas["UsageMonth"];
export type Plan = Schemas["Plan"];
export type FailedRequest = Schemas["FailedRequest"];
export type ExplainedRequest = Schemas["ExplainedRequest"];

export type ListPets = Query<"listPets">;
export type ListOrders = Query<"listOrders">;
export type ListKeys = Query<"listKeys">;
export type ListWebhookDeliveries = Query<"listWebhookDeliveries">;
export type ListRequests = Query<"listRequests">;
export type ReportUsage = Query<"getUsage">;
