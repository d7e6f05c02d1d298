// The meters of the overview are read anew while somebody looks at them. The rest of the pages needs no script.
const meters = document.getElementById("meters");
const refresh = async () => {
  if (document.hidden) return;
  const answer = await fetch("?refresh", { redirect: "error" });
  const now = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("meters");
  if (now) meters.replaceChildren(...now.childNodes);
};
if (meters) setInterval(() => refresh().catch(() => location.reload()), 10_000);
