// What a page does beyond its text: examples are copied with one click, the plans are those that are sold, the contents stand open where there is room, and the guides and the
// reference can be searched. Nothing is sent: the index comes with the pages. Without this script the pages are complete but for these.

// The pages: one line that opens where it is narrow, all of them where it is not.
const menu = document.querySelector(".menu");
const roomy = matchMedia("(min-width: 62.01rem)");
const unfold = () => { menu.open = roomy.matches; };
roomy.addEventListener("change", unfold);
unfold();

// The contents.
const details = document.querySelector(".guide-contents details");
if (details) details.open = matchMedia("(min-width: 75rem)").matches;

// The plans that are sold now, with their numbers. If they can't be read, the table keeps those of the text.
const plans = [...document.querySelectorAll(".guide table")].find((table) => table.querySelector("th")?.textContent === "plan");
if (plans) {
  const number = (n) => n?.toLocaleString("en") ?? "agreed";
  const month = ({ requestsPerMinute, requestsPerMonth, overage }) => {
    if (requestsPerMonth === null) return requestsPerMinute === null ? "agreed" : "–";
    return number(requestsPerMonth) + (overage === null ? " and any number more" : overage ? ` and ${number(overage)} more` : "");
  };
  const show = (sold) => {
    const columns = [({ name }) => name[0].toUpperCase() + name.slice(1), (p) => number(p.requestsPerMinute), (p) => number(p.requestsPerDay)];
    if (sold.some(({ requestsPerMonth }) => requestsPerMonth !== null)) {
      columns.push(month);
      plans.tHead.rows[0].append(Object.assign(document.createElement("th"), { textContent: "per month" }));
    }
    plans.tBodies[0].replaceChildren(...sold.map((p) => {
      const line = document.createElement("tr");
      for (const column of columns) line.insertCell().textContent = column(p);
      return line;
    }));
  };
  fetch(document.querySelector("form.search").dataset.plans)
    .then((answer) => answer.json())
    .then(show)
    .catch(() => {});
}

// A terminal's session is copied without its prompts and its output.
const commands = (text) => {
  const lines = text.split("\n");
  if (!lines.some((line) => line.startsWith("$ "))) return text;
  let within = false;
  return lines
    .filter((line) => {
      const command = within || line.startsWith("$ ");
      within = command && line.endsWith("\\");
      return command;
    })
    .map((line) => line.replace(/^\$ /, ""))
    .join("\n");
};

const copy = async (text) => {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // Browsers offer the clipboard over HTTPS only.
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (!done) throw new Error("not copied");
};

for (const pre of document.querySelectorAll(".guide pre")) {
  const block = document.createElement("div");
  block.className = "example";
  pre.replaceWith(block);
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  const said = document.createElement("span");
  said.className = "said";
  said.setAttribute("role", "status");
  button.addEventListener("click", async () => {
    let result = "Copied";
    try {
      await copy(commands(pre.textContent.replace(/\n$/, "")));
    } catch {
      result = "Press Ctrl+C";
      getSelection().selectAllChildren(pre);
    }
    button.textContent = result;
    said.textContent = result;
    setTimeout(() => {
      button.textContent = "Copy";
      said.textContent = "";
    }, 2000);
  });
  block.append(pre, button, said);
}

// The search.
const form = document.querySelector("body > header .search");
const input = form.querySelector("input");
const panel = form.querySelector("#found");
const status = panel.querySelector("p");
const list = panel.querySelector("ul");
form.hidden = false;

let index;
const load = () => {
  index ??= fetch(form.dataset.index)
    .then((answer) => {
      if (!answer.ok) throw new Error(answer.status);
      return answer.json();
    })
    .catch((error) => {
      index = undefined;
      throw error;
    });
  return index;
};

