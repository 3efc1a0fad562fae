import { userInfo } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { canonicalJson } from '../../kernel/hash.ts'
import type { EnvironmentVariables } from '../../kernel/world.ts'
import { formatIssues } from '../../schema/schema.ts'
import * as z from '../../schema/zod.ts'
import type { SandboxAccess } from '../sandbox/sandbox.ts'

/** A server process with the stdio transport. `${NAME}` is replaced by an environment variable. */
export interface StdioServerConfig {
  type?: 'stdio' | 'local'
  command: string | readonly string[]
  args?: readonly string[]
  /** Environment variables, in addition to a few harmless ones such as `PATH`. */
  env?: Readonly<Record<string, string>>
  cwd?: string
  /** Access of the process beyond the workspace. Only in the configuration, not in agent files. */
  sandbox?: SandboxAccess
  /** Timeout of one call in milliseconds. */
  timeout?: number
  /** Names of the tools to use. Default: all. */
  tools?: readonly string[]
  /** Trusts `readOnlyHint`: such calls need no permission and run in plan mode. Default: false. */
  trust?: boolean
  disabled?: boolean
}

/** A server with the streamable HTTP transport. `${NAME}` is replaced by an environment variable. */
export interface HttpServerConfig {
  type?: 'http' | 'streamable-http'
  url: string
  headers?: Readonly<Record<string, string>>
  timeout?: number
  tools?: readonly string[]
  trust?: boolean
  disabled?: boolean
}

export type McpServerConfig = StdioServerConfig | HttpServerConfig

interface SharedSpec {
  timeout_ms: number | undefined
  /** `undefined` means all. */
  allowedTools: readonly string[] | undefined
  /** As written in the entry; ignored for agent-provided servers. */
  trust: boolean
}

export interface StdioSpec extends SharedSpec {
  kind: 'stdio'
  command: string
  args: readonly string[]
  env: Readonly<Record<string, string>>
  cwd: string | undefined
  sandbox: SandboxAccess
}

export interface HttpSpec extends SharedSpec {
  kind: 'http'
  url: string
  headers: Readonly<Record<string, string>>
}

/** A parsed server entry, with `${NAME}` not yet expanded. */
export type ServerSpec = StdioSpec | HttpSpec

// YAML files contain numbers and booleans where JSON has strings.
const textValue = z.union([z.string(), z.number(), z.boolean()]).transform(String)
const textRecord = z.record(z.string(), textValue).default({})

const paths = z.array(z.string().min(1)).optional()

const sharedFields = {
  timeout: z.number().int().positive().max(86_400_000).optional(),
  tools: z.array(z.string()).optional(),
  trust: z.boolean().optional(),
  disabled: z.boolean().optional(),
}

const stdioSchema = z.looseObject({
  type: z.enum(['stdio', 'local']).optional(),
  command: z.union([z.string().min(1), z.array(textValue).min(1)]),
  args: z.array(textValue).default([]),
  env: textRecord,
  cwd: z.string().optional(),
  sandbox: z.strictObject({ read: paths, write: paths, hosts: paths }).default({}),
  ...sharedFields,
})

const httpSchema = z.looseObject({
  type: z.enum(['http', 'streamable-http', 'streamableHttp', 'streamable_http', 'remote']).optional(),
  url: z.string().min(1),
  headers: textRecord,
  ...sharedFields,
})

export type ParsedServerConfig = { spec: ServerSpec } | { off: true } | { problem: string }

/** Parses the entry of a server in a configuration or an agent file. */
export function parseServerConfig(entry: unknown): ParsedServerConfig {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) {
    return { problem: 'the entry must be an object with `command` or `url`' }
  }
  if ('type' in entry && entry.type === 'sse') {
    return {
      problem: "the transport 'sse' is not supported; use the streamable HTTP URL of the server with `type: 'http'`",
    }
  }
  if ('command' in entry === 'url' in entry) return { problem: 'the entry needs either `command` or `url`' }
  return 'command' in entry ? parseStdio(entry) : parseHttp(entry)
}

function parseStdio(entry: object): ParsedServerConfig {
  const { success, data, error } = stdioSchema.safeParse(entry)
  if (!success) return { problem: formatIssues(error) }
  if (data.disabled) return { off: true }
  const [command = '', ...firstArgs] = Array.isArray(data.command) ? data.command : [data.command]
  const { env, cwd, sandbox } = data
  const args = [...firstArgs, ...data.args]
  return { spec: { kind: 'stdio', command, args, env, cwd, sandbox: toAccess(sandbox), ...toSharedSpec(data) } }
}

function parseHttp(entry: object): ParsedServerConfig {
  const { success, data, error } = httpSchema.safeParse(entry)
  if (!success) return { problem: formatIssues(error) }
  if (data.disabled) return { off: true }
  return { spec: { kind: 'http', url: data.url, headers: data.headers, ...toSharedSpec(data) } }
}

function toAccess(given: { [Key in keyof SandboxAccess]?: string[] | undefined }): SandboxAccess {
  return Object.fromEntries(Object.entries(given).filter(([, paths]) => paths !== undefined))
}

function toSharedSpec({ timeout, tools, trust = false }: z.output<z.ZodObject<typeof sharedFields>>): SharedSpec {
  return { timeout_ms: timeout, allowedTools: tools?.includes('*') ? undefined : tools, trust }
}

/** Whether two entries are equal, apart from `trust`. */
export function isSameServer(one: ServerSpec, other: ServerSpec): boolean {
  return canonicalJson({ ...one, trust: false }) === canonicalJson({ ...other, trust: false })
}

/** The program or URL of a server without possible secrets: arguments, headers, credentials and query. */
export function serverLocation(spec: ServerSpec): string {
  if (spec.kind === 'stdio') return spec.args.length > 0 ? `${spec.command} …` : spec.command
  if (!URL.canParse(spec.url)) return 'an invalid URL'
  const { origin, pathname } = new URL(spec.url)
  return `${origin}${pathname}`
}

/** Programs that fetch a package before they run it. */
const PACKAGE_RUNNERS = /(^|\/)(npx|bunx|uvx|pipx|pnpm|yarn|docker|podman)$/

export function isPackageRunner(spec: ServerSpec): boolean {
  return spec.kind === 'stdio' && PACKAGE_RUNNERS.test(spec.command)
}

/** The folder of installed packages. */
export function serverCacheFolder({ XDG_CACHE_HOME, HOME }: EnvironmentVariables): string {
  // A relative folder would be one of the project.
  const cache = XDG_CACHE_HOME && isAbsolute(XDG_CACHE_HOME) ? XDG_CACHE_HOME : undefined
  const home = HOME && isAbsolute(HOME) ? HOME : userInfo().homedir
  return join(cache ?? join(home, '.cache'), 'troupe', 'mcp-servers')
}
