import { Petstore as Base } from "./petstore.js";
import type { Options } from "./transport.js";

export * from "./exports.js";

// What Node.js, Bun and Deno have: the package needs no types of theirs.
declare const process: { env: Record<string, string | undefined>; versions: { node: string } };

/** Calls the API with one key. Make one client for each key, and share it: its calls share one pause. */
export class Petstore extends Base {
  constructor(options: Options) {
    super({ runtime: `node/${process.versions.node}`, ...options });
  }

  /** Makes a client of PETSTORE_URL and PETSTORE_API_KEY. */
  static fromEnv(options: Partial<Options> = {}): Petstore {
    const { PETSTORE_URL: url = "", PETSTORE_API_KEY: key = "" } = process.env;
    return new Petstore({ url, key, ...options });
  }
}
