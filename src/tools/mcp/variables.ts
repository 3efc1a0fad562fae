import { refused, unable } from '../complaint.ts'
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

export interface FilledIn {
  spec: ServerSpec
  /** Everything in it that must not be told to anyone. */
  secrets: string[]
  /** Names that were not lent, and have something else in their place. */
  withheld: string[]
}

/** The server with its variables filled in. Where `lend` is given, of these names only. */
export function filledIn(spec: ServerSpec, env: Environment, lend?: readonly string[]): FilledIn {
  const used: string[] = []
  const withheld = new Set<string>()
  const lookUp = (name: string) => {
    if (lend === undefined || lend.includes(name)) return env[name]
    withheld.add(name)
    return undefined
  }
  const missing = new Set<string>()
  const fill = (text: string) =>
    text.replace(VARIABLE, (_all, name: string, otherwise?: string) => {
      const value = lookUp(name) ?? otherwise
      if (value === undefined) missing.add(name)
      else used.push(value)
      return value ?? ''
    })
  const filled = mapped(spec, fill)
  complain([...missing], withheld)
  const given = filled.kind === 'http' ? filled.headers : filled.env
  return { spec: filled, secrets: secretsOf([...used, ...Object.values(given)]), withheld: [...withheld] }
}

/** `${NAME}` and `${NAME:-otherwise}`. */
const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g

function mapped(spec: ServerSpec, fill: (text: string) => string): ServerSpec {
  const all = (record: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(record).map(([name, value]) => [name, fill(value)]))
  if (spec.kind === 'http') return { ...spec, url: fill(spec.url), headers: all(spec.headers) }
  return { ...spec, command: fill(spec.command), args: spec.args.map(fill), env: all(spec.env) }
}

function complain(missing: readonly string[], withheld: ReadonlySet<string>): void {
  const refusals = missing.filter((name) => withheld.has(name))
  if (refusals.length > 0) throw refused(notLent(refusals), lendHint(refusals))
  const [name] = missing
  if (name !== undefined) throw unable(`the variable ${name} is not set`, `set ${name} and start again`)
}

export function notLent(names: readonly string[]): string {
  const which = names.length === 1 ? `the variable ${names[0]} is` : `the variables ${names.join(', ')} are`
  return `${which} not lent to a server that an agent brings`
}

function lendHint(names: readonly string[]): string {
  const flags = names.map((name) => `--lend ${name}`).join(' ')
  return `lend with ${flags} (in a program: mcp.lend), or put the server into the operator's configuration`
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
