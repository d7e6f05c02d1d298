// Looks at the pages of customers who sign in, as people do, and at what other sites can do to them. It prints what is wrong, and exits 1 when
// something is.
//
//	node account.mjs CHROMIUM BASE LINK...      the manage key comes in PETSTORE_API_KEY

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const tools = createRequire(new URL("../../../tools/npm/package.json", import.meta.url));
const { chromium } = tools("playwright-core");
const axe = readFileSync(tools.resolve("axe-core/axe.min.js"), "utf8");

const [executablePath, base, ...links] = process.argv.slice(2);
const key = process.env.PETSTORE_API_KEY;
const [desktop, telephone, narrow] = [{ width: 1280, height: 900 }, { width: 390, height: 844 }, { width: 360, height: 740 }];
// Another site, and another origin of the same site. Nobody serves them.
const sites = { "cross-site": "http://elsewhere.example", "same-site": `http://${new URL(base).hostname}:18080` };
const cookie = `petstore-account-${new URL(base).port}`;

// What never comes fails here, by name, before browser_test.go ends the script. Nothing else is timed: a busy machine is slow.
const until = Date.now() + 7 * 60_000;

let failed = 0;
const check = (ok, where, what) => {
  if (ok) return;
  failed++;
  console.log(`${where}: ${what}`);
};

const browser = await chromium.launch({
  executablePath,
  args: [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
  ],
});

// open opens a page of a browser that is signed in nowhere, at an address of its own: each may try to sign in ten times a minute. The other sites have
// what html is, or returns for an address.
let addresses = 0;
const open = async (options, html = "") => {
  const context = await browser.newContext({ viewport: desktop, extraHTTPHeaders: { "X-Forwarded-For": `198.51.100.${++addresses}` }, ...options });
  await context.route("**/*", (route) => {
    const url = route.request().url();
    if (url.startsWith(base + "/")) return route.continue();
    if (Object.values(sites).some((site) => url.startsWith(site + "/"))) return route.fulfill({ contentType: "text/html", body: typeof html === "string" ? html : html(url) });
    check(false, "network", `${url} is asked for`);
    return route.abort();
  });
  const page = await context.newPage();
  page.setDefaultTimeout(until - Date.now());
  page.on("pageerror", (e) => check(false, page.url(), `exception: ${e.message}`));
  page.on("console", (m) => /Content Security Policy/.test(m.text()) && !/frame/.test(m.text()) && check(false, page.url(), m.text()));
  return page;
};

const heading = (page) => page.locator("main h1").innerText();

// Nothing is too wide, has a style of its own, or keeps somebody out.
const look = async (page, withAxe) => {
  await page.waitForLoadState("load"); // with its style sheets
  const found = await page.evaluate(() => [document.documentElement.scrollWidth - window.innerWidth, document.querySelectorAll("[style], style").length]);
  check(found[0] <= 0, page.url(), `it is ${found[0]} pixels too wide`);
  check(found[1] === 0, page.url(), "it has inline styles");
  if (!withAxe) return;
  const violations = await page.evaluate(`${axe}; axe.run({ resultTypes: ["violations"] }).then((r) => r.violations)`);
  for (const v of violations) check(false, page.url(), `axe: ${v.id}: ${v.nodes.map((n) => `${n.html.slice(0, 200)}: ${n.failureSummary}`)}`);
};

const signIn = async (page) => {
  await page.goto(links.pop());
  await page.waitForURL(`${base}/account`);
};

// Without scripts the link, or what is behind # in it, goes into a field.
const paste = async (page, text) => {
  await page.getByLabel("Your link").fill(text);
  await page.getByRole("button", { name: "Sign in" }).click();
};

