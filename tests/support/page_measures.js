// What a reader meets on the page as it is drawn: text that is cut or runs out of the window, labels of charts that
// lie over each other, charts with what stands for them. Called with nothing, answers {cut, charts}.
() => {
  const main = document.querySelector("[data-testid=stMain]");
  const width = document.documentElement.clientWidth;
  const inside = (element, selector) => element.closest(selector) !== null;
  const words = (element) => element.textContent.trim().replace(/\s+/g, " ").slice(0, 60);
  const key = (element) => {
    const keyed = element.closest("[class*=st-key-]");
    return keyed ? [...keyed.classList].find((name) => name.startsWith("st-key-")) : "";
  };
  const shown = (element) => {
    const box = element.getBoundingClientRect();
    const { visibility, clipPath } = getComputedStyle(element);
    const hidden = visibility === "hidden" || clipPath === "inset(50%)"; // the latter is for screen readers alone
    return box.width > 0 && box.height > 0 && !hidden && !inside(element, "[aria-hidden=true], [inert]");
  };
  const scrolls = (element) => {
    for (let box = element.parentElement; box && box !== main; box = box.parentElement) {
      if (/auto|scroll/.test(getComputedStyle(box).overflowX) && box.scrollWidth > box.clientWidth) return true;
    }
    return false;
  };

  const cut = [];
  const note = (what, element) => cut.push(`${what}: ${key(element)} ${element.tagName} "${words(element)}"`);
  for (const box of [document.documentElement, main]) {
    if (box.scrollWidth > box.clientWidth + 1) cut.push(`page wider than its window: ${box.scrollWidth} px`);
  }
  for (const tabs of document.querySelectorAll(".st-key-tabs")) {
    if (tabs.scrollWidth > tabs.clientWidth + 1) note("wider than its window", tabs);
  }
  for (const element of document.querySelectorAll("[data-testid=stMain] *")) {
    if (inside(element, "svg, .katex-mathml, [data-testid=stDataFrame], [title]")) continue;
    if (/^st-key-chart-0-(curve|precision)/.test(key(element))) continue; // the key below has what is cut
    if (!words(element) || !shown(element)) continue;
    const style = getComputedStyle(element);
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    const box = element.getBoundingClientRect();
    if (/hidden|clip/.test(style.overflowX) && element.scrollWidth > element.clientWidth + 1) {
      note("cut at the side", element);
    }
    if (own && /hidden|clip/.test(style.overflowY) && element.scrollHeight > element.clientHeight + 3) {
      note("cut below", element);
    }
    if (own && inside(element, "[data-testid=stMain]") && box.right > width + 1 && !scrolls(element)) {
      note("out of the window", element);
    }
  }
  for (const input of document.querySelectorAll("[data-testid=stMain] input[role=combobox]")) {
    if (shown(input) && input.scrollWidth > input.clientWidth + 1 && !input.title) {
      cut.push(`cut in a field: ${key(input)} "${input.value}"`);
    }
  }

  const plots = [...document.querySelectorAll(".js-plotly-plot")].filter(shown);
  for (const plot of plots) {
    const frame = plot.getBoundingClientRect();
    const texts = [...plot.querySelectorAll("svg text")].filter((text) => words(text) && shown(text));
    const boxes = texts.map((text) => text.getBoundingClientRect());
    boxes.forEach((box, one) => {
      if (box.left < frame.left - 2 || box.right > frame.right + 2 || box.bottom > frame.bottom + 2) {
        note("out of the chart", texts[one]);
      }
      boxes.slice(one + 1).forEach((other, next) => {
        const across = Math.min(box.right, other.right) - Math.max(box.left, other.left);
        const down = Math.min(box.bottom, other.bottom) - Math.max(box.top, other.top);
        if (across > 3 && down > 5) note(`over "${words(texts[one + 1 + next])}"`, texts[one]);
      });
    });
  }

  const tables = [...document.querySelectorAll(".rd-table, details")].filter(
    (table) => table.matches(".rd-table") || table.closest("[class*=st-key-behind-]"),
  );
  const charts = [...document.querySelectorAll(".stPlotlyChart")].map((chart) => ({
    key: key(chart),
    role: chart.getAttribute("role"),
    alt: chart.getAttribute("aria-label") ?? "",
    table: tables.some(
      (table) =>
        chart.compareDocumentPosition(table) & Node.DOCUMENT_POSITION_FOLLOWING ||
        (chart.closest(".stHorizontalBlock")?.contains(table) ?? false),
    ),
  }));
  return { cut, charts };
}
