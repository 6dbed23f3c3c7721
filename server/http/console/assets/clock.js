// The clock of every page: UTC, or that of the browser's zone. The choice is remembered, and
// every time names its zone.
const clock = {
  get local() { return localStorage.getItem("clock") === "local" },
  // The other clock is chosen.
  turn() {
    localStorage.setItem("clock", this.local ? "utc" : "local")
    dispatchEvent(new Event("clockchange"))
  },
  // parts are those of a time, in numbers and with the name of the zone.
  parts(at) {
    const format = new Intl.DateTimeFormat(undefined, {
      timeZone: this.local ? undefined : "UTC", numberingSystem: "latn", calendar: "gregory", hourCycle: "h23",
      year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit",
      timeZoneName: "short",
    })
    return Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]))
  },
  zone(at = new Date()) { return this.parts(at).timeZoneName },
  text(at) {
    const { year, month, day, hour, minute, second, timeZoneName } = this.parts(at)
    return `${year}-${month}-${day} ${hour}:${minute}:${second} ${timeZoneName}`
  },
  minute(at) {
    const { hour, minute } = this.parts(at)
    return `${hour}:${minute}`
  },
}
