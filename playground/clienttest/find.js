// Finds the last element that a path of {css, text} leads to, among those that are shown, and says how it stands.
// Text counts as a person reads it: line breaks and other blanks are one blank. The point is the element's middle; hit says that a click there reaches it.
(path, scroll) => {
  const shown = (el) => el.getClientRects().length > 0 && getComputedStyle(el).visibility === "visible";
  const plain = (text) => text.replace(/\s+/g, " ");
  let found = [document];
  for (const { css, text } of path) {
    const below = found.flatMap((el) => [...el.querySelectorAll(css)]);
    found = [...new Set(below)].filter((el) => shown(el) && plain(el.innerText ?? "").includes(plain(text)));
  }
  const el = found.at(-1);
  if (!el) return { count: 0 };
  if (scroll) el.scrollIntoView({ block: "nearest" });
  const box = el.getBoundingClientRect();
  const x = box.x + box.width / 2, y = box.y + box.height / 2;
  return {
    count: found.length, text: el.innerText, value: String(el.value ?? ""), disabled: Boolean(el.disabled),
    focused: el === document.activeElement, x, y, hit: el.contains(document.elementFromPoint(x, y)),
  };
}
