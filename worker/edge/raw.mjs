// Pieces of JSON as the bytes that were sent. A hash over a tool's arguments is a hash over bytes, so what the core
// put into a body or a frame must leave this host as it came: JSON.parse and JSON.stringify would change numbers and escapes.

// members gives the raw text of each member of a JSON object, by name. text must be valid JSON; it throws when that is
// no object.
export function members(text) {
  const all = {};
  let at = inside(text, "{");
  while (text[at] !== "}") {
    const key = end(text, at);
    const value = skip(text, skip(text, key) + 1); // past the colon
    const stop = end(text, value);
    all[JSON.parse(text.slice(at, key))] = text.slice(value, stop);
    at = skip(text, stop);
    if (text[at] === ",") at = skip(text, at + 1);
  }
  return all;
}

// elements gives the raw text of each element of a JSON array, as members does.
export function elements(text) {
  const all = [];
  let at = inside(text, "[");
  while (text[at] !== "]") {
    const stop = end(text, at);
    all.push(text.slice(at, stop));
    at = skip(text, stop);
    if (text[at] === ",") at = skip(text, at + 1);
  }
  return all;
}

// inside gives the first position behind the bracket that text begins with.
function inside(text, bracket) {
  const at = skip(text, 0);
  if (text[at] !== bracket) throw new TypeError(`JSON that does not begin with ${bracket}`);
  return skip(text, at + 1);
}

// skip gives the first position from at that is no white space.
function skip(text, at) {
  while (text[at] === " " || text[at] === "\n" || text[at] === "\t" || text[at] === "\r") at++;
  return at;
}

// end gives the position behind the value that begins at at.
function end(text, at) {
  let depth = 0;
  for (let i = at; i < text.length; i++) {
    const c = text[i];
    if (c === '"') {
      i = endOfString(text, i);
      if (depth === 0) return i + 1;
    } else if (c === "{" || c === "[") {
      depth++;
    } else if (c === "}" || c === "]") {
      if (depth === 0) return i; // behind a bare number or word
      if (--depth === 0) return i + 1;
    } else if (depth === 0 && (c === "," || c === ":" || c === " " || c === "\n" || c === "\t" || c === "\r")) {
      return i;
    }
  }
  return text.length;
}

// endOfString gives the position of the quote that ends the string beginning at at.
function endOfString(text, at) {
  let i = at + 1;
  while (text[i] !== '"') i += text[i] === "\\" ? 2 : 1;
  return i;
}
