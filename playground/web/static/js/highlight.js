// A few colours for code blocks: enough to read a diff, a shell line or a function.

import { h } from "./dom.js";

const words = new Set(("func return if else for range switch case default break continue go defer var const type struct interface map chan package import nil true false " +
  "let class new this async await function export from def None True False elif try except finally raise with as in not and or lambda yield " +
  "fn mut pub impl use match enum trait self SELECT FROM WHERE INSERT UPDATE DELETE CREATE TABLE " +
  "then fi do done esac while echo cd export set").split(" "));

const token = /(\/\/[^\n]*|#[^\n]*|--[^\n]*|\/\*[\s\S]*?\*\/)|("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`[^`]*`)|\b(\d[\d_.]*(?:ms|s)?)\b|([A-Za-z_]\w*)(\s*\()?|[\s\S]/g;

// highlight returns the nodes of a piece of code.
export function highlight(code, lang) {
  if (code.length > 20_000) return [code];
  if (lang === "diff") return code.split("\n").flatMap((line, i) => [i ? "\n" : "", diffLine(line)]);
  if (!lang || lang === "text" || lang === "txt") return [code];
  const shell = ["sh", "bash", "shell"].includes(lang);
  const hashes = shell || ["python", "py", "yaml", "yml", "toml", "make", "ruby", "rb"].includes(lang);
  const dashes = lang === "sql" || lang === "lua";
  const out = [];
  const put = (kind, text) => out.push(kind ? h("span.hl-" + kind, text) : text);
  // What an approval card shows would run: nothing that runs may look like a comment or a string.
  const comment = (text, before) => {
    if (text[0] === "#") return hashes && !/[^\s;&|(]/.test(before);
    return text[0] === "-" ? dashes : !hashes && !dashes;
  };
  for (const m of code.matchAll(token)) {
    if (m[1]) put(comment(m[1], code[m.index - 1] ?? "") ? "comment" : "", m[1]);
    else if (m[2]) put(shell && m[2].includes("\\'") ? "" : "string", m[2]);
    else if (m[3]) put("number", m[3]);
    else if (m[4]) {
      put(words.has(m[4]) ? "word" : m[5] ? "call" : "", m[4]);
      if (m[5]) out.push(m[5]);
    } else out.push(m[0]);
  }
  return out;
}

function diffLine(line) {
  if (/^(\+\+\+|---|@@|diff )/.test(line)) return h("span.hl-comment", line);
  if (line[0] === "+") return h("span.hl-add", line);
  if (line[0] === "-") return h("span.hl-del", line);
  return line;
}