const escaped = (word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

// A section is found if it has every word. What stands in its title or begins its text, as the status of an error, counts most, and whole
// words more than beginnings.
const score = (section, words) => {
  let sum = 0;
  for (const word of words) {
    const whole = new RegExp(`(^|[^a-z0-9])${escaped(word)}s?($|[^a-z0-9])`, "i");
    const begins = new RegExp(`(^|[^a-z0-9])${escaped(word)}`, "i");
    let best = 0;
    for (const [text, worth] of [[section.title, 8], [section.page, 4], [section.text, 2]]) {
      if (whole.test(text)) best += worth;
      else if (begins.test(text)) best += worth / 2;
      else if (word.length > 2 && text.toLowerCase().includes(word)) best += worth / 8;
    }
    if (section.text.toLowerCase().startsWith(word)) best += 6;
    if (!best) return 0;
    sum += best;
  }
  return sum;
};

// The text around the first word that it has, with that word marked.
const excerpt = (text, words) => {
  const places = words.map((word) => text.toLowerCase().indexOf(word)).filter((at) => at >= 0);
  const first = Math.min(...places, text.length);
  let from = Math.max(0, (first === text.length ? 0 : first) - 40);
  if (from > 0) from = text.indexOf(" ", from) + 1;
  const piece = document.createElement("span");
  if (from > 0) piece.append("… ");
  let to = from + 130;
  if (to < text.length) to = text.lastIndexOf(" ", to);
  const parts = text.slice(from, to).split(new RegExp(`(${words.map(escaped).join("|")})`, "i"));
  parts.forEach((part, i) => {
    if (i % 2 === 0) return piece.append(part);
    const mark = document.createElement("mark");
    mark.textContent = part;
    piece.append(mark);
  });
  if (to < text.length) piece.append(" …");
  return piece;
};

const entry = (section, words) => {
  const link = document.createElement("a");
  link.href = section.path;
  const title = document.createElement("strong");
  title.textContent = section.title === section.page ? section.page : `${section.page}: ${section.title}`;
  link.append(title, excerpt(section.text, words));
  const item = document.createElement("li");
  item.append(link);
  return item;
};

const close = () => {
  panel.hidden = true;
};

const search = async () => {
  const query = input.value;
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return close();
  let found = [];
  try {
    found = (await load())
      .map((section) => [score(section, words), section])
      .filter(([worth]) => worth > 0)
      .sort((a, b) => b[0] - a[0])
      .slice(0, 8);
    // A later letter has its own answer.
    if (input.value !== query) return;
    status.textContent = found.length ? `${found.length === 8 ? "The best 8" : found.length} ${found.length === 1 ? "result" : "results"}` : `Nothing has “${query.trim()}”.`;
  } catch {
    status.textContent = "The search could not be loaded. Try again.";
  }
  list.replaceChildren(...found.map(([, section]) => entry(section, words)));
  panel.hidden = false;
};

const links = () => [...list.querySelectorAll("a")];

input.addEventListener("focus", () => load().catch(() => {}));
input.addEventListener("input", search);
input.addEventListener("click", search);
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  await search();
  links()[0]?.click();
});
form.addEventListener("keydown", (event) => {
  const stops = [input, ...links()];
  const at = stops.indexOf(document.activeElement);
  if (event.key === "Escape") {
    input.focus();
    close();
  } else if (event.key === "ArrowDown") {
    if (panel.hidden) search();
    else stops[Math.min(at + 1, stops.length - 1)].focus();
  } else if (event.key === "ArrowUp" && at > 0) {
    stops[at - 1].focus();
  } else {
    return;
  }
  event.preventDefault();
});
// A result on the page that is open only scrolls.
list.addEventListener("click", (event) => event.target.closest("a") && close());
document.addEventListener("focusin", (event) => form.contains(event.target) || close());
document.addEventListener("pointerdown", (event) => form.contains(event.target) || close());
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest?.("input, textarea, select, [contenteditable]:not([contenteditable=false])")) return;
  event.preventDefault();
  input.focus();
});
