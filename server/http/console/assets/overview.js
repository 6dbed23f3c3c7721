// Keeps the overview up to date, and draws what it has seen in the last hour.
const page = document.getElementById("overview")
const every = 2000 // milliseconds
const kept = 3600_000
const store = "overview-nodes:" + page.dataset.source
const names = ["rate", "p95", "outbox", "lag"]

// Behind a load balancer another node may answer each request. Each node that answers has
// samples and lines of its own; one that has not answered for an hour has none.
const colors = ["blue", "orange", "green", "purple"]
const maxNodes = colors.length
let samples = new Map() // of arrays, by node
const filled = new Set() // nodes whose last hour is known
let more = true // another node may answer, whose last hour is not known yet
try {
  samples = new Map(JSON.parse(sessionStorage.getItem(store)))
} catch {
  // There are none.
}
function forget() {
  for (const [node, all] of samples) {
    const young = all.filter((s) => s[0] > Date.now() - kept)
    if (young.length > 0) samples.set(node, young)
    else samples.delete(node)
  }
}
forget()

const compact = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 })
const charts = new Map()

function token(name) {
  // A token is a pair for light and dark; the browser resolves it for an element.
  const probe = document.createElement("i")
  probe.style.color = `var(--${name})`
  page.append(probe)
  const color = getComputedStyle(probe).color
  probe.remove()
  return color
}

// The charts begin with the first sample, and show five minutes at least.
function span() {
  const now = Date.now() / 1000
  return [Math.max(now - kept / 1000, Math.min(now - 300, Math.min(Date.now(), ...[...samples.values()].map((all) => all[0][0])) / 1000)), now]
}

function data(i) {
  const lines = [...samples.values()].map((all) => [all.map((s) => s[0] / 1000), all.map((s) => s[i + 1])])
  return lines.length > 0 ? uPlot.join(lines) : [[], []]
}

// The values between two gaps, which no line shows. Those of other nodes are undefined here.
function alone(chart, line) {
  const values = chart.data[line]
  const own = [...values.keys()].filter((n) => values[n] !== undefined)
  return own.filter((n, i) => values[n] !== null && (values[own[i - 1]] ?? null) === null && (values[own[i + 1]] ?? null) === null)
}

function draw() {
  const inks = colors.slice(0, Math.max(samples.size, 1)).map(token)
  const lines = inks.map((color) => ({
    stroke: color, width: 1.75, points: { show: true, size: 4, fill: color, filter: alone }, spanGaps: false,
    ...(inks.length === 1 ? { fill: color.replace("rgb(", "rgba(").replace(")", ", .12)") } : {}),
  }))
  for (const [i, name] of names.entries()) {
    const box = page.querySelector(`[data-chart=${name}]`)
    charts.get(name)?.destroy()
    const axis = { stroke: token("dim"), grid: { stroke: token("border"), width: 1 }, ticks: { show: false }, font: "11px system-ui" }
    charts.set(name, new uPlot({
      width: Math.max(box.clientWidth, 200), height: 144, legend: { show: false }, cursor: { show: false },
      padding: [8, 20, 0, 0],
      scales: { x: { time: true, range: span }, y: { range: (_, low, high) => [0, Math.max(2, (high ?? 0) * 1.1)] } },
      axes: [{ ...axis, grid: { show: false }, space: 70, size: 26, values: (_, all) => all.map((v) => clock.minute(v * 1000)) }, { ...axis, size: 44, space: 34, values: (_, all) => all.map((v) => compact.format(v)) }],
      series: [{}, ...lines],
    }, data(i), box))
  }
  nameNodes()
}

// Names the nodes, with the colours of their lines if there are several.
function nameNodes() {
  if (samples.size === 0) return // the page names its own
  document.getElementById("nodes").replaceChildren(...[...samples.keys()].map((node, i) =>
    element("li", samples.size > 1 ? colors[i] : "", [element("code", "", node)])))
}

function set(element, text) {
  if (element && element.textContent !== text) element.textContent = text
}

function element(name, kind, content) {
  const made = document.createElement(name)
  if (kind) made.className = kind
  made.append(...(Array.isArray(content) ? content : [content]))
  return made
}

// Fills what this tab has not seen with the samples that the node has kept.
function fill(node, history) {
  const seen = samples.get(node)
  const known = seen?.length ? seen[0][0] : Infinity
  seen?.unshift(...history.filter((sample) => sample[0] < known))
  more = !filled.has(node)
  filled.add(node)
}

// What to do about a check, with the page that has every step.
function nextStep(check) {
  const step = element("i", "", check.next_step ?? "")
  if (check.page) {
    const link = element("a", "", "Runbook")
    link.href = "/docs/" + check.page
    step.append(" ", link)
  }
  return step
}

function show(state) {
  const summary = document.getElementById("summary")
  summary.className = "summary " + state.tone
  set(summary.querySelector("b"), state.summary)
  for (const stage of state.stages) {
    const box = document.getElementById("stage-" + stage.id)
    box.className = ("stage " + stage.tone).trim()
    set(box.querySelector(".state"), stage.state)
    set(box.querySelector(".figure b"), stage.value)
    set(box.querySelector(".detail"), stage.detail)
  }
  document.getElementById("findings").replaceChildren(...(state.findings ?? []).map((check) =>
    element("li", check.status === "fail" ? "bad" : "", [
      element("b", "", check.name), element("span", "", check.detail), ...(check.next_step || check.page ? [nextStep(check)] : []),
    ])))
  document.getElementById("checks").replaceChildren(...state.checks.map((check) =>
    element("li", "", [
      element("span", ("badge " + ({ ok: "good", warn: "warn", fail: "bad" }[check.status] ?? "")).trim(), check.status),
      element("b", "", check.name), element("span", "", check.detail),
    ])))
  set(document.getElementById("node"), state.node)
  set(document.getElementById("uptime"), state.uptime)
  const before = [...samples.keys()].join()
  forget()
  if (!samples.has(state.node) && samples.size < maxNodes) samples.set(state.node, [])
  if (state.history) fill(state.node, state.history)
  samples.get(state.node)?.push([Date.now(), ...names.map((name) => state.samples[name] ?? null)])
  try {
    sessionStorage.setItem(store, JSON.stringify([...samples]))
  } catch {
    // The storage is full or not allowed: the charts start over with the next page.
  }
  if (state.history || [...samples.keys()].join() !== before) return draw()
  for (const [i, name] of names.entries()) charts.get(name)?.setData(data(i))
}

async function read() {
  const problem = document.getElementById("problem")
  try {
    const answer = await fetch(page.dataset.source + (more ? "&history=1" : ""), { headers: { Accept: "application/json" }, signal: AbortSignal.timeout(20_000) })
    if (answer.status === 401) return location.reload()
    const state = await answer.json()
    if (!answer.ok) throw new Error(`${state.message} ${state.next}`)
    problem.hidden = true
    show(state)
  } catch (error) {
    set(problem, error instanceof TypeError || error.name === "TimeoutError"
      ? "The server does not answer. This page tries again every 2 seconds; the figures are those of before." : error.message)
    problem.hidden = false
  }
}

draw()
addEventListener("themechange", draw)
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw)
addEventListener("clockchange", draw)
let resized
addEventListener("resize", () => {
  clearTimeout(resized)
  resized = setTimeout(draw, 200)
})
for (;;) {
  if (!document.hidden) await read()
  await new Promise((resolve) => setTimeout(resolve, every))
}
