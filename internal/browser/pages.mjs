// Looks at the API's pages as people do: with a mouse, with a keyboard alone, with a reader's ears, and without scripts. It
// prints what is wrong, and exits 1 when something is.
//
//	node pages.mjs CHROMIUM BASE [SCREENSHOT]      the API key comes in PETSTORE_API_KEY

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const tools = createRequire(new URL("../../tools/npm/package.json", import.meta.url));
const { chromium } = tools("playwright-core");
const axe = readFileSync(tools.resolve("axe-core/axe.min.js"), "utf8");

const [executablePath, base, screenshot] = process.argv.slice(2);
const key = process.env.PETSTORE_API_KEY;
const guides = ["getting-a-key", "limits", "errors", "pagination", "idempotency", "clients", "versioning", "deprecations/get-pet"];

let failed = 0;
const fail = (where, what) => {
  failed++;
  console.log(`${where}: ${what}`);
};
const check = (ok, where, what) => ok || fail(where, what);

// A browser that can only reach the API and reports its errors.
const browser = await chromium.launch({
  executablePath,
  args: [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
  ],
});

const open = async (options) => {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, ...options });
  await context.route("**/*", (route) => {
    const url = route.request().url();
    if (url.startsWith(base + "/") || /^(data|blob):/.test(url)) return route.continue();
    fail("network", `${url} is asked for`);
    return route.abort();
  });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  page.on("console", (m) => ["error", "warning"].includes(m.type()) && fail(page.url(), `console ${m.type()}: ${m.text()}`));
  page.on("pageerror", (e) => fail(page.url(), `exception: ${e.message}`));
  return page;
};

const seek = async (page) => {
  const found = await page.evaluate(`${axe}; axe.run({ resultTypes: ["violations"] }).then((r) => r.violations)`);
  for (const v of found.filter((v) => ["serious", "critical"].includes(v.impact))) {
    for (const node of v.nodes) fail(page.url(), `axe: ${v.impact} ${v.id}: ${node.html.slice(0, 200)}: ${node.failureSummary}`);
  }
};

const loadReference = async (page) => {
  await page.goto(`${base}/docs`);
  await page.getByRole("heading", { name: "Animal Store" }).waitFor();
  await page.getByRole("button", { name: /Test Request/ }).first().waitFor();
};

// What scrolls and what has no name is mended a moment after it has come.
const settle = async (page) => {
  await page.waitForFunction(() => {
    const buttons = [...document.querySelectorAll('button[class*="copy-button"]')];
    return buttons.length > 0 && buttons.every((b) => b.hasAttribute("aria-label"));
  });
  await page.waitForTimeout(500);
};

const everyPage = async (colorScheme) => {
  const page = await open({ colorScheme });
  for (const path of ["/", ...guides.map((g) => `/docs/${g}`)]) {
    const answer = await page.goto(base + path);
    check(answer.status() === 200, path, `status ${answer.status()}`);
    check((await page.locator("main h1").count()) === 1, path, "it has not one heading");
    await seek(page);
  }
  await loadReference(page);
  await settle(page);
  await seek(page);
  await page.context().close();
};

// A user pastes the key, sends a request, and sees the response. The key is not stored.
const tryIt = async () => {
  const page = await open({});
  await loadReference(page);
  await page.getByPlaceholder("Token").first().fill(key);
  await page.getByRole("link", { name: /List animals/ }).first().click();
  await page.getByRole("button", { name: /Test Request/ }).first().click();
  const answered = page.waitForResponse((r) => r.url().startsWith(`${base}/v1/pets`));
  await page.getByRole("button", { name: /^Send/ }).first().click();
  const answer = await answered;
  check(answer.status() === 200, "try it", `status ${answer.status()}: ${await answer.text()}`);
  check(answer.request().headers().authorization === `Bearer ${key}`, "try it", "the key was not sent");
  await page.getByText("200 OK").first().waitFor();
  await page.getByText("Rex the first").first().waitFor();
  if (screenshot) {
    await page.waitForTimeout(2000);
    await page.screenshot({ path: screenshot });
  }
  const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]));
  check(!kept.includes(key), "try it", "the page keeps the key");
  await page.reload();
  await page.getByRole("button", { name: /Test Request/ }).first().waitFor();
  check((await page.getByPlaceholder("Token").first().inputValue()) === "", "try it", "the key is still there after a reload");
  await page.context().close();
};

// With the Tab key alone: first what skips to the content, then everything that can be used, without a trap.
const byKeyboard = async () => {
  const page = await open({});
  await page.goto(`${base}/`);
  await page.keyboard.press("Tab");
  check((await page.evaluate(() => document.activeElement.textContent)) === "Skip to the content", "keyboard", "the first stop does not skip");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  check((await page.evaluate(() => document.activeElement.textContent)) === "Open the reference", "keyboard", "skipping does not lead to the content");
  await page.keyboard.press("Enter");
  await page.waitForURL(`${base}/docs`);
  await page.getByRole("button", { name: /Test Request/ }).first().waitFor();
  await settle(page);
  const wanted = ["Skip to the content", "Errors", "Search", "List animals", "Token", "getting a key", "Test Request"];
  const reached = [];
  for (let i = 0; i < 150 && !wanted.every((w) => reached.some((r) => r.includes(w))); i++) {
    await page.keyboard.press("Tab");
    reached.push(
      await page.evaluate(() => {
        const e = document.activeElement;
        return [e.textContent, e.getAttribute("placeholder"), e.getAttribute("aria-label")].join(" ");
      }),
    );
  }
  for (const w of wanted) check(reached.some((r) => r.includes(w)), "keyboard", `${w} is not reached in ${reached.length} steps`);
  await page.context().close();
};

const withoutScripts = async () => {
  const page = await open({ javaScriptEnabled: false });
  for (const path of ["/", "/docs", ...guides.map((g) => `/docs/${g}`)]) {
    await page.goto(base + path);
    check(await page.getByRole("link", { name: "Errors", exact: true }).first().isVisible(), path, "without scripts it shows no way on");
  }
  await page.context().close();
};

const narrow = async () => {
  const page = await open({ viewport: { width: 360, height: 740 } });
  for (const path of ["/", "/docs/errors", "/docs/limits", "/docs/clients"]) {
    await page.goto(base + path);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    check(wide <= 0, path, `on a telephone it is ${wide} pixels too wide`);
  }
  await page.context().close();
};

const steps = { light: () => everyPage("light"), dark: () => everyPage("dark"), tryIt, byKeyboard, withoutScripts, narrow };
for (const [name, step] of Object.entries(steps)) {
  const began = Date.now();
  await step().catch((e) => fail(name, e.message));
  console.log(`${name}: ${Date.now() - began} ms`);
}
await browser.close();
process.exit(failed ? 1 : 0);
