import { TroupeError } from '../../errors.ts'

/*
 * The parts of the host that a run depends on: `run:start.needs`. A process that lacks one of them must not execute the run: an
 * approved action would not be carried out, or a hook that denies it would not be asked. A part whose definition has changed does
 * not stop the run, because every deployment of a program changes some; it is reported.
 */

/** A part by its name. `hash` tells whether its definition has changed; parts without one are compared by name. */
export interface NeededPart {
  readonly name: string
  readonly hash?: string
}

/** The kinds of parts, in the order in which they are listed, and how messages call them. */
const NEED_KINDS = {
  tools: 'tool',
  workspace: 'workspace tool',
  hooks: 'hook',
  servers: 'MCP server',
  patterns: 'pattern',
  agents: 'agent',
  teams: 'named team',
  performers: 'performer',
  models: 'model',
} as const

export type NeedKind = keyof typeof NEED_KINDS

/** The program that started a run. */
export interface HostProgram {
  readonly program: string
  readonly folder: string
  readonly host: string
}

/** The parts that a process provides. A hook is `beforeTool` or, if it has a name, `beforeTool:NAME`. */
export type HostParts = Partial<Readonly<Record<NeedKind, readonly NeededPart[]>>>

/** The parts that a run needs, and the program that started it with them. */
export interface RunNeeds extends HostParts {
  readonly started_by: HostProgram
}

/** The process that executes runs, as runs see it. */
export interface RunHost {
  /** The parts that it provides: runs that need others are left to other processes. */
  readonly provided: HostParts
  /** The needs of a run with this model of its own that starts here; the same object for the same model. */
  needsFor(model: string | undefined): RunNeeds | undefined
  /** The files and folders of the workspace that configure runs that start here, as paths from it. */
  readonly protectedPaths?: readonly string[]
  /** Prevents agents from writing these paths as well. */
  protect?(paths: readonly string[]): void
}

export interface PartName {
  readonly kind: NeedKind
  readonly name: string
}

/** How the parts that a process provides differ from those that a run needs. */
export interface NeedsReport {
  /** Parts that the process lacks: it cannot execute the run. */
  readonly missing: readonly PartName[]
  /** Agents that the process lacks and that the run has not used: it continues without them. */
  readonly unused: readonly PartName[]
  /** Parts whose definition has changed since the run started. */
  readonly changed: readonly PartName[]
  /** The program that started the run; `null` if the run needs nothing. */
  readonly started_by: HostProgram | null
}

/** A role whose model is another one here than where the run was executed before. */
export interface ChangedModel {
  readonly role: string
  readonly from: string
  readonly to: string
}

const NO_NEEDS: NeedsReport = Object.freeze({ missing: [], unused: [], changed: [], started_by: null })
const reports = new WeakMap<RunNeeds, WeakMap<HostParts, NeedsReport>>()

/** Compares what a run needs with what this process provides. A journal without `needs` needs nothing. */
export function compareNeeds(needs: RunNeeds | undefined, provided: HostParts): NeedsReport {
  if (!needs) return NO_NEEDS
  const known = reports.get(needs) ?? new WeakMap<HostParts, NeedsReport>()
  const report = known.get(provided) ?? newReport(needs, provided)
  reports.set(needs, known.set(provided, report))
  return report
}

function newReport(needs: RunNeeds, provided: HostParts): NeedsReport {
  const kinds = Object.keys(NEED_KINDS) as NeedKind[]
  const differences = kinds.map((kind) => compareKind(kind, needs[kind] ?? [], provided[kind]))
  return {
    missing: differences.flatMap(({ missing }) => missing),
    unused: [],
    changed: differences.flatMap(({ changed }) => changed),
    started_by: needs.started_by,
  }
}

/** Moves agents that the run does not use from `missing` to `unused`. */
export function withoutUnusedAgents(report: NeedsReport, isUsed: (name: string) => boolean): NeedsReport {
  const unused = report.missing.filter(({ kind, name }) => kind === 'agents' && !isUsed(name))
  return { ...report, missing: report.missing.filter((part) => !unused.includes(part)), unused }
}

type Differences = Pick<NeedsReport, 'missing' | 'changed'>

