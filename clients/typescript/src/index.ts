import { Petstore as Base } from "./petstore.js";
import type { Options } from "./transport.js";

export * from "./exports.js";

/** Calls the API with one key. Make one client for each key, and share it: its calls share one pause. */
export class Petstore extends Base {
  /** Makes a client of PETSTORE_URL and PETSTORE_API_KEY. Here is no environment, so it throws. */
  static fromEnv(options: Partial<Options> = {}): Petstore {
    void options;
    throw new TypeError("there is no environment: use new Petstore({ url, key })");
  }
}