// The whole way, from a link in a mail that a scanner has opened before, to a key that is made, rotated and revoked, and out again.
const way = async (options) => {
  const link = links.pop();
  const page = await open(options, `<a href="${link}">Sign in</a>`);
  const withAxe = options.javaScriptEnabled !== false;
  for (let i = 0; i < 2; i++) check((await page.request.get(link)).status() === 200, "a scanner", "the link does not open");
  await page.goto(`${base}/account/invitation`);
  check(await page.getByLabel("Your link").isVisible(), page.url(), "there is no field for a link");
  await look(page, withAxe);
  await page.goto(sites["cross-site"] + "/mail");
  page.once("request", (r) => check(r.method() === "GET" && !r.url().includes("#"), "the link", "opening it sends the token"));
  await page.getByRole("link").click();
  if (!withAxe) await paste(page, link);
  await page.waitForURL(`${base}/account`);
  check((await heading(page)) === "acme", page.url(), "it is not the overview");
  for (const text of ["of 300 used", "of 10,000 used", "of 24,000 used", "The mark is at the 20,000", "Key dashboard is banned until", "it floods", "plan business"]) {
    check(await page.getByText(text).first().isVisible(), page.url(), `it does not say ${text}`);
  }
  await look(page, withAxe);
  await page.getByRole("link", { name: "Usage", exact: true }).click();
  check(/^Usage in /.test(await heading(page)), page.url(), "it is not the usage");
  await page.getByText("Table by day").click();
  check(await page.getByRole("columnheader", { name: "UTC day" }).isVisible(), page.url(), "the table does not open");
  await look(page, withAxe);
  await page.getByRole("link", { name: "Keys", exact: true }).click();
  await look(page, withAxe);
  const name = `for ${addresses}`;
  const form = page.locator("form", { has: page.getByRole("button", { name: "Make the key" }) });
  await form.getByLabel("Name").fill(name);
  await form.getByLabel("Scope").selectOption("read");
  await form.getByLabel("Allowed addresses").fill("203.0.113.1/24");
  await page.getByRole("button", { name: "Make the key" }).click();
  await form.getByText("203.0.113.0/24").waitFor();
  check((await form.getByLabel("Name").inputValue()) === name && (await form.getByLabel("Scope").inputValue()) === "read", page.url(), "the form forgets what was typed");
  await look(page, withAxe);
  // A key for a server elsewhere needs no confirmation.
  await form.getByLabel("Allowed addresses").fill("203.0.113.0/24");
  await page.getByRole("button", { name: "Make the key" }).click();
  const first = await page.getByLabel(`Key ${name}`).inputValue();
  await look(page, withAxe);
  await page.getByRole("link", { name: "I have copied it" }).click();
  const card = page.locator("li", { has: page.getByRole("heading", { name }) });
  await card.getByText("Change").first().click();
  await look(page, withAxe);
  await card.getByLabel("Allowed addresses").fill("203.0.113.1/24");
  await card.getByRole("button", { name: "Change the key" }).click();
  await page.getByText("203.0.113.0/24?").waitFor();
  check((await card.getByLabel("Allowed addresses").inputValue()) === "203.0.113.1/24", page.url(), "the form of the key forgets what was typed");
  await look(page, withAxe);
  await card.getByLabel("Allowed addresses").fill("");
  await card.getByRole("button", { name: "Change the key" }).click();
  await card.getByText("anywhere", { exact: true }).waitFor();
  await card.getByText("Rotate").first().click();
  await look(page, withAxe);
  await card.getByLabel("The old key works for").selectOption("an hour");
  await card.getByRole("button", { name: "Rotate the key" }).click();
  await page.getByRole("heading", { name: "Your key was rotated" }).waitFor();
  const second = await page.getByLabel(`Key ${name}`).inputValue();
  check(/^pst_live_/.test(first) && /^pst_live_/.test(second) && first !== second, page.url(), "the rotation made no other key");
  await page.goBack();
  check(!(await page.content()).includes(second), page.url(), "the key is shown again");
  await page.goto(`${base}/account/keys`);
  for (let left = 2; left > 0; left--) {
    check((await card.count()) === left, page.url(), `${await card.count()} keys of that name, not ${left}`);
    await card.first().getByText("Revoke").first().click();
    await card.first().getByLabel("Why").fill("done");
    await card.first().getByRole("button", { name: "Revoke the key" }).click();
    await page.waitForURL(`${base}/account/keys`);
  }
  await webhook(page, `hook ${addresses}`, withAxe);
  await page.getByRole("link", { name: "Failed requests", exact: true }).click();
  await look(page, withAxe);
  await page.getByLabel("Code").fill("pet_not_fond");
  await page.getByRole("button", { name: "Filter" }).click();
  await page.getByText("did you mean pet_not_found?").waitFor();
  check((await page.getByLabel("Code").inputValue()) === "pet_not_fond", page.url(), "the filter forgets what was typed");
  await look(page, withAxe);
  await page.getByLabel("Code").fill("pet_not_found");
  await page.getByLabel("Status").fill("404");
  await page.getByRole("button", { name: "Filter" }).click();
  await look(page, withAxe);
  await page.getByRole("link", { name: /^Why/ }).first().click();
  check((await heading(page)) === "404 pet_not_found" && await page.getByText("The request was answered with 404").isVisible(), page.url(), "it does not explain the request");
  await look(page, withAxe);
  await page.getByRole("link", { name: "Sign-ins" }).click();
  check((await page.getByText("this browser").count()) === 1, page.url(), "it does not say which sign-in is this one");
  await look(page, withAxe);
  // Each page of the menu is reached with the keyboard alone, past a link that skips it.
  await page.goto(`${base}/account`);
  await page.bringToFront();
  await page.waitForFunction(() => document.hasFocus()); // On a busy machine the key would go nowhere.
  await page.keyboard.press("Tab");
  check((await page.locator(":focus").innerText()) === "Skip to the content", page.url(), "the first stop does not skip the menu");
  await page.getByRole("button", { name: "Sign out" }).first().click();
  await page.waitForURL(`${base}/account/sign-in`);
  await look(page, withAxe);
  await page.goBack();
  check(!(await page.content()).includes("acme"), page.url(), "back shows the account after the sign-out");
  // The link was used up.
  await page.goto(link);
  if (!withAxe) await paste(page, link.split("#")[1]);
  await page.getByText("That did not sign you in.").waitFor();
  await look(page, withAxe);
  // By key.
  await page.getByLabel("API key").fill("pst_live_wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("That did not sign you in.").waitFor();
  await page.getByLabel("API key").fill(key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL(`${base}/account`);
  await page.context().close();
};

// A webhook is added, changed, tested, given a new secret, replayed, disabled and removed.
const webhook = async (page, name, withAxe) => {
  await page.getByRole("link", { name: "Webhooks", exact: true }).click();
  await look(page, withAxe);
  const form = page.locator("form", { has: page.getByRole("button", { name: "Add the webhook" }) });
  await form.getByLabel("URL").fill("https://127.0.0.1/petstore");
  await form.getByLabel("Description").fill(name);
  await form.getByLabel("all but those").uncheck();
  await form.getByLabel("key.banned").check();
  await form.getByRole("button").click();
  await page.getByText("The URL has an address that is not public.").waitFor();
  check((await form.getByLabel("Description").inputValue()) === name && await form.getByLabel("key.banned").isChecked(), page.url(), "the form forgets what was typed");
  await look(page, withAxe);
  await form.getByLabel("URL").fill("https://shop.example.com/petstore");
  await form.getByRole("button").click();
  const first = await page.getByLabel(`Secret of ${name}`).inputValue();
  await look(page, withAxe);
  await page.getByRole("link", { name: "I have copied it" }).click();
  const card = page.locator("li", { has: page.getByRole("heading", { name, exact: false, level: 2 }) });
  await card.getByText("Change").first().click();
  await card.getByLabel("pet.created").first().check();
  await look(page, withAxe);
  await card.getByRole("button", { name: "Change the webhook" }).click();
  await card.locator("dl").getByText("pet.created").waitFor();
  await card.getByRole("button", { name: "Test" }).click();
  await card.getByText("Load this page again").waitFor();
  check(/#sent-\d+$/.test(page.url()), page.url(), "it does not lead to the ping");
  await look(page, withAxe);
  await card.getByRole("button", { name: "Send now" }).click();
  await page.waitForURL(/#sent-/);
  await card.getByText("Rotate the secret").first().click();
  await card.getByRole("button", { name: "Rotate the secret" }).click();
  await page.getByRole("heading", { name: "The secret was rotated" }).waitFor();
  const second = await page.getByLabel(`Secret of ${name}`).inputValue();
  check(/^whsec_/.test(first) && /^whsec_/.test(second) && first !== second, page.url(), "the rotation made no other secret");
  await look(page, withAxe);
  await page.goBack();
  check(!(await page.content()).includes(second), page.url(), "the secret is shown again");
  await page.goto(`${base}/account/webhooks`);
  await card.getByText("Replay").first().click();
  await card.getByText("Only some types").click();
  await card.getByLabel("From, in UTC").fill("2026-01-01T00:00");
  await look(page, withAxe);
  await card.getByRole("button", { name: "Replay the events" }).click();
  await page.getByText("queued again").waitFor();
  await card.getByRole("button", { name: "Disable" }).click();
  await card.getByText("By you.").waitFor();
  await card.getByText("Remove").first().click();
  await card.getByRole("button", { name: "Remove the webhook" }).click();
  await card.waitFor({ state: "detached" });
};

// The key of the sign-in is named. Its rotation shows the new key, and then why the sign-in has ended. The address of a form leads back to its page.
const ownKey = async (options) => {
  const page = await open(options);
  await signIn(page);
  await page.goto(`${base}/account/keys/rotate`);
  check(page.url() === `${base}/account/keys`, page.url(), "it is not the keys");
  const name = `own ${addresses}`;
  const form = page.locator("form", { has: page.getByRole("button", { name: "Make the key" }) });
  await form.getByLabel("Name").fill(name);
  await form.getByLabel("Scope").selectOption("manage");
  await page.getByRole("button", { name: "Make the key" }).click();
  const first = await page.getByLabel(`Key ${name}`).inputValue();
  await page.goto(`${base}/account/sign-in`);
  await page.getByLabel("API key").fill(first);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL(`${base}/account`);
  await page.goto(`${base}/account/keys`);
  const card = page.locator("li", { hasText: "You signed in with this key" });
  check((await card.count()) === 1 && (await card.innerText()).includes(name), page.url(), "it names another key");
  await card.getByText("Rotate").first().click();
  await look(page, true);
  await card.getByLabel("The old key works for").selectOption("no time: it leaked");
  await card.getByRole("button", { name: "Rotate the key" }).click();
  const second = await page.getByLabel(`Key ${name}`).inputValue();
  await look(page, true);
  await page.getByRole("link", { name: "I have copied it" }).click();
  await page.getByText("The key that you signed in with has ended.").waitFor();
  await look(page, true);
  await page.goto(`${base}/account/usage`);
  await page.getByText("You are signed out.").waitFor();
  await look(page, true);
  await page.getByLabel("API key").fill(second);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL(`${base}/account`);
  await page.context().close();
};

// A cookie that somebody planted signs nobody in, and is not kept.
const fixation = async () => {
  const page = await open({});
  const planted = "A".repeat(43);
  await page.context().addCookies([{ name: cookie, value: planted, url: base }]);
  await signIn(page);
  const kept = (await page.context().cookies()).filter((c) => c.name === cookie);
  check(kept.length === 1 && kept[0].value !== planted && kept[0].httpOnly && kept[0].sameSite === "Strict", "fixation", JSON.stringify(kept));
  const other = await open({});
  await other.context().addCookies([{ name: cookie, value: planted, url: base }]);
  await other.goto(`${base}/account`);
  check(other.url() === `${base}/account/sign-in?ended=session`, "fixation", "the planted cookie is signed in");
  await page.context().close();
  await other.context().close();
};

// Forms and frames of other pages do nothing, and what they lead to says why.
const foreign = async () => {
  for (const [name, site] of Object.entries(sites)) {
    const page = await open({}, (url) => `<form method="post" action="${base}${new URL(url).pathname}"><input name="id" value="x"><button>Win</button></form>`);
    await signIn(page);
    const before = (await page.context().cookies())[0].value;
    for (const action of ["sign-out", "sign-ins/end", "sign-in", "invitation"]) {
      await page.goto(`${site}/account/${action}`);
      await page.getByRole("button").click();
      await page.getByRole("heading", { name: "Not sent from this site" }).waitFor();
      await page.goto(`${base}/account`);
      check((await heading(page)) === "acme" && (await page.context().cookies())[0].value === before, name, `a form does ${action}`);
    }
    await page.context().close();
  }
  const page = await open({}, `<iframe src="${base}/account"></iframe>`);
  await signIn(page);
  await page.goto(sites["same-site"] + "/");
  await page.waitForTimeout(500); // A frame that is refused says nothing to its page.
  const frame = page.frames().find((f) => f !== page.mainFrame());
  check(!(await frame.content()).includes("acme"), "frames", "the account is shown in a frame");
  await page.context().close();
};

// A page that nobody sees, in a tab behind another one or rendered ahead, uses no link up. Seen, it posts the token, once, and the address bar and the
// history no longer have it.
const unseen = async () => {
  const page = await open({});
  await page.addInitScript(() => Object.defineProperty(document, "hidden", { configurable: true, value: true }));
  const posts = [];
  page.on("request", (r) => r.method() === "POST" && posts.push(page.url()));
  await page.goto(links.pop());
  await page.waitForLoadState("networkidle");
  check(posts.length === 0, "an unseen page", "it uses the link up");
  await page.evaluate(() => {
    Object.defineProperty(document, "hidden", { value: false });
    document.dispatchEvent(new Event("visibilitychange", { bubbles: true }));
  });
  await page.waitForURL(`${base}/account`);
  check(posts.length === 1 && posts[0] === `${base}/account/invitation`, "a seen page", `it posts from ${posts}`);
  await page.goBack();
  check(!page.url().includes("#"), "the history", "it has the token");
  await page.context().close();
};

// The meters refresh themselves, and lead to the sign-in when it is over.
const refreshes = async () => {
  const page = await open({});
  await page.clock.install();
  await signIn(page);
  await page.evaluate(() => { document.querySelector("#meters strong").textContent = "none"; });
  const answer = page.waitForResponse((r) => r.url().endsWith("?refresh"));
  await page.clock.fastForward(11_000);
  check((await (await answer).text()).includes("acme"), "refresh", "it reads another page");
  await page.waitForFunction(() => document.querySelector("#meters strong").textContent !== "none");
  check((await page.locator(".meter").count()) === 3, "refresh", "there are other meters");
  await page.context().clearCookies();
  await page.clock.fastForward(11_000);
  await page.waitForURL(`${base}/account/sign-in`);
  await page.context().close();
};

const steps = {
  desktop: () => way({ viewport: desktop }),
  telephone: () => way({ viewport: telephone, colorScheme: "dark" }),
  withoutScripts: () => way({ viewport: narrow, javaScriptEnabled: false }),
  ownKey: () => ownKey({ viewport: desktop }),
  ownKeyOnTelephone: () => ownKey({ viewport: telephone }),
  unseen, fixation, foreign, refreshes,
};
for (const [name, step] of Object.entries(steps)) {
  const began = Date.now();
  await step().catch((e) => check(false, name, e.message));
  console.log(`${name}: ${Date.now() - began} ms`);
}
await browser.close();
process.exit(failed ? 1 : 0);
