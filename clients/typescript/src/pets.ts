import { type ImportOptions, type ImportResult, importAll } from "./import.js";
import { exact } from "./numbers.js";
import { List } from "./pages.js";
import type { CallOptions, PatchOptions, PostOptions, Transport } from "./transport.js";
import type { ListPets, NewPet, Pet, PetChange } from "./types.js";

/** The animals of your catalogue. */
export class Pets {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Lists animals in the order of their IDs. */
  list(query: ListPets = {}, options: CallOptions = {}): List<Pet> {
    return new List(this.#transport, { path: "pets" }, query, options);
  }

  /**
   * Gets an animal.
   * @deprecated The operation ends on 5 December 2030: list with `ids`.
   */
  async get(id: number, options: CallOptions = {}): Promise<Pet> {
    return (await this.#transport.send<Pet>({ ...options, method: "GET", path: path(id) })).body;
  }

  /** Adds an animal, once however often the request is repeated. */
  async create(pet: NewPet, options: PostOptions = {}): Promise<Pet> {
    const call = { ...options, method: "POST", path: "pets", body: pet } as const;
    return (await this.#transport.send<Pet>(call)).body;
  }

  /** Changes an animal. After a ConnectionError or `outcome_unknown` it may be changed: read it again. */
  async update(id: number, patch: PetChange, options: PatchOptions = {}): Promise<Pet> {
    return (await this.#transport.send<Pet>({ ...options, method: "PATCH", path: path(id), body: patch })).body;
  }

  /** Adds an animal for each row, with several workers that share one pause. See {@link ImportOptions}. */
  importAll<Row extends NewPet>(
    rows: Iterable<Row> | AsyncIterable<Row>,
    options: ImportOptions<Row>,
  ): Promise<ImportResult> {
    return importAll(this.#transport, rows, options);
  }
}

function path(id: number): string {
  exact("id", id);
  return `pets/${encodeURIComponent(id)}`;
}
