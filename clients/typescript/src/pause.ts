import type { Clock } from "./clock.js";

/** After how many milliseconds a call asks again whether a limit still holds that it would not wait for. */
const recheck = 60_000;

/**
 * One pause for all calls of a client. The first that is refused, or that sees that no request
 * remains, begins it, with one random part for all. No call is sent before it ends.
 */
export class Pause {
  #end = -Infinity;
  /** When the limit resets, if nobody waits so long. */
  #reset = -Infinity;
  /** The code of the refusal that began it, if one did. */
  code: string | undefined;

  /** maxWait is in seconds. */
  constructor(
    readonly clock: Clock,
    readonly maxWait: number,
  ) {}

  /** How many milliseconds are left. */
  get left(): number {
    return Math.max(0, this.#end - this.clock.now());
  }

  /** The seconds until the limit resets, if nobody waits so long, else 0. */
  get tooLong(): number {
    const seconds = (this.#reset - this.clock.now()) / 1000;
    return this.left > 0 && seconds > this.maxWait ? Math.ceil(seconds) : 0;
  }

  begin(seconds: number, code?: string): void {
    // Whoever is refused by the same limit during the pause was sent before it.
    if (seconds <= 0 || (this.left > 0 && 1000 * seconds < this.left + 2000)) return;
    const isTooLong = seconds > this.maxWait;
    const ms = 1000 * seconds;
    this.code = code;
    this.#reset = isTooLong ? this.clock.now() + ms : -Infinity;
    this.#end = this.clock.now() + (isTooLong ? Math.min(ms, recheck) : jittered(seconds, this.clock));
  }
}

/** Milliseconds of at least the seconds: up to a tenth more, at most 2 s. */
export function jittered(seconds: number, clock: Clock): number {
  return 1000 * (seconds + clock.random() * Math.min(2, seconds / 10));
}

/** Full jitter up to 1, 2, 4 … 60 s, in milliseconds. */
export function backoff(failures: number, clock: Clock): number {
  return 1000 * clock.random() * Math.min(60, 2 ** (failures - 1));
}
