import { z } from 'zod'
import { canonicalJson } from '../../kernel/hash.ts'
import { formatIssues } from '../../kernel/schema.ts'

/** A program that speaks MCP over its standard input and output. `${NAME}` stands for a variable. */
export interface StdioServerConfig {
  type?: 'stdio' | 'local'
  command: string | readonly string[]
  args?: readonly string[]
  /** Beside a few harmless ones, these are all the variables it sees. */
  env?: Readonly<Record<string, string>>
  cwd?: string
  /** Milliseconds for one call. */
  timeout?: number
  /** Only these of its tools. */
  tools?: readonly string[]
  /** Believe it when it says that a tool only reads: such calls are not asked for, and made in plan mode too. */
  trust?: boolean
  disabled?: boolean
}

/** A server at an address, over streamable HTTP. `${NAME}` stands for a variable. */
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
  /** `undefined`: all of them. */
  allowedTools: readonly string[] | undefined
  /** Said by whoever wrote the entry; counts for those of the configuration alone. */
  trust: boolean
}

export interface StdioSpec extends SharedSpec {
  kind: 'stdio'
  command: string
  args: readonly string[]
  env: Readonly<Record<string, string>>
  cwd: string | undefined
}

export interface HttpSpec extends SharedSpec {
  kind: 'http'
  url: string
  headers: Readonly<Record<string, string>>
}

/** How a server is reached; `${…}` still as written. */
export type ServerSpec = StdioSpec | HttpSpec

// Files in YAML have numbers and flags where JSON has text.
const textValue = z.union([z.string(), z.number(), z.boolean()]).transform(String)
const textRecord = z.record(z.string(), textValue).default({})

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
  ...sharedFields,
})

const httpSchema = z.looseObject({
  type: z.enum(['http', 'streamable-http', 'streamableHttp', 'streamable_http', 'remote']).optional(),
  url: z.string().min(1),
  headers: textRecord,
  ...sharedFields,
})

export type ParsedServerConfig = { spec: ServerSpec } | { off: true } | { problem: string }

/** A server's entry of a configuration or an agent's file. */
export function parseServerConfig(entry: unknown): ParsedServerConfig {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) {
    return { problem: 'it is no object with a command or a url' }
  }
  if ('type' in entry && entry.type === 'sse') {
    return { problem: "the transport 'sse' is not supported; use the server's streamable address with type 'http'" }
  }
  if ('command' in entry === 'url' in entry) return { problem: 'it needs either a command or a url' }
  return 'command' in entry ? parseStdio(entry) : parseHttp(entry)
}

function parseStdio(entry: object): ParsedServerConfig {
  const { success, data, error } = stdioSchema.safeParse(entry)
  if (!success) return { problem: formatIssues(error) }
  if (data.disabled) return { off: true }
  const [command = '', ...before] = Array.isArray(data.command) ? data.command : [data.command]
  const { env, cwd } = data
  return { spec: { kind: 'stdio', command, args: [...before, ...data.args], env, cwd, ...toSharedSpec(data) } }
}

function parseHttp(entry: object): ParsedServerConfig {
  const { success, data, error } = httpSchema.safeParse(entry)
  if (!success) return { problem: formatIssues(error) }
  if (data.disabled) return { off: true }
  return { spec: { kind: 'http', url: data.url, headers: data.headers, ...toSharedSpec(data) } }
}

interface SharedFields {
  timeout?: number | undefined
  tools?: string[] | undefined
  trust?: boolean | undefined
}

function toSharedSpec({ timeout, tools, trust = false }: SharedFields): SharedSpec {
  return { timeout_ms: timeout, allowedTools: tools?.includes('*') ? undefined : tools, trust }
}

/** Two entries with the same words are the same server, whether it is trusted or not. */
export function isSameServer(one: ServerSpec, other: ServerSpec): boolean {
  return canonicalJson({ ...one, trust: false }) === canonicalJson({ ...other, trust: false })
}

/** Where a server is, without what may be secret: arguments, headers, what stands before and behind an address. */
export function serverLocation(spec: ServerSpec): string {
  if (spec.kind === 'stdio') return spec.args.length > 0 ? `${spec.command} …` : spec.command
  if (!URL.canParse(spec.url)) return 'an address'
  const { origin, pathname } = new URL(spec.url)
  return `${origin}${pathname}`
}
