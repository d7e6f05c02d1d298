/** The members that are integers of 64 bits in the API, and numbers here. */
const members = ["id", "petId", "categoryId"];

function check(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  for (const name of members) exact(name, (value as Record<string, unknown>)[name]);
}

/** Throws a RangeError if a number is too large to be held exactly. */
export function exact(name: string, value: unknown): void {
  for (const n of Array.isArray(value) ? value : [value]) {
    if (typeof n === "number" && !Number.isSafeInteger(n)) {
      throw new RangeError(`${name} is ${n}: a number in JavaScript is exact from -(2^53-1) to 2^53-1 only`);
    }
  }
}

/** Throws a RangeError if an ID of an item, or of the items of a list, is not exact. */
export function checkExact(body: unknown): void {
  if (Array.isArray(body)) body.forEach(check);
  else check(body);
}
