// The meters of the overview are read anew while somebody looks at them, and the token of a link is posted. Nothing else needs a script.
const meters = document.getElementById("meters");
const refresh = async () => {
  if (document.hidden) return;
  const answer = await fetch("?refresh", { redirect: "error" });
  const now = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("meters");
  if (now) meters.replaceChildren(...now.childNodes);
};
if (meters) setInterval(() => refresh().catch(() => location.reload()), 10_000);

// The token of a link stands behind #, which browsers do not send. It leaves the address bar and the history, and is posted when somebody sees the page:
// what only reads the page, or loads it ahead, uses nothing up.
const invitation = document.getElementById("invitation");
const post = () => {
  if (document.hidden) addEventListener("visibilitychange", post, { once: true });
  else invitation.requestSubmit();
};
const take = () => {
  const token = location.hash.slice(1);
  if (!token) return;
  invitation.elements.token.value = token;
  history.replaceState(null, "", location.pathname);
  post();
};
if (invitation) {
  take();
  addEventListener("hashchange", take);
}
