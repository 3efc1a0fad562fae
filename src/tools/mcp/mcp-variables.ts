import type { EnvironmentVariables } from '../../kernel/world.ts'
import { accessDeniedError, operatorError } from '../tool-errors.ts'
import type { ServerSpec } from './mcp-server-config.ts'

/** Prevents environment leakage: the only variables of this process that every server gets. None of them is a secret. */
const SAFE_VARIABLES =
  /^(HOME|LOGNAME|PATH|SHELL|TERM|USER|LANG|LC_[A-Z]+|TZ|TMPDIR|NO_COLOR|SYSTEMROOT|COMSPEC|PATHEXT)$/

export function safeVariables(env: EnvironmentVariables): Record<string, string> {
  const safe = Object.entries(env).flatMap(([name, value]) =>
    value !== undefined && SAFE_VARIABLES.test(name) ? [[name, value] as const] : [],
  )
  return Object.fromEntries(safe)
}

export interface ExpandedSpec {
  spec: ServerSpec
  /** Values that must be redacted from all messages. */
  secrets: string[]
  /** Variables that are not exposed to the server; their defaults were used. */
  unexposed: string[]
}

/** Expands `${NAME}` in a server entry. With `exposeEnv`, only the listed variables are available. */
export function expandVariables(
  spec: ServerSpec,
  env: EnvironmentVariables,
  exposeEnv?: readonly string[],
): ExpandedSpec {
  const values: string[] = []
  const unexposed = new Set<string>()
  const lookUp = (name: string) => {
    if (exposeEnv === undefined || exposeEnv.includes(name)) return env[name]
    unexposed.add(name)
    return undefined
  }
  const missing = new Set<string>()
  const expand = (text: string) =>
    text.replace(VARIABLE, (_match, name: string, fallback?: string) => {
      const value = lookUp(name) ?? fallback
      if (value === undefined) missing.add(name)
      else values.push(value)
      return value ?? ''
    })
  const expanded = mapStrings(spec, expand)
  assertNoneMissing([...missing], unexposed)
  const configured = expanded.kind === 'http' ? expanded.headers : expanded.env
  const secrets = secretValues([...values, ...Object.values(configured)])
  return { spec: expanded, secrets, unexposed: [...unexposed] }
}

/** `${NAME}` and `${NAME:-default}`. */
const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g

function mapStrings(spec: ServerSpec, transform: (text: string) => string): ServerSpec {
  const mapRecord = (record: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(record).map(([name, value]) => [name, transform(value)]))
  if (spec.kind === 'http') return { ...spec, url: transform(spec.url), headers: mapRecord(spec.headers) }
  const sandbox = Object.fromEntries(
    Object.entries(spec.sandbox).map(([name, paths]) => [name, (paths as readonly string[]).map(transform)]),
  )
  const { command, args, env } = spec
  return { ...spec, command: transform(command), args: args.map(transform), env: mapRecord(env), sandbox }
}

function assertNoneMissing(missing: readonly string[], unexposed: ReadonlySet<string>): void {
  const denied = missing.filter((name) => unexposed.has(name))
  if (denied.length > 0) throw accessDeniedError(notExposedMessage(denied), exposeEnvHint(denied))
  const [name] = missing
  if (name !== undefined)
    throw operatorError(`the environment variable ${name} is not set`, `set ${name} and start again`)
}

export function notExposedMessage(names: readonly string[]): string {
  const which =
    names.length === 1 ? `the environment variable ${names[0]} is` : `the environment variables ${names.join(', ')} are`
  return `${which} not exposed to agent-provided servers`
}

function exposeEnvHint(names: readonly string[]): string {
  const flags = names.map((name) => `--expose-env ${name}`).join(' ')
  return `expose with ${flags} (or \`mcp.exposeEnv\`), or add the server to the operator's configuration`
}

// Redacting shorter values would remove ordinary words; they are hardly secrets.
const MIN_SECRET_CHARS = 6

function secretValues(values: readonly string[]): string[] {
  const parts = values.flatMap((value) => [value, ...value.split(/\s+/)])
  return [...new Set(parts)].filter((value) => value.length >= MIN_SECRET_CHARS).sort((a, b) => b.length - a.length)
}

/** Removes the given secrets from a text. */
export function redactSecrets(secrets: readonly string[], text: string): string {
  return secrets.reduce((redacted, secret) => redacted.replaceAll(secret, '…'), text)
}
