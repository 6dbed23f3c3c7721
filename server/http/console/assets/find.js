// The keyboard, the command palette, and the pickers of boards and players.
const palette = document.getElementById("palette")
const keys = document.getElementById("keys")

async function find(text, kind = "") {
  const answer = await fetch("/console/find?" + new URLSearchParams({ q: text, kind }), {
    headers: { Accept: "application/json" }, signal: AbortSignal.timeout(10_000),
  })
  if (!answer.ok) throw new Error(String(answer.status))
  return answer.json()
}

// Calls back once the user has stopped typing for a moment, with the newest answer only.
function whileTyping(input, ask, show) {
  let timer, newest = 0
  const run = () => {
    const asked = ++newest
    clearTimeout(timer)
    timer = setTimeout(async () => {
      try {
        const all = await ask(input.value)
        if (asked === newest) show(all)
      } catch {
        // The server does not answer: what was found before stays.
      }
    }, 150)
  }
  input.addEventListener("input", run)
  return run
}

if (palette) {
  const input = palette.querySelector("input")
  const list = palette.querySelector("ul")
  let chosen = 0
  const choose = (n) => {
    const all = list.children
    chosen = all.length ? (n + all.length) % all.length : 0
    for (const [i, row] of [...all].entries()) row.setAttribute("aria-selected", String(i === chosen))
    if (all[chosen]) input.setAttribute("aria-activedescendant", all[chosen].id)
    else input.removeAttribute("aria-activedescendant")
    all[chosen]?.scrollIntoView({ block: "nearest" })
  }
  const search = whileTyping(input, (text) => find(text), (all) => {
    list.replaceChildren(...all.map((one, i) => {
      const row = document.createElement("li")
      row.id = "palette-" + i
      row.role = "option"
      row.dataset.href = one.href
      for (const [kind, text] of [["b", one.label], ["span", one.detail ?? ""], ["small", one.kind]]) {
        const part = document.createElement(kind)
        part.textContent = text
        row.append(part)
      }
      return row
    }))
    choose(0)
  })
  const open = () => {
    if (document.querySelector("dialog[open]")) return
    input.value = ""
    palette.showModal()
    search()
  }
  const go = () => {
    const href = list.children[chosen]?.dataset.href
    if (href) location.assign(href)
  }
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") choose(chosen + 1)
    else if (event.key === "ArrowUp") choose(chosen - 1)
    else if (event.key === "Enter") go()
    else return
    event.preventDefault()
  })
  list.addEventListener("click", (event) => {
    const row = event.target.closest("li")
    if (!row) return
    choose([...list.children].indexOf(row))
    go()
  })
  palette.addEventListener("click", (event) => event.target === palette && palette.close())
  document.querySelector("[data-palette]")?.addEventListener("click", open)
  addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k") {
      event.preventDefault()
      open()
    }
  })
}

// Keys without a modifier mean what they write while somebody types.
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, dialog")) return
  if (event.key === "/") {
    const input = document.querySelector("main [role=search] input")
    if (input) input.focus()
    else document.querySelector("[data-palette]")?.click()
    input?.select()
  } else if (event.key === "?") keys?.showModal()
  else return
  event.preventDefault()
})

// A time is picked in the chosen clock, and sent as the field had it: in RFC 3339. A text that is no time stays one.
function pickTime(field) {
  if (field.value && isNaN(new Date(field.value))) return
  const input = field.cloneNode()
  input.removeAttribute("name")
  input.type = "datetime-local"
  input.step = 1
  const zone = document.createElement("small")
  zone.dataset.zone = ""
  zone.textContent = clock.zone()
  const label = field.labels?.[0]
  if (label?.contains(field)) field.before(zone)
  else label?.append(" ", zone)
  field.removeAttribute("id")
  field.required = false
  field.type = "hidden"
  field.after(input)
  const show = () => {
    if (!field.value) return
    const { year, month, day, hour, minute, second } = clock.parts(new Date(field.value))
    input.value = `${year}-${month}-${day}T${hour}:${minute}:${second}`
  }
  show()
  input.addEventListener("input", () => {
    field.value = input.value && new Date(input.value + (clock.local ? "" : "Z")).toISOString()
  })
  addEventListener("clockchange", show)
}
for (const field of document.querySelectorAll("input[data-pick=time]")) pickTime(field)

// A picker offers what begins with the text that was typed.
for (const input of document.querySelectorAll("input[data-pick=board], input[data-pick=player]")) {
  const list = document.createElement("datalist")
  list.id = "pick-" + (input.id || input.name)
  input.after(list)
  input.setAttribute("list", list.id)
  const search = whileTyping(input, (text) => find(text, input.dataset.pick), (all) => {
    list.replaceChildren(...all.map((one) => new Option(one.detail ?? "", one.label)))
  })
  input.addEventListener("focus", search)
}