function compareKind(
  kind: NeedKind,
  needed: readonly NeededPart[],
  provided: readonly NeededPart[] | undefined,
): Differences {
  if (kind === 'hooks') return compareHooks(needed, provided ?? [])
  // A resolver of the program or a cassette knows its models only when they are requested.
  if (kind === 'models' && !provided) return NO_NEEDS
  const hashes = new Map((provided ?? []).map(({ name, hash }) => [name, hash]))
  if (kind === 'models') addDefaultModel(hashes)
  const toPartName = ({ name }: NeededPart) => ({ kind, name })
  const missing = needed.filter(({ name }) => !hashes.has(name))
  const names = new Set(missing.map(({ name }) => name))
  return {
    // A role is not reported besides the missing model that it stands for.
    missing: missing.filter(({ hash }) => kind !== 'models' || hash === undefined || !names.has(hash)).map(toPartName),
    changed: needed.filter(({ name, hash }) => hashes.has(name) && hashes.get(name) !== hash).map(toPartName),
  }
}

/** The model of agents that name none is listed only where it is not that of `general`. */
function addDefaultModel(models: Map<string, string | undefined>): void {
  const general = models.get('general')
  if (general !== undefined && !models.has('default')) models.set('default', general)
}

/** The models of `used`, by role, that are others in a process with these parts. */
export function changedModels(
  used: ReadonlyMap<string, string | undefined>,
  { models = [] }: HostParts,
): ChangedModel[] {
  const [before, now] = [new Map(used), new Map(models.map(({ name, hash }) => [name, hash]))]
  for (const each of [before, now]) addDefaultModel(each)
  const changes = [...before].flatMap(([role, from]) => {
    const to = now.get(role)
    return from === undefined || to === undefined || to === from ? [] : { role, from, to }
  })
  const general = changes.find(({ role }) => role === 'general')
  return changes.filter(({ role, from, to }) => role !== 'default' || from !== general?.from || to !== general.to)
}

/** A hook with a name must be there under that name; of those without, only the number at each hook point is known. */
function compareHooks(needed: readonly NeededPart[], provided: readonly NeededPart[]): Differences {
  const names = new Set(provided.map(({ name }) => name))
  const isNamed = ({ name }: NeededPart) => name.includes(':')
  const lost = needed.filter((hook) => isNamed(hook) && !names.has(hook.name))
  const points = [...new Set(needed.filter((hook) => !isNamed(hook)).map(hookPoint))]
  const countAt = (hooks: readonly NeededPart[], point: string) =>
    hooks.filter((hook) => hookPoint(hook) === point).length
  const short = points.filter((point) => countAt(needed, point) - countAt(lost, point) > countAt(provided, point))
  const missing = [...lost.map(({ name }) => name), ...short]
  return { missing: missing.map((name) => ({ kind: 'hooks', name })), changed: [] }
}

function hookPoint({ name }: NeededPart): string {
  return name.split(':', 1)[0] ?? name
}

const MAX_LISTED_PARTS = 6

/** "tool pay, hook beforeTool:protect, workspace tools Read, Write and 9 more" */
export function formatParts(parts: readonly PartName[]): string {
  const byKind = Map.groupBy(parts, ({ kind }) => kind)
  return [...byKind]
    .map(([kind, group]) => {
      const names = group.slice(0, MAX_LISTED_PARTS).map(({ name }) => name)
      const more = group.length > names.length ? ` and ${group.length - names.length} more` : ''
      return `${NEED_KINDS[kind]}${group.length > 1 ? 's' : ''} ${names.join(', ')}${more}`
    })
    .join('; ')
}

/** "app.ts in /srv/app on web1" */
export function formatProgram({ program, folder, host }: HostProgram): string {
  return `${program} in ${folder} on ${host}`
}

/** Throws `needs_missing` if the process lacks a part that the run needs. */
export function requireNeeds(run_id: string, { missing, started_by }: NeedsReport): void {
  if (missing.length === 0) return
  const program = started_by ? ` (${formatProgram(started_by)})` : ''
  // The same program lacks agents that it found in the folder of another `--agents`.
  const folder = missing.some(({ kind }) => kind === 'agents')
    ? ' or with --agents FOLDER; find broken agent files with: troupe agents check'
    : ''
  throw new TroupeError('needs_missing', `this process lacks what run ${run_id} needs: ${formatParts(missing)}`, {
    alternatives: missing.map(({ name }) => name),
    hint: `use the program that started it${program}, or provide the missing parts here under the same names, such as in troupe.config.ts${folder}`,
  })
}
