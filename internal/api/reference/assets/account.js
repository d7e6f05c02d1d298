// The meters of the overview are read anew while somebody looks at them, and the form of an invitation is filled in. Nothing else needs a script.
const meters = document.getElementById("meters");
const refresh = async () => {
  if (document.hidden) return;
  const answer = await fetch("?refresh", { redirect: "error" });
  const now = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("meters");
  if (now) meters.replaceChildren(...now.childNodes);
};
if (meters) setInterval(() => refresh().catch(() => location.reload()), 10_000);

// The token of a link stands behind #, which browsers do not send. It leaves the address bar and the history, and the button posts it: whatever only
// opens the link uses nothing up.
const invitation = document.getElementById("invitation");
const fill = () => {
  const token = location.hash.slice(1);
  if (!token) return;
  invitation.elements.token.value = token;
  invitation.elements.token.parentElement.hidden = true;
  history.replaceState(null, "", location.pathname);
};
if (invitation) {
  fill();
  addEventListener("hashchange", fill);
}
