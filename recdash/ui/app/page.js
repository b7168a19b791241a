// What the page needs beyond what is drawn on it: it is looked over twice a second, in the reader's browser.

// Streamlit nests the navigation's items in a way that screen readers cannot count.
const countable = () => {
  const list = document.querySelector("[data-testid=stSidebarNavItems]");
  if (!list) return;
  list.setAttribute("role", "presentation");
  for (const section of list.querySelectorAll(":scope > div")) {
    section.setAttribute("role", "list");
    section.setAttribute("aria-label", section.querySelector("header")?.innerText.split("\n")[0] ?? "Pages");
  }
};

// What scrolls can be scrolled with the arrow keys, once Tab has reached it.
const SCROLLERS = ".scroll, .rd-lists, [class*=st-key-chart-], [class*=st-key-panels-]";
const reachable = () => {
  for (const box of document.querySelectorAll(SCROLLERS)) {
    const scrolls = box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight;
    if (scrolls === box.hasAttribute("tabindex")) continue;
    for (const [name, value] of [["tabindex", "0"], ["role", "group"], ["aria-label", "Scrolls sideways"]]) {
      if (scrolls) box.setAttribute(name, value);
      else box.removeAttribute(name);
    }
  }
};

// A long name in a narrow field is told in full under the pointer.
const readable = () => {
  for (const field of document.querySelectorAll("input[role=combobox]")) {
    const whole = field.scrollWidth > field.clientWidth + 1 ? field.value : "";
    if (whole !== field.title) field.title = whole;
  }
};

// What a button opens stands at the end of the page: whoever opened it with a key is taken there.
const FIELDS = "input, button, textarea, a[href], [tabindex='0']";
const entered = () => {
  const opened = document.querySelector("[data-testid=stPopoverBody]:not([data-entered])");
  if (!opened?.querySelector(FIELDS)) return;
  opened.dataset.entered = "yes";
  if (document.activeElement.matches("[data-testid=stPopoverButton]:focus-visible")) {
    opened.querySelector(FIELDS).focus();
  }
};

const scheme = () => getComputedStyle(document.querySelector(".stApp")).colorScheme;

let watch;

export default function ({ data, setStateValue }) {
  const look = () => {
    countable();
    reachable();
    readable();
    entered();
    // Charts wear the colours of the theme they were drawn in: draw them anew when it changes.
    if (["light", "dark"].includes(scheme()) && scheme() !== data.drawn) setStateValue("scheme", scheme());
  };
  clearInterval(watch);
  watch = setInterval(look, 500);
  look();
}
