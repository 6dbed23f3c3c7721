/** The maximum size of a response, in bytes. 500 receipts are far smaller. */
const MAX_RESPONSE = 4 << 20;

/** readText reads the body of a response, and throws if it is too large. */
export async function readText(response: Response): Promise<string> {
  if (!response.body) return "";
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  const reader = response.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    if ((size += value.byteLength) > MAX_RESPONSE) {
      void reader.cancel();
      throw new Error(`a response of over ${MAX_RESPONSE} bytes`);
    }
    text += decoder.decode(value, { stream: true });
  }
}
