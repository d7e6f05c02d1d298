// A clock that stands still, but while everything waits for it.

const start = Date.UTC(2027, 0, 4, 9);

export class TestClock {
  #now = 0;
  #timers = new Set();

  /** How often chance was asked. */
  draws = 0;

  constructor(draw) {
    this.random = () => {
      this.draws++;
      return draw;
    };
  }

  now() {
    return this.#now;
  }

  date() {
    return start + this.#now;
  }

  sleep(ms, signal) {
    if (signal?.aborted) return Promise.reject(signal.reason);
    return new Promise((resolve, reject) => {
      const timer = { at: this.#now + Math.max(0, ms), resolve };
      this.#timers.add(timer);
      signal?.addEventListener("abort", () => {
        if (this.#timers.delete(timer)) reject(signal.reason);
      });
    });
  }

  /** Lets time pass until the promise has settled. */
  async run(promise) {
    let settled = false;
    promise.then(
      () => (settled = true),
      () => (settled = true),
    );
    for (;;) {
      await idle();
      if (settled) return promise;
      const [next] = [...this.#timers].sort((a, b) => a.at - b.at);
      if (!next) throw new Error("the client waits for nothing");
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.resolve();
    }
  }
}

// What runs outside of the event loop, and would otherwise look idle.
let outside = 0;
for (const name of ["digest", "importKey", "verify", "sign"]) {
  const original = crypto.subtle[name].bind(crypto.subtle);
  crypto.subtle[name] = async (...args) => {
    outside++;
    try {
      return await original(...args);
    } finally {
      outside--;
    }
  };
}

/** Waits until nothing happens any more but waiting. */
async function idle() {
  for (let quiet = 0; quiet < 3;) {
    await new Promise((resolve) => macrotask(resolve));
    quiet = outside > 0 ? 0 : quiet + 1;
  }
}

const { port1, port2 } = new MessageChannel();
const waiting = [];
port1.onmessage = () => waiting.shift()();
port1.unref?.();

/** Runs a function after all microtasks, in browsers too, where a timer takes 4 ms. */
function macrotask(run) {
  if (typeof setImmediate === "function") return setImmediate(run);
  waiting.push(run);
  port2.postMessage(null);
}
