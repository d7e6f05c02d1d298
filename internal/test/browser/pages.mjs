// Looks at the API's pages as people do: with a mouse, with a keyboard alone, with a reader's ears, and without scripts. It
// prints what is wrong, and exits 1 when something is.
//
//	node pages.mjs CHROMIUM BASE [SCREENSHOT]      the API key comes in PETSTORE_API_KEY

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const tools = createRequire(new URL("../../../tools/npm/package.json", import.meta.url));
const { chromium } = tools("playwright-core");
const axe = readFileSync(tools.resolve("axe-core/axe.min.js"), "utf8");

const [executablePath, base, screenshot] = process.argv.slice(2);
const key = process.env.PETSTORE_API_KEY;
const guides = ["getting-a-key", "limits", "errors", "pagination", "idempotency", "webhooks", "clients", "versioning", "changelog", "deprecations/get-pet"];
const [desktop, telephone] = [{ width: 1280, height: 900 }, { width: 390, height: 844 }];

// What never comes fails here, by name, before browser_test.go ends the script. Nothing else is timed: a busy machine is slow.
const until = Date.now() + 7 * 60_000;

let failed = 0;
const fail = (where, what) => {
  failed++;
  console.log(`${where}: ${what}`);
};
const check = (ok, where, what) => ok || fail(where, what);

// What GET /v1/plans returns.
const sold = [
  { name: "pro", requestsPerMinute: 400, requestsPerDay: 10000, requestsPerMonth: null, overage: null },
  { name: "enterprise", requestsPerMinute: null, requestsPerDay: null, requestsPerMonth: null, overage: null },
];
const soldByMonth = [...sold, { name: "team", requestsPerMinute: 400, requestsPerDay: 20000, requestsPerMonth: 100000, overage: 20000 }];

// A browser that can only reach the API and reports its errors.
const browser = await chromium.launch({
  executablePath,
  args: [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
  ],
});

const open = async ({ plans = sold, ...options }) => {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, ...options });
  await context.route("**/*", (route) => {
    const url = route.request().url();
    if (url.startsWith(base + "/") || /^(data|blob):/.test(url)) return route.continue();
    fail("network", `${url} is asked for`);
    return route.abort();
  });
  await context.route(`${base}/v1/plans`, (route) => route.fulfill({ json: plans }));
  const page = await context.newPage();
  page.setDefaultTimeout(until - Date.now());
  page.on("console", (m) => ["error", "warning"].includes(m.type()) && fail(page.url(), `console ${m.type()}: ${m.text()}`));
  page.on("pageerror", (e) => fail(page.url(), `exception: ${e.message}`));
  return page;
};

const seek = async (page) => {
  const found = await page.evaluate(`${axe}; axe.run({ resultTypes: ["violations"] }).then((r) => r.violations)`);
  for (const v of found) {
    for (const node of v.nodes) fail(page.url(), `axe: ${v.impact} ${v.id}: ${node.html.slice(0, 200)}: ${node.failureSummary}`);
  }
};

