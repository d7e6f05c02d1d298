// Starts the reference. It keeps no key, speaks to nobody but the API, and uses the fonts that the reader has.
const content = document.getElementById("content");

Scalar.createApiReference(content, {
  url: content.dataset.document,
  theme: "default",
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  persistAuth: false,
  showDeveloperTools: "never",
  hideClientButton: true,
  hideDarkModeToggle: true,
  documentDownloadType: "none",
  defaultHttpClient: { targetKey: "shell", clientKey: "curl" },
  authentication: { preferredSecurityScheme: "apiKey" },
});

// Two things that readers without a mouse or a screen need: what scrolls is reached by the Tab key, and buttons that show
// only a sign have a name.
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
