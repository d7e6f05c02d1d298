import type { Clock } from "./clock.js";

/** Reads an HTTP date in any of its three forms, in milliseconds; NaN for anything else. */
export function httpDate(text: string): number {
  const form = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? +[\w -]+ \d\d:\d\d:\d\d (GMT|\d{4})$/;
  if (!form.test(text)) return NaN;
  const time = Date.parse(text.endsWith("GMT") ? text : `${text} GMT`);
  // Date.parse takes 31 February for 3 March.
  return new Date(time).getUTCDate() === Number(/\d+/.exec(text)?.[0]) ? time : NaN;
}

/** The time of the server at a response, or else of this machine. */
function serverTime(headers: Headers, clock: Clock): number {
  return httpDate(headers.get("date") ?? "") || clock.date();
}

/** Retry-After in seconds, at least 1; undefined if it is missing or malformed. */
export function retryAfter(headers: Headers, clock: Clock): number | undefined {
  const text = headers.get("retry-after") ?? "";
  if (/^\d+$/.test(text)) return Math.min(Math.max(1, Number(text)), 1e15);
  const date = httpDate(text);
  return Number.isNaN(date) ? undefined : Math.max(1, Math.ceil((date - serverTime(headers, clock)) / 1000));
}

/** The seconds until the limit resets if no request remains, else 0. */
export function exhaustedFor(headers: Headers, clock: Clock): number {
  if (headers.get("x-ratelimit-remaining") !== "0") return 0;
  const reset = Number(headers.get("x-ratelimit-reset"));
  return reset > 0 ? Math.max(0, reset - serverTime(headers, clock) / 1000) : 0;
}

const parameter = String.raw`\s*;\s*([\w*-]+)(?:\s*=\s*("[^"]*"|[^\s";,]+))?`;
const links = new RegExp(`<([^>]*)>((?:${parameter})*)`, "g");

/** The target of the first link (RFC 8288) with the relation. */
export function link(headers: Headers, relation: string): string | undefined {
  for (const [, target, parameters] of (headers.get("link") ?? "").matchAll(links)) {
    const all = [...parameters!.matchAll(new RegExp(parameter, "g"))];
    const relations = all.find(([, name]) => name!.toLowerCase() === "rel")?.[2] ?? "";
    if (relations.replaceAll('"', "").split(/\s+/).includes(relation)) return target;
  }
  return undefined;
}

/** The cursor of the next page. Of a Link only the cursor is used, never its address. */
export function nextCursor(headers: Headers): string | undefined {
  const cursor = headers.get("x-next-cursor");
  if (cursor) return cursor;
  const next = link(headers, "next");
  return (next && new URLSearchParams(next.split("?")[1]).get("cursor")) || undefined;
}
