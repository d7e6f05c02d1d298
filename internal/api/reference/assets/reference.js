// Starts the reference. It keeps no key, speaks to nobody but the API, and uses the fonts that the reader has.
const content = document.getElementById("content");

const options = {
  theme: "default",
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  persistAuth: false,
  showDeveloperTools: "never",
  hideClientButton: true,
  hideDarkModeToggle: true,
  hideSearch: true,
  documentDownloadType: "none",
  defaultHttpClient: { targetKey: "shell", clientKey: "curl" },
  authentication: { preferredSecurityScheme: "apiKey" },
};

// A request is prepared with what it must have, and with defaults: no filter is chosen that the reader did not choose.
const withoutFilters = (api) => {
  const all = Object.values(api.paths).flatMap((path) => Object.values(path).flatMap((operation) => operation.parameters ?? []));
  for (const parameter of [...all, ...Object.values(api.components.parameters ?? {})]) {
    if (!parameter.in || parameter.required || parameter.schema?.default !== undefined) continue;
    const value = parameter.example;
    delete parameter.example;
    parameter.examples = { default: { ...(value === undefined ? {} : { value }), "x-disabled": true } };
  }
  return api;
};

fetch(content.dataset.document)
  .then((answer) => answer.json())
  .then((api) => Scalar.createApiReference(content, { content: withoutFilters(api), ...options }))
  .catch(() => Scalar.createApiReference(content, { url: content.dataset.document, ...options }));

// Three things that readers without a mouse or a screen need: what scrolls is reached by the Tab key, buttons and
// links that show only a sign have a name, and the page has one banner.
const scrolls = (element) => {
  const { overflowX, overflowY } = getComputedStyle(element);
  return (
    (element.scrollWidth > element.clientWidth && /auto|scroll/.test(overflowX)) ||
    (element.scrollHeight > element.clientHeight && /auto|scroll/.test(overflowY))
  );
};

const mend = () => {
  for (const element of document.querySelectorAll("pre, code, ul, div, span")) {
    if (!element.hasAttribute("tabindex") && scrolls(element)) element.tabIndex = 0;
  }
  for (const button of document.querySelectorAll('button[class*="copy-button"]:not([aria-label])')) {
    button.setAttribute("aria-label", "Copy");
  }
  for (const link of document.querySelectorAll('a[target="_blank"]:not([aria-label])')) {
    if (link.textContent.trim() === "") link.setAttribute("aria-label", link.href); // the contact's address beside its e-mail
  }
  for (const header of content.querySelectorAll("header:not([role])")) {
    header.role = "none";
    Object.assign(header.parentElement, { role: "navigation", ariaLabel: "Operations" });
  }
};

let waiting = false;
new MutationObserver(() => {
  if (waiting) return;
  waiting = true;
  setTimeout(() => {
    waiting = false;
    mend();
  }, 100);
}).observe(document.body, { childList: true, subtree: true });
