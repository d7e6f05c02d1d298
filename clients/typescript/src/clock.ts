/** The time and chance that waits depend on, which tests replace. */
export interface Clock {
  /** Milliseconds that never step back. */
  now(): number;
  /** The Unix time in milliseconds. */
  date(): number;
  /** A random number in [0, 1). */
  random(): number;
  /** Waits, and rejects with the signal's reason if that aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** A longer setTimeout fires at once. */
const longestTimer = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => performance.now(),
  date: () => Date.now(),
  random: () => Math.random(),
  async sleep(ms, signal) {
    for (let left = ms; left > 0; left -= longestTimer) {
      signal?.throwIfAborted();
      await new Promise<void>((resolve, reject) => {
        const end = () => {
          clearTimeout(timer);
          reject(signal?.reason);
        };
        const timer = setTimeout(
          () => {
            signal?.removeEventListener("abort", end);
            resolve();
          },
          Math.min(left, longestTimer),
        );
        signal?.addEventListener("abort", end, { once: true });
      });
    }
  },
};
