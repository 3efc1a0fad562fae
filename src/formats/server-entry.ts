/** Why nothing could be started or reached from what a file says about a server; `undefined` when something could. */
export function serverProblem(entry: unknown): string | undefined {
  if (entry === null) return undefined
  if (typeof entry !== 'object' || Array.isArray(entry)) return 'it must be a map with a command or a url'
  const { command, url } = entry as { command?: unknown; url?: unknown }
  if (command === undefined && url === undefined) return 'it has neither a command nor a url'
  const program: unknown = Array.isArray(command) ? command[0] : command
  if (command !== undefined && (typeof program !== 'string' || program.trim() === '')) {
    return 'its command must be a text, or a list that begins with one'
  }
  if (url !== undefined && (typeof url !== 'string' || url.trim() === '')) return 'its url must be a text'
  return undefined
}
