// The clock of a page: that of the viewer's zone, or UTC. The choice is remembered, and every time names its zone.
const KEY = "clock";

let utc = false;
try {
  utc = localStorage.getItem(KEY) === "utc";
} catch {
  // No storage is allowed, as in some frames: the choice lasts as long as the page.
}

/** turnClock chooses the other clock. */
export function turnClock(): void {
  utc = !utc;
  try {
    localStorage.setItem(KEY, utc ? "utc" : "local");
  } catch {
    // As above.
  }
  dispatchEvent(new Event("clockchange"));
}

/** timeText writes a time with its date and zone. */
export function timeText(at: Date | number): string {
  return format({ dateStyle: "medium", timeStyle: "long" }).format(at);
}

/** zoneName is the zone of the clock. */
export function zoneName(): string {
  const parts = format({ timeZoneName: "short" }).formatToParts(Date.now());
  return parts.find((p) => p.type === "timeZoneName")?.value ?? "UTC";
}

function format(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat(undefined, { ...options, timeZone: utc ? "UTC" : undefined });
}
