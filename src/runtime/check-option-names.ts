import type { ReopenOptions } from '../engine/engine.ts'
import { didYouMean, nearestNames, TroupeError } from '../errors.ts'
import type { Agent } from '../kernel/agent.ts'
import type { Hooks } from '../performers/hook.ts'
import { removedNameHint } from '../schema/removed-names.ts'
import { BUILT_IN_PATTERNS } from './built-in-patterns.ts'
import type { AnswerOptions, RunOptions, SteerOptions } from './run-handle.ts'
import type { TroupeOptions } from './troupe-options.ts'

/*
 * Prevents options that fail open: type annotations of a configuration file are stripped, not checked, and a misspelt `permissions`,
 * `deny` or `beforeTool` would let every call pass. The names stand here without a schema library, which loads later.
 */

type Names<T> = Readonly<Record<keyof T, true>>
type Block<Name extends keyof TroupeOptions> = Names<NonNullable<TroupeOptions[Name]>>

const OPTIONS = {
  config: true,
  trust: true,
  store: true,
  defaultStore: true,
  durability: true,
  project: true,
  model: true,
  agents: true,
  performers: true,
  tools: true,
  workspace: true,
  disabledTools: true,
  patterns: true,
  embedder: true,
  hooks: true,
  limits: true,
  permissions: true,
  engine: true,
  execute: true,
  redact: true,
  retention: true,
  models: true,
  cassette: true,
  mcp: true,
} satisfies Names<Omit<TroupeOptions, keyof typeof BUILT_IN_PATTERNS>>

const BLOCKS = {
  workspace: {
    workspace: true,
    sandbox: true,
    network: true,
    protect: true,
    hide: true,
    world: true,
    ripgrep: true,
    lsp: true,
  } satisfies Block<'workspace'>,
  permissions: { allow: true, ask: true, deny: true, mode: true } satisfies Block<'permissions'>,
  engine: { concurrency: true, strict: true, world: true, retryPolicy: true } satisfies Block<'engine'>,
  retention: { max_age_days: true, keep_failed: true } satisfies Block<'retention'>,
  models: {
    custom: true,
    config: true,
    prices: true,
    summary: true,
    rateLimits: true,
    settings: true,
    idle_timeout_ms: true,
    resolver: true,
  } satisfies Block<'models'>,
  mcp: { servers: true, sandbox: true, unconfined: true, exposeEnv: true, limits: true } satisfies Block<'mcp'>,
} as const

const HOOK_POINTS = {
  onEvent: true,
  beforeTool: true,
  addContext: true,
  beforeModel: true,
  beforeAnswer: true,
} satisfies Names<Omit<Hooks, 'name' | '~part'>>

const AGENT = {
  name: true,
  description: true,
  instructions: true,
  model: true,
  performer: true,
  temperature: true,
  top_p: true,
  seed: true,
  tool_choice: true,
  provider_options: true,
  effort: true,
  tools: true,
  extra_tools: true,
  artifacts: true,
  exclude_tools: true,
  permissions: true,
  read_only: true,
  mcp_servers: true,
  agents: true,
  max_turns: true,
  timeout_ms: true,
  background: true,
  isolation: true,
  on_request: true,
  initial_prompt: true,
  origin: true,
  extra: true,
} satisfies Names<Agent>

const CALL_OPTIONS = {
  run: { model: true, limits: true, tags: true, context: true, signal: true } satisfies Names<RunOptions>,
  resume: { limits: true, force: true } satisfies Names<ReopenOptions>,
  answer: { by: true, resume: true } satisfies Names<AnswerOptions>,
  steer: { by: true, resume: true, mayAnswer: true } satisfies Names<SteerOptions>,
} as const

export const HOOK_NAMES: readonly string[] = Object.keys(HOOK_POINTS)

/** The names of all options, or of those in a group; empty if they are not known. */
export function optionNames(group?: PropertyKey): string[] {
  if (group === undefined) return [...Object.keys(OPTIONS), ...Object.keys(BUILT_IN_PATTERNS)]
  return Object.keys(BLOCKS[group as keyof typeof BLOCKS] ?? {})
}

