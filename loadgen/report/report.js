// Adds tooltips and zoom to the charts. The charts over time show the same span: drag over
// one to zoom all of them, double-click or press Escape to see the whole run.
"use strict";
(() => {
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const charts = [...document.querySelectorAll(".plot")].map((plot, i) => ({
    ...figures[i], plot, svg: plot.querySelector("svg"), labels: plot.querySelector(".x"),
    tip: add(plot, "tip"), cursor: add(plot, "cursor"), brush: add(plot, "brush"),
    span: [figures[i].start, figures[i].end],
  }));
  const timed = charts.filter((c) => c.time);
  const toolbar = document.querySelector(".zoom");

  function add(parent, name) {
    const e = document.createElement("div");
    e.className = name;
    e.hidden = true;
    parent.append(e);
    return e;
  }

  // at is the place of a pointer, from 0 to 1.
  function at(c, event) {
    const box = c.plot.getBoundingClientRect();
    return Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
  }

  function value(c, place) { return c.span[0] + place * (c.span[1] - c.span[0]); }

  function place(c, x) { return (x - c.span[0]) / (c.span[1] - c.span[0]); }

  function rounded(v) { return Math.round(v * 1000) / 1000; }

  function number(v) { return v.toLocaleString("en", { maximumSignificantDigits: 4 }); }

  // nearest is the index of the value of a line that is closest to x.
  function nearest(xs, x) {
    let low = 0, high = xs.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((xs[middle] + xs[middle + 1]) / 2 < x) low = middle + 1; else high = middle;
    }
    return low;
  }

  function show(c, x, event) {
    const longest = c.lines.reduce((a, b) => (b.x.length > a.x.length ? b : a));
    if (!longest.x.length) return;
    const i = nearest(longest.x, x);
    for (const other of c.time ? timed : [c]) {
      const left = place(other, longest.x[i]);
      other.cursor.hidden = left < 0 || left > 1;
      other.cursor.style.left = 100 * left + "%";
      other.tip.hidden = other !== c;
    }
    const title = document.createElement("b");
    title.textContent = longest.points ? longest.points[i] : number(longest.x[i]) + " s";
    const rows = c.lines.filter((l) => l.x.length).map((l) => {
      const k = longest.points ? i : nearest(l.x, longest.x[i]);
      const row = document.createElement("div"), mark = document.createElement("span");
      mark.className = l.colour;
      mark.textContent = "■ ";
      const known = k < l.y.length && (longest.points || Math.abs(l.x[k] - longest.x[i]) < 1e-9);
      row.append(mark, l.name + ": " + (known ? number(l.y[k]) + l.unit : "–"));
      return row;
    });
    c.tip.replaceChildren(title, ...rows);
    const box = c.plot.getBoundingClientRect(), room = box.width - c.tip.offsetWidth;
    const left = event.clientX - box.left;
    c.tip.style.left = Math.max(Math.min(left > box.width / 2 ? left - c.tip.offsetWidth - 12 : left + 12, room), 0) + "px";
  }

  function hide() {
    for (const c of charts) c.tip.hidden = c.cursor.hidden = true;
  }

  // zoom shows a span of seconds in all charts over time.
  function zoom(from, to) {
    for (const c of timed) {
      c.span = [from, to];
      const scale = 100 / (c.end - c.start);
      c.svg.setAttribute("viewBox", `${from * scale} 0 ${(to - from) * scale} 1000`);
      let step = 10 ** Math.floor(Math.log10((to - from) / 5));
      for (const wider of [2, 2.5, 2]) if ((to - from) / step > 6) step *= wider;
      const marks = [];
      for (let k = Math.ceil(from / step - 1e-9) || 0; k * step <= to * (1 + 1e-9); k++) {
        const mark = document.createElement("span");
        mark.style.left = 100 * place(c, k * step) + "%";
        mark.textContent = number(k * step) + " s";
        marks.push(mark);
      }
      c.labels.replaceChildren(...marks);
    }
    const whole = from === timed[0].start && to === timed[0].end;
    toolbar.hidden = whole;
    toolbar.querySelector("span").textContent = `Showing ${number(from)} s to ${number(to)} s. `;
    hide();
  }

  function reset() { zoom(timed[0].start, timed[0].end); }

  for (const c of charts) {
    let start = null;
    c.plot.addEventListener("pointerdown", (event) => {
      if (!c.time || event.button !== 0) return;
      start = at(c, event);
      c.plot.setPointerCapture(event.pointerId);
    });
    c.plot.addEventListener("pointermove", (event) => {
      const here = at(c, event);
      show(c, value(c, here), event);
      if (start === null) return;
      for (const other of timed) {
        other.brush.hidden = false;
        other.brush.style.left = 100 * Math.min(start, here) + "%";
        other.brush.style.width = 100 * Math.abs(start - here) + "%";
      }
    });
    const end = (event) => {
      if (start === null) return;
      const here = at(c, event), [a, b] = [Math.min(start, here), Math.max(start, here)];
      start = null;
      for (const other of timed) other.brush.hidden = true;
      // A point is a second: a span of less would show nothing.
      if (event.type === "pointerup" && b - a > 0.01 && value(c, b) - value(c, a) >= 1) {
        zoom(rounded(value(c, a)), rounded(value(c, b)));
      }
    };
    c.plot.addEventListener("pointerup", end);
    c.plot.addEventListener("pointercancel", end);
    c.plot.addEventListener("pointerleave", hide);
    if (c.time) c.plot.addEventListener("dblclick", reset);
  }
  toolbar.querySelector("button").addEventListener("click", reset);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") reset(); });
  document.querySelector(".hint").hidden = false;
})();
