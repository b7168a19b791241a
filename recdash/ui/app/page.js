// What the page needs beyond what is drawn on it: it is looked over twice a second, in the reader's browser.

// The browser's history gets one entry per action of the person: what Streamlit adds to an address by itself (the
// parameters of a page, after its path) replaces the entry before. After a step back or forward the entry keeps its
// address until the next action: the page is first drawn with the session's choices, which are not the entry's. The
// server is told of the step once its page is drawn; Streamlit reports it too, but as an address that the server takes
// for one not updated yet.
const HISTORY = "recdashHistory";
const keptHistory = () => {
  if (window[HISTORY]) return window[HISTORY];
  const kept = (window[HISTORY] = { acted: false, stepped: false, steps: 0, pending: null });
  const act = () => Object.assign(kept, { acted: true, stepped: false });
  for (const kind of ["pointerdown", "keydown"]) window.addEventListener(kind, act, true);
  const [push, replace] = [history.pushState.bind(history), history.replaceState.bind(history)];
  const write = (isNew) => (state, title, address) => {
    const isSamePage = new URL(address ?? "", location.href).pathname === location.pathname;
    if (kept.stepped && isSamePage) return;
    if (isNew && kept.acted) push(state, title, address);
    else replace(state, title, address);
    if (isNew) kept.acted = false;
  };
  history.pushState = write(true);
  history.replaceState = write(false);
  window.addEventListener("popstate", () => {
    const steps = kept.steps + 1;
    Object.assign(kept, { acted: false, stepped: true, steps, pending: { query: location.search, number: steps } });
  });
  return kept;
};

// Which place and which tab are shown. Streamlit gives the first page an address that is relative to the present one.
const located = ({ place, tab }) => {
  for (const link of document.querySelectorAll(".st-key-header a:not(.rd-brand), .st-key-tabs a")) {
    const shown = link.closest(".st-key-tabs") ? tab : place;
    if (link.innerText.trim() === shown) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
    const address = link.getAttribute("href") ?? "";
    if (address === "" || address.startsWith("?")) link.setAttribute("href", `./${address}`);
  }
};

// A link in a text to another page turns this session to it: as a plain link it would start the app anew, which takes
// seconds. With a key held, or to another window, it is a plain link.
const FOLLOWED = "recdashLinks";
const followLinks = (setStateValue) => {
  const kept = (window[FOLLOWED] ??= { listens: false, clicks: 0 });
  kept.tell = setStateValue;
  if (kept.listens) return;
  kept.listens = true;
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.(".stHtml a[href]");
    const isPlain = event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
    if (!link || !isPlain || link.matches("[target]:not([target=_self]), [download]")) return;
    const address = new URL(link.href);
    const folder = (place) => new URL("./", place).href; // pages lie beside each other; deeper there are files
    if (folder(address) !== folder(location.href) || address.hash) return;
    event.preventDefault();
    kept.clicks += 1;
    document.querySelector("[data-testid=stMain]")?.scrollTo(0, 0); // the answer is at the top, also of this page
    kept.tell("link", { path: address.pathname, query: address.search, number: kept.clicks });
  });
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

// Header and tabs are drawn inside the main content: who skips to it is taken past them, to the heading.
const skip = () => {
  const link = document.querySelector("[data-testid=stSkipToContent]:not([data-followed])");
  if (!link) return;
  link.dataset.followed = "yes";
  link.addEventListener("click", () => {
    const heading = document.querySelector(".stMain h1");
    if (!heading) return;
    heading.setAttribute("tabindex", "-1");
    setTimeout(() => heading.focus()); // after Streamlit's own focus
  });
};

// The button Copy link copies the address of the present view. Away from this computer and without HTTPS browsers offer no
// clipboard: then the older way is tried, and at last the address is shown.
const COPIES = "recdashCopies";
const copied = async (text) => {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = document.body.appendChild(document.createElement("textarea"));
    field.value = text;
    field.select();
    const isCopied = document.execCommand("copy");
    field.remove();
    return isCopied;
  }
};
const copyLinks = () => {
  if (window[COPIES]) return;
  window[COPIES] = true;
  document.addEventListener("click", async (event) => {
    const button = event.target.closest?.(".rd-copy-link");
    if (!button) return;
    if (!(await copied(location.href))) return void window.prompt("Copy this link:", location.href);
    const label = button.firstElementChild;
    label.textContent = button.dataset.copied;
    setTimeout(() => (label.textContent = "Copy link"), 3000);
  });
};

// Known in this browser's next session: the name that somebody gave in a form, and that the demo was read.
const remember = (cookie, value) => {
  const secure = location.protocol === "https:" ? "; Secure" : "";
  document.cookie = `${cookie}=${encodeURIComponent(value)}; Path=/; Max-Age=31536000; SameSite=Strict${secure}`;
};
const rememberName = ({ name }) => {
  if (name) remember("recdash-name", name);
};
const rememberReading = () => {
  const isKnown = document.cookie.includes("recdash-demo-read=");
  if (!isKnown && document.querySelector(".rd-tour-read")) remember("recdash-demo-read", "yes");
};

const scheme = () => getComputedStyle(document.querySelector(".stApp")).colorScheme;

export default function ({ data, setStateValue }) {
  const kept = keptHistory();
  const look = () => {
    if (kept.pending && location.pathname.endsWith(`/${data.page}`)) {
      setStateValue("address", kept.pending);
      kept.pending = null;
    }
    located(data);
    reachable();
    readable();
    entered();
    skip();
    rememberReading();
    // Charts wear the colours of the theme they were drawn in: draw them anew when it changes.
    if (["light", "dark"].includes(scheme()) && scheme() !== data.drawn) setStateValue("scheme", scheme());
  };
  followLinks(setStateValue);
  copyLinks();
  rememberName(data);
  clearInterval(kept.watch); // of the page before
  kept.watch = setInterval(look, 500);
  look();
}
