import { TroupeError } from '../errors.ts'
import type { Limits } from '../kernel/limits.ts'
import type { Pattern, PatternTool } from '../kernel/pattern.ts'
import { completePatterns, toolPatterns } from '../kernel/pattern.ts'
import { rejectRemovedKeys } from '../schema/removed-names.ts'
import { compileSchema } from '../schema/schema.ts'
import { checkProjections } from '../store/tables/declaration.ts'
import type { PatternProjection } from '../store/tables/projection.ts'
import { projectionOf } from '../store/tables/projection.ts'
import { registerBuiltInPatterns } from './built-in-patterns.ts'
import type { AdaptedOptions } from './troupe-options.ts'

/** The patterns of a troupe, built-in and custom, by what they are used for. */
export interface PatternRegistry {
  /** Patterns that runs can be started with; some have to be completed before their definitions are read. */
  patterns: Pattern[]
  /** The same with complete definitions; with names, these only. */
  complete(names?: readonly string[]): Promise<readonly Pattern[]>
  /** The tools of patterns, by each of their names. */
  tools: Map<string, PatternTool>
  /** All names of each tool, by the name of its pattern. */
  aliases: Map<string, readonly string[]>
  /** All names of the tools that take agents as their subject. */
  agentTools: string[]
  /** Limits of runs that the settings of patterns change. */
  limits: Partial<Limits>
  /** The tables that the store keeps for patterns. */
  projections: PatternProjection[]
}

/** Throws `invalid_input` for a name or an event type that is used twice. */
export async function loadPatternRegistry(options: AdaptedOptions): Promise<PatternRegistry> {
  const custom = options.patterns ?? []
  for (const pattern of custom) checkParts(pattern)
  const configs: Readonly<Record<string, unknown>> = { ...options }
  // The names, events and tables of custom patterns are compared with those of all others.
  const registered = await registerBuiltInPatterns((name) => custom.length > 0 || configs[name] !== undefined)
  const configured = registered.map((pattern) => {
    const config = configs[pattern.settings_of ?? pattern.name]
    return config === undefined ? pattern : configure(pattern, config)
  })
  const builtIn = await Promise.all(configured)
  const all = [...builtIn, ...custom]
  requireUniqueNames('patterns', custom, new Set(builtIn.flatMap(patternNames)))
  requireUniqueEvents(all)
  const projections = all.flatMap((pattern) => projectionOf(pattern) ?? [])
  checkProjections(projections)
  for (const pattern of all) requireDeclaredEvents(pattern)
  const callable = toolPatterns(all)
  const patterns = all.filter(({ only }) => only !== 'tool')
  return {
    patterns,
    async complete(names) {
      const chosen = names ? patterns.filter(({ name }) => names.includes(name)) : patterns
      await completePatterns(names ? chosen : all)
      return chosen
    },
    tools: new Map(callable.flatMap((pattern) => patternNames(pattern).map((name) => [name, patternTool(pattern)]))),
    aliases: new Map(callable.map((pattern) => [pattern.name, patternNames(pattern)])),
    agentTools: callable.filter(({ agents }) => agents).flatMap(patternNames),
    limits: Object.assign({}, ...all.map(({ limits }) => limits)) as Partial<Limits>,
    projections,
  }
}

function configure(pattern: Pattern, config: unknown): Pattern | Promise<Pattern> {
  if (pattern.configure) return pattern.configure(config)
  throw new TroupeError('invalid_input', `option \`${pattern.name}\`: the pattern takes no settings`, {
    hint: 'remove the option; limits of runs are set with `limits`',
  })
}

export function patternNames({ name, aliases = [] }: Pattern): string[] {
  return [name, ...aliases]
}

/** A name that is used twice would silently replace a tool or a pattern. */
export function requireUniqueNames(
  option: string,
  named: readonly { name: string; aliases?: readonly string[] }[] = [],
  taken: Set<string>,
): void {
  for (const { name, aliases = [] } of named) {
    for (const each of [name, ...aliases]) {
      if (taken.has(each)) {
        throw new TroupeError('invalid_input', `\`${option}\`: the name '${each}' is already taken`, {
          hint: 'rename it; a tool of the workspace can be removed with `disabledTools`',
        })
      }
      taken.add(each)
    }
  }
}

/** Two meanings of one event type could not be told apart in a journal. Patterns may share a schema. */
function requireUniqueEvents(patterns: readonly Pattern[]): void {
  const owners = new Map<string, { name: string; schema: unknown }>()
  for (const { name, events = {} } of patterns) {
    for (const [type, schema] of Object.entries(events)) {
      const owner = owners.get(type) ?? { name, schema }
      if (owner.schema !== schema) {
        const problem = `'${owner.name}' and '${name}' declare the event '${type}' with different schemas`
        throw new TroupeError('invalid_input', `\`patterns\`: ${problem}`, {
          hint: `use the name of the pattern as the namespace: '${name}:…'`,
        })
      }
      owners.set(type, owner)
    }
  }
}

/** A projection reads events of its own pattern and the end of runs: rows for other events of the kernel would slow down every run. */
function requireDeclaredEvents(pattern: Pattern): void {
  const { name, events = {} } = pattern
  const unknown = projectionOf(pattern)?.projection.events.find(
    (type) => type !== 'run:end' && !Object.hasOwn(events, type),
  )
  if (unknown === undefined) return
  throw new TroupeError(
    'invalid_input',
    `\`projection.events\` of the pattern '${name}': '${unknown}' is not declared`,
    {
      hint: `declare it in \`events\`; known: ${[...Object.keys(events), 'run:end'].join(', ')}`,
    },
  )
}

/** Throws `invalid_input` for a schema that cannot be compiled, and for a view with keys that were removed. */
function checkParts({ name, input, output, events = {}, view = {} }: Pattern): void {
  compileSchema(input, `\`input\` of the pattern '${name}'`)
  compileSchema(output, `\`output\` of the pattern '${name}'`)
  for (const [type, schema] of Object.entries(events))
    compileSchema(schema, `\`events['${type}']\` of the pattern '${name}'`)
  rejectRemovedKeys(view, 'view', `\`view\` of the pattern '${name}'`)
}

function patternTool(pattern: Pattern): PatternTool {
  return {
    kind: 'pattern',
    name: pattern.name,
    pattern,
    // Read when they are needed: the definition may be completed later.
    get description() {
      return pattern.description
    },
    get input() {
      return pattern.input
    },
    get category() {
      return pattern.category
    },
  }
}
