import { unable } from '../complaint.ts'
import type { ServerSpec } from './server-config.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** What a server gets of this process's environment without asking: where programs are and how to write, no keys. */
const HARMLESS = /^(HOME|LOGNAME|PATH|SHELL|TERM|USER|LANG|LC_[A-Z]+|TZ|TMPDIR|NO_COLOR|SYSTEMROOT|COMSPEC|PATHEXT)$/

export function harmless(env: Environment): Record<string, string> {
  const kept = Object.entries(env).flatMap(([name, value]) =>
    value !== undefined && HARMLESS.test(name) ? [[name, value] as const] : [],
  )
  return Object.fromEntries(kept)
}

/** The server with its variables filled in, and everything in it that must not be told to anyone. */
export function filledIn(spec: ServerSpec, env: Environment): { spec: ServerSpec; secrets: string[] } {
  const used: string[] = []
  const fill = (text: string) => substitute(text, env, used)
  const all = (record: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(record).map(([name, value]) => [name, fill(value)]))
  if (spec.kind === 'http') {
    const filled = { ...spec, url: fill(spec.url), headers: all(spec.headers) }
    return { spec: filled, secrets: secretsOf([...used, ...Object.values(filled.headers)]) }
  }
  const filled = { ...spec, command: fill(spec.command), args: spec.args.map(fill), env: all(spec.env) }
  return { spec: filled, secrets: secretsOf([...used, ...Object.values(filled.env)]) }
}

/** `${NAME}` and `${NAME:-otherwise}`. */
function substitute(text: string, env: Environment, used: string[]): string {
  return text.replace(/\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g, (_all, name: string, otherwise?: string) => {
    const value = env[name] ?? otherwise
    if (value === undefined) throw unable(`the variable ${name} is not set`, `set ${name} and start again`)
    used.push(value)
    return value
  })
}

// Shorter ones would blot out ordinary words, and are no secrets.
const SHORTEST = 6

function secretsOf(values: readonly string[]): string[] {
  const parts = values.flatMap((value) => [value, ...value.split(/\s+/)])
  return [...new Set(parts)].filter((value) => value.length >= SHORTEST).sort((a, b) => b.length - a.length)
}

/** The words of a server without the secrets it was given. */
export function without(secrets: readonly string[], text: string): string {
  return secrets.reduce((told, secret) => told.replaceAll(secret, '…'), text)
}
