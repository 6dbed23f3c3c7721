/**
 * newEventId returns a new event id: a UUID of version 7, which sorts by time and so keeps the
 * server's indexes compact.
 */
export function newEventId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(10));
  bytes[0] = (bytes[0]! & 0x0f) | 0x70; // version
  bytes[2] = (bytes[2]! & 0x3f) | 0x80; // variant
  const time = Date.now().toString(16).padStart(12, "0");
  return `${time}${hex(bytes)}`.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** hex writes bytes in hexadecimal digits. */
export function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
}
