import type { EnvironmentVariables } from '../../kernel/world.ts'
import { accessDeniedError, operatorError } from '../tool-errors.ts'
import type { ServerSpec } from './mcp-server-config.ts'

/** What a server gets of this process's environment without asking: where programs are and how to write, no keys. */
const SAFE_VARIABLES =
  /^(HOME|LOGNAME|PATH|SHELL|TERM|USER|LANG|LC_[A-Z]+|TZ|TMPDIR|NO_COLOR|SYSTEMROOT|COMSPEC|PATHEXT)$/

export function safeVariables(env: EnvironmentVariables): Record<string, string> {
  const kept = Object.entries(env).flatMap(([name, value]) =>
    value !== undefined && SAFE_VARIABLES.test(name) ? [[name, value] as const] : [],
  )
  return Object.fromEntries(kept)
}

export interface ExpandedSpec {
  spec: ServerSpec
  /** Everything in it that must not be told to anyone. */
  secrets: string[]
  /** Names that were not lent, and have something else in their place. */
  unexposed: string[]
}

/** The server with its variables filled in. Where `lend` is given, of these names only. */
export function expandVariables(spec: ServerSpec, env: EnvironmentVariables, lend?: readonly string[]): ExpandedSpec {
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
  const filled = mapStrings(spec, fill)
  assertNoneMissing([...missing], withheld)
  const given = filled.kind === 'http' ? filled.headers : filled.env
  return { spec: filled, secrets: secretValues([...used, ...Object.values(given)]), unexposed: [...withheld] }
}

/** `${NAME}` and `${NAME:-otherwise}`. */
const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g

function mapStrings(spec: ServerSpec, fill: (text: string) => string): ServerSpec {
  const all = (record: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(record).map(([name, value]) => [name, fill(value)]))
  if (spec.kind === 'http') return { ...spec, url: fill(spec.url), headers: all(spec.headers) }
  return { ...spec, command: fill(spec.command), args: spec.args.map(fill), env: all(spec.env) }
}

function assertNoneMissing(missing: readonly string[], withheld: ReadonlySet<string>): void {
  const refusals = missing.filter((name) => withheld.has(name))
  if (refusals.length > 0) throw accessDeniedError(notExposedMessage(refusals), exposeEnvHint(refusals))
  const [name] = missing
  if (name !== undefined) throw operatorError(`the variable ${name} is not set`, `set ${name} and start again`)
}

export function notExposedMessage(names: readonly string[]): string {
  const which = names.length === 1 ? `the variable ${names[0]} is` : `the variables ${names.join(', ')} are`
  return `${which} not lent to a server that an agent brings`
}

function exposeEnvHint(names: readonly string[]): string {
  const flags = names.map((name) => `--lend ${name}`).join(' ')
  return `lend with ${flags} (in a program: mcp.lend), or put the server into the operator's configuration`
}

// Shorter ones would blot out ordinary words, and are no secrets.
const MIN_SECRET_CHARS = 6

function secretValues(values: readonly string[]): string[] {
  const parts = values.flatMap((value) => [value, ...value.split(/\s+/)])
  return [...new Set(parts)].filter((value) => value.length >= MIN_SECRET_CHARS).sort((a, b) => b.length - a.length)
}

/** The words of a server without the secrets it was given. */
export function redactSecrets(secrets: readonly string[], text: string): string {
  return secrets.reduce((told, secret) => told.replaceAll(secret, '…'), text)
}
