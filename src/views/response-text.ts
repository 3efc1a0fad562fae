/** The text of a structured response. */
export function responseText(text: string): string {
  if (!text.startsWith('{')) return text
  try {
    const { response, plan } = JSON.parse(text) as { response?: unknown; plan?: unknown }
    return [response, plan].find((value) => typeof value === 'string') ?? text
  } catch {
    return text
  }
}
