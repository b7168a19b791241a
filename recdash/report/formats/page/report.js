"use strict";
(() => {
  // ── numbers as the reader writes them: same decimals, same sign ──
  const formats = new Map();
  const written = (text) => {
    const decimals = (text.split(".")[1] || "").length;
    if (!formats.has(decimals)) {
      const digits = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
      formats.set(decimals, new Intl.NumberFormat(navigator.language, digits));
    }
    return formats.get(decimals).format(Number(text.replaceAll(",", "")));
  };
  const ALONE = /\d[\d,]*(?:\.\d+)?/g;
  // Only what English writes otherwise than others: 6,040 and 0.25; never in a name, a spec or a version.
  const IN_PROSE = /(?<![\p{L}\d@=_.,-])(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.\d+)(?![\p{L}_-]|[.,]?\d)/gu;
  const names = JSON.parse(document.getElementById("names").textContent);
  const said = (text) => {
    let parts = [text];
    for (const name of names) {
      parts = parts.flatMap((part, at) => at % 2 ? [part] : part.split(name).flatMap((rest, n) => n ? [name, rest] : [rest]));
    }
    return parts.map((part, at) => at % 2 ? part : part.replace(IN_PROSE, written)).join("");
  };
  const retell = (node) => {
    for (const child of node.childNodes) {
      if (child.nodeType === Node.TEXT_NODE) {
        child.data = said(child.data);
      } else if (child.nodeName !== "DATA") {
        retell(child);
      }
    }
  };
  for (const number of document.querySelectorAll("data")) {
    number.textContent = number.textContent.replace(ALONE, written);
  }
  document.querySelectorAll("[data-n], .chart").forEach(retell);
})();
