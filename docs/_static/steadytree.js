// Names for what the theme leaves without one, for those who hear a page instead of seeing it.
for (const toggle of document.querySelectorAll("nav details > summary")) {
  const link = toggle.closest("li")?.querySelector("a");
  if (!toggle.textContent.trim() && link) {
    toggle.setAttribute("aria-label", `Pages below ${link.textContent.trim()}`);
  }
}
// A formula wider than the window is scrolled by keyboard, too.
for (const formula of document.querySelectorAll("div.math")) {
  if (formula.scrollWidth > formula.clientWidth) formula.tabIndex = 0;
}
