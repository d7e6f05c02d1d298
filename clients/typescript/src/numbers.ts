/** The members that are integers of 64 bits in the API, and numbers here. */
const members = ["id", "petId", "categoryId"];

function check(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  const item = value as Record<string, unknown>;
  for (const name of members) exact(name, item[name], name === "id" ? undefined : item["id"]);
}

/** Throws a RangeError if a number is no integer, or too large to be held exactly. `id` is that of its item. */
export function exact(name: string, value: unknown, id?: unknown): void {
  for (const n of Array.isArray(value) ? value : [value]) {
    if (typeof n !== "number" || Number.isSafeInteger(n)) continue;
    if (!Number.isInteger(n)) throw new RangeError(`${name} must be an integer, not ${n}`);
    const item = id === undefined ? "" : ` of ID ${id}`;
    throw new RangeError(`${name}${item} is about ${n}: a number in JavaScript is exact from -(2^53-1) to 2^53-1 only`);
  }
}

/** Throws a RangeError if an ID of an item, or of the items of a list, is not exact. */
export function checkExact(body: unknown): void {
  if (Array.isArray(body)) body.forEach(check);
  else check(body);
}
