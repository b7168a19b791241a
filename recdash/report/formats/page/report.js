"use strict";
(() => {
  const root = document.documentElement;

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
  let names = [];
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
  const localise = () => {
    for (const one of document.querySelectorAll("data")) {
      one.textContent = one.textContent.replace(ALONE, written);
    }
    document.querySelectorAll("[data-n]").forEach(retell);
  };

  // ── what is packed: see recdash/report/packing.py ──
  const place = (code) => code - 33 - (code > 60);
  const sign = (one, other) => one < 128
    ? place(one) * 93 + place(other)
    : 93 * 93 + (((one & 31) << 6) | (other & 63)) - 0xAE;
  const unpacked = async (id) => {
    const text = document.getElementById(id).textContent;
    const begin = text.indexOf(":") + 1;
    const written = new TextEncoder().encode(text.slice(begin));
    const padded = new DataView(new ArrayBuffer(written.length / 6 * 5));
    for (let at = 0, to = 0; at < written.length; at += 6, to += 5) {
      let word = 0; // of 40 bits
      for (let two = at; two < at + 6; two += 2) word = word * 10322 + sign(written[two], written[two + 1]);
      padded.setUint8(to, Math.floor(word / 2 ** 32));
      padded.setUint32(to + 1, word % 2 ** 32);
    }
    const bytes = padded.buffer.slice(0, Number(text.slice(0, begin - 1)));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).text();
  };
  const run = (code) => {
    const script = document.createElement("script");
    script.textContent = code;
    document.head.append(script);
  };

  // ── charts ──
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const TEXTS = new Set(["text", "hovertext", "ticktext"]);
  const retold = (value, key) => {
    if (typeof value === "string") return TEXTS.has(key) ? said(value) : value;
    if (Array.isArray(value)) {
      return typeof value[0] === "number" ? value : value.map((part) => retold(part, key));
    }
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, retold(part, name)]));
  };
  const PRINTED = 680;
  const CONFIG = { displayModeBar: false, scrollZoom: false, doubleClick: false, responsive: true };
  const charts = () => document.querySelectorAll(".chart");
  const figures = {};
  // Drawn in colours that stand for roles: see THEMELESS in recdash/report/figures.py.
  const coloured = (text, theme) => text
    .replace(/#A000([0-9A-F]{2})/g, (_, place) => theme[parseInt(place, 16)])
    .replace(/rgba\(160,0,(\d+)/g, (_, place) => {
      const code = parseInt(theme[Number(place)].slice(1), 16);
      return `rgba(${code >> 16},${(code >> 8) & 255},${code & 255}`;
    });
  const draw = (theme, width) => {
    charts().forEach((chart, at) => {
      const { data, layout } = figures[theme][at];
      const font = { ...layout.font, family: getComputedStyle(document.body).fontFamily };
      const size = width ? { width, autosize: false } : { autosize: true };
      window.Plotly.react(chart, data, { ...layout, font, ...size }, CONFIG);
    });
  };
  const redraw = () => draw(dark.matches ? "dark" : "light");
  const start = async () => {
    const found = JSON.parse(await unpacked("packed-figures"));
    names = found.names;
    localise();
    if (charts().length) {
      run(await unpacked("packed-plotly"));
      const told = JSON.stringify(retold(found.figures));
      for (const theme of ["light", "dark"]) figures[theme] = JSON.parse(coloured(told, found.themes[theme]));
      for (const chart of charts()) chart.parentElement.hidden = false;
      redraw();
      for (const table of document.querySelectorAll("figure details")) table.open = false;
      dark.addEventListener("change", redraw);
      addEventListener("beforeprint", () => draw("light", PRINTED));
      addEventListener("afterprint", redraw);
    }
    root.dataset.drawn = "yes";
  };
  start().catch((error) => {
    // An old browser: the tables say the same.
    for (const chart of charts()) chart.parentElement.hidden = true;
    for (const table of document.querySelectorAll("figure details")) table.open = true;
    root.dataset.drawn = "no";
    console.warn(`The charts cannot be drawn here: ${error}`);
  });
})();
