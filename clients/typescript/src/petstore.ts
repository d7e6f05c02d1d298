import { Webhooks } from "./hooks.js";
import { Keys } from "./keys.js";
import { Orders } from "./orders.js";
import { Pets } from "./pets.js";
import { FailedRequests, Plans, UsageReports } from "./reports.js";
import { type Options, Transport } from "./transport.js";

/** Calls the API with one key. Make one client for each key, and share it: its calls share one pause. */
export class Petstore {
  readonly pets: Pets;
  readonly orders: Orders;
  readonly usage: UsageReports;
  readonly plans: Plans;
  readonly keys: Keys;
  readonly webhooks: Webhooks;
  readonly requests: FailedRequests;

  constructor(options: Options) {
    const transport = new Transport(options);
    this.pets = new Pets(transport);
    this.orders = new Orders(transport);
    this.usage = new UsageReports(transport);
    this.plans = new Plans(transport);
    this.keys = new Keys(transport);
    this.webhooks = new Webhooks(transport);
    this.requests = new FailedRequests(transport);
  }
}