// An operation is there only once it is near: in a small window it must be scrolled to.
const loadReference = async (page) => {
  await page.goto(`${base}/docs#tag/pets/GET/pets`);
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

// Classes of ours and of the reference's library must not have the same names.
const seekForeignStyles = async (page) => {
  const found = await page.evaluate(() => {
    const rules = (list) => [...list].flatMap((rule) => (rule.selectorText ? [rule.selectorText] : rules(rule.cssRules ?? [])));
    const ours = [...document.styleSheets].filter((sheet) => sheet.href?.endsWith("/style.css")).flatMap((sheet) => rules(sheet.cssRules));
    const meant = /^(:focus-visible|\[tabindex|\.(light|dark)-mode|\.scalar-)/;
    return ours.filter((selector) => !meant.test(selector) && [...document.querySelectorAll(selector)].some((e) => e.closest("#content") && e.id !== "content"));
  });
  for (const selector of found) fail(page.url(), `the style of ${selector} is meant for guides`);
};

// Nothing of the first example and of the rows of statuses is cut off, and one search leads to everything.
const seekHidden = async (page) => {
  const found = await page.evaluate(() => {
    const all = ["pre code", ".response-card [role=tablist]"].map((selector) => [...document.querySelectorAll(`#content ${selector}`)]);
    const cut = all.flat().filter((e) => e.scrollWidth > e.clientWidth || e.parentElement.scrollWidth > e.parentElement.clientWidth);
    return [...(all.every((list) => list.length) ? [] : ["nothing"]), ...cut.map((e) => e.textContent)];
  });
  for (const text of found) fail(page.url(), `cut off: ${text}`);
  const searches = await page.getByRole("searchbox").or(page.getByRole("button", { name: /^(Open )?Search/ })).count();
  check(searches === 1, page.url(), `it has ${searches} searches`);
};

const everyPage = async (colorScheme, viewport) => {
  const page = await open({ colorScheme, viewport });
  for (const path of ["/", ...guides.map((g) => `/docs/${g}`)]) {
    const answer = await page.goto(base + path);
    check(answer.status() === 200, path, `status ${answer.status()}`);
    check((await page.locator("main h1").count()) === 1, path, "it has not one heading");
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    check(wide <= 0, path, `it is ${wide} pixels too wide`);
    const ways = page.getByRole("navigation", { name: "Documentation" });
    if (viewport === telephone) {
      const { height } = await ways.boundingBox();
      check(height < 50, path, `its navigation is ${height} pixels high`);
      await ways.getByText("Pages", { exact: true }).click();
    }
    check(await ways.getByRole("link", { name: "Errors", exact: true }).isVisible(), path, "the navigation does not open");
    if (path === "/docs/errors") {
      if (viewport === telephone) await page.locator(".guide-contents summary").click();
      check(await page.getByRole("link", { name: "key_banned" }).first().isVisible(), path, "the contents are closed");
      await page.getByRole("searchbox").fill("ban");
      await page.locator("#found a").first().waitFor();
    }
    await seek(page);
  }
  await loadReference(page);
  await settle(page);
  await seek(page);
  await seekForeignStyles(page);
  await seekHidden(page);
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
  const page = await open({ viewport: { width: 1400, height: 1400 } });
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

// With the keyboard alone a word leads to the section about it, from every page.
const search = async () => {
  const page = await open({ viewport: desktop });
  await page.goto(`${base}/docs/clients`);
  await page.keyboard.press("/");
  await page.keyboard.type("bans");
  await page.locator("#found a").first().waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL(`${base}/docs/limits#bans`);
  await page.keyboard.press("/");
  await page.keyboard.type("429");
  await page.getByText("The best 8 results").waitFor();
  check((await page.locator("#found a").first().textContent()).startsWith("Errors: rate_limit_exceeded"), "search", "429 finds another section first");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  check((await page.evaluate(() => document.activeElement.textContent)).startsWith("Errors: daily_quota_exceeded"), "search", "the arrow keys do not reach the second result");
  await page.keyboard.press("Escape");
  check(await page.locator("#found").isHidden(), "search", "Escape does not close it");
  check(await page.evaluate(() => document.activeElement.type === "search"), "search", "Escape does not lead back");
  await page.keyboard.press("Control+A");
  await page.keyboard.type("<b>*(");
  await page.getByText("Nothing has “<b>*(”.").waitFor();
  for (const [words, path] of [
    ["sandbox", "/docs/getting-a-key#the-sandbox"], ["SDK", "/docs/clients"], ["webhook", "/docs/webhooks"],
    ["list animals", "/docs#tag/pets/GET/pets"],
  ]) {
    await page.keyboard.press("/");
    await page.keyboard.press("Control+A");
    await page.keyboard.type(words);
    await page.locator(`#found li:first-child a[href="${path}"]`).waitFor();
  }
  await page.keyboard.press("Enter");
  await page.waitForURL(`${base}/docs#tag/pets/GET/pets`);
  await page.getByRole("button", { name: /Test Request/ }).first().waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("place order");
  await page.locator("#found a").first().waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Place an order" }).waitFor();
  await page.context().close();
};

// The page about limits shows the plans that are sold, and its own numbers where they can't be read.
const plans = async () => {
  const text = "Free 60 1,000, Pro 300 10,000, Business 1,000 100,000, Enterprise agreed agreed";
  for (const [options, number, want] of [
    [{}, "400", "Pro 400 10,000, Enterprise agreed agreed"],
    [{ plans: soldByMonth }, "20,000", "Pro 400 10,000 –, Enterprise agreed agreed agreed, Team 400 20,000 100,000 and 20,000 more"],
    [{ javaScriptEnabled: false }, "300", text],
    [{ plans: { code: "unavailable" } }, "300", text],
  ]) {
    const page = await open(options);
    await page.goto(`${base}/docs/limits`, { waitUntil: "networkidle" });
    const table = page.locator("table").first();
    await table.getByRole("cell", { name: number }).first().waitFor();
    const rows = (await table.locator("tbody tr").allInnerTexts()).map((row) => row.replace(/\s+/g, " "));
    check(rows.join(", ") === want, "plans", `the table is ${rows.join(", ")}, want ${want}`);
    await page.context().close();
  }
};

// A terminal's session is copied without its prompt and its output, and everything else as it is.
const copy = async () => {
  const page = await open({ permissions: ["clipboard-read", "clipboard-write"] });
  const copied = async (path, after) => {
    await page.goto(base + path);
    await page.locator(`.example:has-text(${JSON.stringify(after)}) .copy`).first().click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    return page.evaluate(() => navigator.clipboard.readText());
  };
  const session = await copied("/docs/idempotency", "Idempotency-Key: 8e03");
  check(/^curl -i [^]*\\\n[^]*"categoryId":7}'$/.test(session), "copy", `a session is ${JSON.stringify(session)}`);
  const settings = await copied("/docs/clients", "export PETSTORE_URL");
  check(settings === `export PETSTORE_URL=${base}/v1\nexport PETSTORE_API_KEY=pst_live_…`, "copy", `settings are ${JSON.stringify(settings)}`);
  await page.context().close();
};

// On a telephone nothing lies on the address of the request. A list is asked for without a filter that nobody chose.
const tryOnTelephone = async () => {
  const page = await open({ viewport: telephone });
  await page.goto(`${base}/docs#tag/pets/GET/pets`);
  await page.getByRole("button", { name: /Test Request/ }).first().click();
  const client = page.getByRole("dialog", { name: "API Client" });
  const address = client.getByRole("button", { name: `${base}/v1` }).first();
  await address.waitFor();
  await page.waitForTimeout(500);
  const covered = await address.evaluate((e) => {
    const { left, right, top, bottom } = e.getBoundingClientRect();
    const within = (x) => e.contains(document.elementFromPoint(x, (top + bottom) / 2));
    return [2, 10, 20, 30, 40].map((x) => left + x).concat(right - 3).filter((x) => !within(x));
  });
  check(covered.length === 0, "telephone", `the address of the request is covered at ${covered}`);
  const sent = page.waitForRequest((r) => r.url().startsWith(`${base}/v1/pets`));
  await client.getByPlaceholder("Token").first().fill(key);
  await client.getByRole("button", { name: /^Send/ }).first().click();
  const query = new URL((await sent).url()).search;
  check(query === "?limit=20", "telephone", `the list is asked for with ${query}`);
  await page.context().close();
};

const steps = {
  light: () => everyPage("light", desktop), dark: () => everyPage("dark", telephone), tryIt, byKeyboard, search, plans, copy, tryOnTelephone, withoutScripts,
};
if (process.env.PETSTORE_SOAK) {
  steps.lightTelephone = () => everyPage("light", telephone);
  steps.darkDesktop = () => everyPage("dark", desktop);
}
for (const [name, step] of Object.entries(steps)) {
  const began = Date.now();
  await step().catch((e) => fail(name, e.message));
  console.log(`${name}: ${Date.now() - began} ms`);
}
await browser.close();
process.exit(failed ? 1 : 0);