/** Throws `invalid_input` for an unknown option, and for an unknown key of an agent, a hook or a group of options. */
export function checkOptionNames(options: TroupeOptions): void {
  rejectUnknownKeys(options, 'the options of `createTroupe`', optionNames())
  for (const name of Object.keys(BLOCKS) as (keyof typeof BLOCKS)[]) {
    requireObject(options[name], name, optionNames(name))
    rejectUnknownKeys(options[name], `\`${name}\``, optionNames(name))
  }
  if ((options.workspace?.ripgrep as unknown) === false) {
    throw new TroupeError('invalid_input', '`workspace.ripgrep` is false', {
      hint: removedNameHint('workspace.ripgrep: false') ?? '',
    })
  }
  for (const name of ['agents', 'patterns', 'hooks'] as const) requireList(options[name], name)
  if (typeof options.tools !== 'object') requireList(options.tools, 'tools')
  for (const [index, agent] of (options.agents ?? []).entries()) {
    if (typeof agent !== 'string') rejectUnknownKeys(agent, `\`agents[${index}]\``, Object.keys(AGENT))
  }
  for (const [index, hooks] of (options.hooks ?? []).entries()) checkHooks(hooks, `\`hooks[${index}]\``)
}

/** Throws `invalid_input` for an unknown option of a call; `run` includes `stream` and `start`. */
export function checkCallOptions(call: keyof typeof CALL_OPTIONS, options: object | undefined): void {
  const known = Object.keys(CALL_OPTIONS[call])
  requireObject(options, 'options', known)
  rejectUnknownKeys(options, `the options of \`${call}\``, known)
}

function requireList(value: unknown, name: string): void {
  if (value === undefined || Array.isArray(value)) return
  throw new TroupeError('invalid_input', `\`${name}\` is not a list`, { hint: `write ${name}: [ … ]` })
}

function requireObject(value: unknown, name: string, known: readonly string[]): void {
  if (value === undefined || (typeof value === 'object' && value !== null && !Array.isArray(value))) return
  throw new TroupeError('invalid_input', `\`${name}\` is not an object`, { hint: `the keys are: ${known.join(', ')}` })
}

function rejectUnknownKeys(value: object | undefined, place: string, known: readonly string[]): void {
  const unknown = Object.entries(value ?? {}).find(([key, content]) => content !== undefined && !known.includes(key))
  if (unknown) throw unknownKeyError(unknown[0], place, known)
}

/** Objects with hooks may keep state beside them, but no function with another name: that is a hook point misspelt. */
function checkHooks(hooks: unknown, place: string): void {
  const fields = typeof hooks === 'object' && hooks !== null ? (hooks as Readonly<Record<string, unknown>>) : {}
  const isPlain = Object.getPrototypeOf(fields) === Object.prototype
  const unknown = Object.keys(fields).find((key) => typeof fields[key] === 'function' && !HOOK_NAMES.includes(key))
  if (unknown !== undefined && isPlain) throw unknownKeyError(unknown, place, HOOK_NAMES)
  const invalid = HOOK_NAMES.find((point) => fields[point] !== undefined && typeof fields[point] !== 'function')
  if (invalid === undefined && HOOK_NAMES.some((point) => fields[point] !== undefined)) return
  throw new TroupeError(
    'invalid_input',
    invalid === undefined ? `${place} has no hook` : `\`${invalid}\` of ${place} is not a function`,
    { hint: `pass an object with one or more of the functions ${HOOK_NAMES.join(', ')}` },
  )
}

function unknownKeyError(key: string, place: string, known: readonly string[]): TroupeError {
  const alternatives = nearestNames(key, known)
  return new TroupeError('invalid_input', `unknown key '${key}' in ${place}; known: ${alternatives.join(', ')}`, {
    alternatives,
    hint:
      removedNameHint(`${place.replaceAll('`', '')}.${key}`) ||
      didYouMean(key, known) ||
      'remove it, or use one of the known keys',
  })
}
