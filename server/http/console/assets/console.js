// What every page does: theme, menu, times of the chosen clock, forms that are sent once,
// and pages that follow something in progress.
const root = document.documentElement

document.querySelector("[data-theme-toggle]")?.addEventListener("click", () => {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches
  root.dataset.theme = dark ? "light" : "dark"
  localStorage.setItem("theme", root.dataset.theme)
  dispatchEvent(new Event("themechange"))
})

const menu = document.querySelector("[data-menu]")
menu?.addEventListener("click", () => {
  const open = document.getElementById("nav").classList.toggle("open")
  menu.setAttribute("aria-expanded", String(open))
})

function showTimes(within) {
  for (const time of within.querySelectorAll("time[datetime]")) {
    const at = new Date(time.dateTime)
    if (!isNaN(at)) time.textContent = clock.text(at)
  }
}
function showClock() {
  for (const zone of document.querySelectorAll("[data-zone]")) zone.textContent = clock.zone()
  showTimes(document)
}
document.querySelector("[data-clock-toggle]")?.addEventListener("click", () => clock.turn())
addEventListener("clockchange", showClock)
showClock()

for (const form of document.querySelectorAll("form[data-once]")) {
  form.addEventListener("submit", (event) => {
    if (form.dataset.sent) event.preventDefault()
    form.dataset.sent = "yes"
  })
}

// A part of the page that changes is read again and replaced by nodes of the new page.
// DOMParser makes documents whose scripts never run, but trusted types reject a text for
// it, so the page is read as a document by XMLHttpRequest.
function readPage(address) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open("GET", address)
    request.responseType = "document"
    request.timeout = 10_000
    request.onload = () => (request.status === 200 && request.response ? resolve(request.response) : reject(request.status))
    request.onerror = request.ontimeout = () => reject(0)
    request.send()
  })
}

let shown = document.querySelector("[data-refresh]")
async function follow() {
  for (let wait = Number(shown?.dataset.refresh); wait > 0; wait = Number(shown.dataset.refresh)) {
    await new Promise((resolve) => setTimeout(resolve, wait * 1000))
    if (document.hidden) continue
    try {
      const page = await readPage(location.href)
      const next = page.querySelector("[data-refresh]")
      if (!next) return location.reload()
      const head = page.querySelector("main > .head") // its actions depend on the state
      if (head) document.querySelector("main > .head")?.replaceWith(document.adoptNode(head))
      shown.replaceWith(document.adoptNode(next))
      shown = next
      showTimes(shown)
    } catch {
      // The server restarts, or the connection is lost: try again.
    }
  }
}
follow()

// Copies what a button names.
addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]")
  if (!button) return
  const label = button.getAttribute("aria-label")
  try {
    await navigator.clipboard.writeText(button.dataset.copy)
    button.dataset.copied = "yes"
    button.setAttribute("aria-label", "Copied")
  } catch { // the browser does not allow it here
    button.setAttribute("aria-label", "Not allowed by the browser")
  }
  setTimeout(() => {
    delete button.dataset.copied
    button.setAttribute("aria-label", label)
  }, 1500)
})

// A list that is on the page as a whole is filtered while somebody types.
for (const list of document.querySelectorAll("[data-live]")) {
  const input = list.querySelector("input[type=search]")
  input.addEventListener("input", () => {
    const text = input.value.trim().toLowerCase()
    let shown = 0
    for (const group of list.querySelectorAll(".group")) {
      let some = false
      for (const row of group.querySelectorAll("li")) {
        row.hidden = !row.querySelector("div").textContent.toLowerCase().includes(text)
        if (!row.hidden) shown++
        some ||= !row.hidden
      }
      group.hidden = !some
    }
    list.querySelector("[data-shown]").textContent = shown
  })
}
