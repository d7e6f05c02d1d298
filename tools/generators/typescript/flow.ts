// What the three programs share: where the API is, and how they tell what they got. internal/e2e/generators compares that.

declare const process: { env: Record<string, string | undefined> };

function variable(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
}

export const environment = {
  url: variable("PETSTORE_URL"),
  key: variable("PETSTORE_API_KEY"),
  /** A key that may send one request a minute. */
  slowKey: variable("PETSTORE_SLOW_KEY"),
};

/** Returns the header that shows a key. */
export const bearer = (key: string) => ({ Authorization: `Bearer ${key}` });

/** Tells what a step of the flow got. */
export function say(step: string, ...got: unknown[]): void {
  console.log(`${step}: ${got.join(" ")}`);
}

/** Returns the value of something that the flow cannot go on without. */
export function need<T>(value: T | null | undefined, what: string): T {
  if (value === null || value === undefined) throw new Error(`there is no ${what}`);
  return value;
}

/** Returns the ETag of a response for If-Match. A proxy that compresses makes it weak. */
export function strong(headers: Headers): string {
  return need(headers.get("ETag"), "ETag").replace(/^W\//, "");
}
