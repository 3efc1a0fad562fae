import { hostname } from 'node:os'
import { relative } from 'node:path'
import { BUILT_IN_COLLECTION } from '../formats/built-in-agents.ts'
import type { HostParts, HostProgram, NeededPart, RunHost, RunNeeds } from '../judgement/needs/run-needs.ts'
import type { TeamInput } from '../judgement/team/team-schema.ts'
import type { Agent } from '../kernel/agent.ts'
import { canonicalJson, shortHash } from '../kernel/hash.ts'
import type { Pattern } from '../kernel/pattern.ts'
import type { Roster } from '../kernel/roster.ts'
import type { Tool } from '../kernel/tool.ts'
import { bareModelCandidates, detectModels } from '../models/detect.ts'
import type { Hooks } from '../performers/hook.ts'
import { toJsonSchema } from '../schema/schema.ts'
import type { Schema } from '../schema/standard-schema.ts'
import { addProtectedPaths, pathsInWorkspace } from '../tools/files/run-protection.ts'
import type { Workspace } from '../tools/files/workspace.ts'
import { parseServerConfig } from '../tools/mcp/mcp-server-config.ts'
import type { AdaptedOptions } from './troupe-options.ts'

export interface HostSource {
  options: AdaptedOptions
  customModels: ReadonlyMap<string, unknown>
  /** Its agents include the built-in ones, which every process has. Agent files may add others at any time. */
  roster: Roster
  /** The tools of the workspace that are enabled. */
  workspaceTools: readonly Tool[]
  workspace: Workspace | undefined
}

/** The parts that a troupe provides for its runs. Computed once for the agents and models that are known: it reads all schemas. */
export function createRunHost(source: HostSource): RunHost {
  let known: {
    names: readonly string[]
    models: number
    provided: HostParts
    recorded: Map<string | undefined, RunNeeds | undefined>
  }
  const current = () => {
    const { names } = source.roster
    const models = source.customModels.size
    if (known?.names !== names || known.models !== models)
      known = { names, models, provided: providedParts(source), recorded: new Map() }
    return known
  }
  const { options, workspace } = source
  return {
    protectedPaths: workspace ? pathsInWorkspace(workspace, options.workspace?.protect ?? []) : [],
    protect: (paths) => workspace && addProtectedPaths(workspace, paths),
    get provided() {
      return current().provided
    },
    needsFor(model) {
      const { provided, recorded } = current()
      if (!recorded.has(model)) recorded.set(model, runNeeds(provided, model))
      return recorded.get(model)
    },
  }
}

/** The run's own model may be written without its provider: roles that stand for it are listed as `run:start` names it. */
function runNeeds(provided: HostParts, model: string | undefined): RunNeeds | undefined {
  const own = model === undefined ? [] : bareModelCandidates(model, detectModels(process.env).found)
  const models = provided.models?.map((part) =>
    model !== undefined && part.hash !== undefined && own.includes(part.hash) ? { ...part, hash: model } : part,
  )
  const needed = Object.entries({ ...provided, models }).filter(([, parts]) => parts && parts.length > 0)
  return needed.length === 0 ? undefined : { started_by: thisProgram(), ...Object.fromEntries(needed) }
}

function providedParts({ options, customModels, roster, workspaceTools }: HostSource): HostParts {
  const agents = roster.names.map((name) => roster.get(name))
  const { tools = [], patterns = [], hooks = [], performers = {}, mcp, team } = options
  return {
    tools: tools.map(toolPart),
    // They have no hash: another version of Troupe may describe them in other words.
    workspace: workspaceTools.map(({ name }) => ({ name })),
    hooks: hooks.flatMap(hookParts),
    servers: Object.entries(mcp?.servers ?? {}).flatMap(serverPart),
    patterns: patterns.map(patternPart),
    agents: agents.filter((agent) => !isBuiltIn(agent)).map(agentPart),
    teams: (team?.teams ?? []).flatMap(teamPart),
    performers: Object.keys(performers).map((name) => ({ name })),
    ...modelParts(options, [...customModels.keys()]),
  }
}

function toolPart({ name, description, kind, input }: Tool): NeededPart {
  return { name, hash: hashOf({ description, kind, input: schemaJson(input) }) }
}

function patternPart({ name, version, input }: Pattern): NeededPart {
  return { name, hash: hashOf({ version, input: schemaJson(input) }) }
}

/** A schema without JSON Schema is an error where it is used, not here. */
function schemaJson(schema: Schema): unknown {
  try {
    return toJsonSchema(schema)
  } catch {
    return null
  }
}

function agentPart({ origin: _origin, ...agent }: Agent): NeededPart {
  return { name: agent.name, hash: hashOf(agent) }
}

/** Team files were read before. */
function teamPart(team: TeamInput | string): NeededPart[] {
  return typeof team === 'string' ? [] : [{ name: team.name, hash: hashOf(team) }]
}

function isBuiltIn({ origin }: Agent): boolean {
  return origin?.by === 'user' && origin.collection === BUILT_IN_COLLECTION
}

/** A function has no hash that two processes share. */
function hookParts({ name, ...points }: Hooks): NeededPart[] {
  return Object.entries(points)
    .filter(([, hook]) => typeof hook === 'function')
    .map(([point]) => ({ name: name === undefined ? point : `${point}:${name}` }))
}

/** Without values of variables and headers, arguments and the query of the address: they may be secrets. */
function serverPart([name, config]: [string, unknown]): NeededPart[] {
  const parsed = parseServerConfig(config)
  if (!('spec' in parsed)) return []
  const { spec } = parsed
  const place =
    spec.kind === 'stdio'
      ? { command: spec.command, env: Object.keys(spec.env) }
      : { address: spec.url.split('?', 1)[0], headers: Object.keys(spec.headers) }
  return [{ name, hash: hashOf({ ...place, tools: spec.allowedTools }) }]
}

/** Models of the program, and the model of each role. With a resolver or a cassette, any name may be a model. */
function modelParts({ model, models, cassette }: AdaptedOptions, own: readonly string[]): Pick<HostParts, 'models'> {
  if (models?.resolver || (cassette && 'replay' in cassette)) return {}
  const fallback = typeof model === 'object' ? model.name : model
  const { roles, found } = detectModels(process.env, {
    ...models?.config,
    ...(fallback === undefined ? undefined : { model: fallback }),
  })
  const byRole = Object.entries(roles).map(([role, choice]) => ({ name: role, hash: choice.model }))
  // The model of agents that name none, unless it is that of `general`.
  const isGeneral = (name: string) => [name, ...bareModelCandidates(name, found)].includes(roles.general?.model ?? '')
  const byDefault = fallback === undefined || isGeneral(fallback) ? [] : [{ name: 'default', hash: fallback }]
  return { models: [...own.map((name) => ({ name })), ...byRole, ...byDefault] }
}

function hashOf(value: unknown): string {
  return shortHash(canonicalJson(value))
}

function thisProgram(): HostProgram {
  const folder = process.cwd()
  const [, program] = process.argv
  const path = program === undefined ? process.execPath : program
  const short = relative(folder, path)
  return { program: short.startsWith('..') ? path : short, folder, host: hostname() }
}
