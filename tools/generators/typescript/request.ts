import { environment } from "./flow.js";

/** Sends a request of the client that orval made, which knows neither the address of the API nor a key. */
export async function request<T>(path: string, init: RequestInit): Promise<T> {
  const response = await fetch(environment.url + path, init);
  const text = await response.text();
  return { status: response.status, headers: response.headers, data: text === "" ? undefined : JSON.parse(text) } as T;
}
