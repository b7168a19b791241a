// What the page needs beyond what is drawn on it. Runs in the browser, once per run of the script.

// Streamlit nests the navigation's items in a way that screen readers cannot count.
const mendNavigation = () => {
  const list = document.querySelector("[data-testid=stSidebarNavItems]");
  if (!list) return;
  list.setAttribute("role", "presentation");
  for (const section of list.querySelectorAll(":scope > div")) {
    section.setAttribute("role", "list");
    section.setAttribute("aria-label", section.querySelector("header")?.innerText.split("\n")[0] ?? "Pages");
  }
};

const scheme = () => getComputedStyle(document.querySelector(".stApp")).colorScheme;

let watch;

export default function ({ data, setStateValue }) {
  const look = () => {
    mendNavigation();
    // Charts wear the colours of the theme they were drawn in: draw them anew when it changes.
    if (["light", "dark"].includes(scheme()) && scheme() !== data.drawn) setStateValue("scheme", scheme());
  };
  clearInterval(watch);
  watch = setInterval(look, 500);
  look();
}
