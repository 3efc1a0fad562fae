import { errorFromRecord, TroupeError } from '../../errors.ts'
import { agentSource } from '../agent-name.ts'
import { callPattern, parseEventData } from '../call-pattern.ts'
import type {
  ArtifactContext,
  Caller,
  Context,
  FactContext,
  LookupContext,
  PartialOutputReader,
  Readings,
  RunContext,
  SessionContext,
  SpendScope,
  StepContext,
  SubRunOptions,
} from '../context.ts'
import type { EventDataOf, PatternEventType } from '../event.ts'
import { isKept } from '../journal/dependent-steps.ts'
import type { Execution } from '../journal/execution.ts'
import { runParallel } from '../journal/parallel.ts'
import type { StepScope } from '../journal/step.ts'
import { appendResult, firstToSettle, recordValue, runStep } from '../journal/step.ts'
import type { Pattern, PatternResult } from '../pattern.ts'
import { completePatterns } from '../pattern.ts'
import type { Ports } from '../ports.ts'
import { isResumableFailure } from '../resumable-failure.ts'
import { extendRoster } from '../roster.ts'
import { parsePatternInput, requirePattern } from '../run-input.ts'
import type { SessionResult } from '../session-result.ts'
import type { SteerAction, SteeringCommand } from '../steer-action.ts'
import { readArtifact, writeArtifact } from './artifacts.ts'
import { isReadOnlyAgent, modelProblem, unknownTools } from './availability.ts'
import { collectResult } from './background-session.ts'
import type { SessionScope } from './open-session.ts'
import { performSession, startBackground } from './perform-session.ts'
import { sessionId } from './session-state.ts'
import type { StartTurns } from './turn-scope.ts'

/** An execution of a run, and what carries out the turns of its sessions. */
export interface RunScope {
  execution: Execution
  startTurns: StartTurns
}

/** Where a pattern runs: its keys nest under `path`. */
export interface PatternScope extends RunScope {
  pattern: Pattern
  path: string
  caller: Caller | undefined
  signal: AbortSignal
  /** For a sub-run: what its caller does with the reader of the partial output. */
  onPartialOutput?: SubRunOptions['onPartialOutput'] | undefined
}

/** A pattern's view of its run. */
export function createContext(scope: PatternScope): Context {
  return {
    ...runContext(scope),
    ...lookupContext(scope),
    ...sessionContext(scope),
    ...factContext(scope),
    ...stepContext(scope),
    ...artifactContext(scope),
    ...REMOVED,
  }
}

/** Functions that patterns of earlier versions call. */
const REMOVED = Object.fromEntries(
  Object.entries({
    earlierWork: '`keep` of a request, whose answer then stays when `resume` retries what it depends on',
    supersede: '`keep` of a request; what else depends on a retried step is worked out anew under the same key',
    journalKey: '`path` of the context',
  }).map(([name, instead]) => [
    name,
    () => {
      throw new TroupeError('invalid_input', `\`${name}\` of the context was removed`, { hint: `use ${instead}` })
    },
  ]),
)

function runContext({ execution, caller, path }: PatternScope): RunContext {
  const { run, ports } = execution
  return {
    run_id: run.id,
    project: run.project,
    path,
    limits: run.limits,
    metadata: run.metadata,
    roster: ports.roster,
    caller,
    parentName: undefined,
    isReadOnly: (agent, request) => isReadOnlyAgent(execution, agent, { caller, readOnly: request?.readOnly }),
    delegates: (name) => ports.patternTools.get(name)?.pattern.delegation !== undefined,
  }
}

function lookupContext({ execution }: PatternScope): LookupContext {
  const { run, ports } = execution
  return {
    unknownTools: (names) => unknownTools(execution, names),
    modelProblem: (name, chosenBy) => {
      // Not `load`: within a step, one that begins when the run is paused would never end.
      const problem = modelProblem(execution, name, chosenBy)
      execution.loading.add(problem)
      return problem.finally(() => execution.loading.delete(problem))
    },
    projectProfile: async () => ports.projectProfile?.(),
    redactor: ports.redactor,
    repository: ports.repository,
    commands: ports.commands,
    embedder: ports.embedder,
    knowledge: ports.knowledge?.(run.project),
  }
}

function sessionContext(scope: PatternScope): SessionContext {
  const { execution, caller, signal } = scope
  const { run, ports } = execution
  const session = (key: string): SessionScope => ({
    execution,
    key: under(scope, key),
    caller,
    delegation: scope.pattern.delegation,
    signal,
    startTurns: scope.startTurns,
    contextFor: contextFactory(scope),
  })
  const perform: Context['perform'] = (agent, request, { key }) => performSession(session(key), agent, request)
  return {
    sessionId: (key, agent) => {
      const identity = execution.journalIndex.identity(under(scope, key))
      return sessionId({ run_id: run.id, key: identity, agent, parent: caller?.session_id ?? null })
    },
    perform,
    request: async (request) => (await execution.load(ports.loadRequests))({ ...factContext(scope), perform }, request),
    startBackground: (agent, request, { key }) => startBackground(session(key), agent, request),
    collect: (key, session_id, { wait, scope: visible }) =>
      collectResult(step(scope, key), session_id, { wait, ofRunOnly: caller !== undefined && visible !== 'project' }),
    hasKept: async (key, requests) => {
      const recorded = execution.claim(under(scope, key))
      if (recorded || ports.replayOnly) return recorded !== undefined
      const hasBegun = requests.some((request) => isKept(execution.journalIndex.recorded, under(scope, request)))
      if (hasBegun) appendResult(step(scope, key), true)
      return hasBegun
    },
    run: async (name, input, { key, parentName, agents = [], onPartialOutput, onIncomplete }) => {
      const pattern = requirePattern(ports.patterns, name)
      const completing = completePatterns([pattern])
      if (completing) await execution.load(() => completing)
      const context = createContext({ ...scope, pattern, path: under(scope, key), onPartialOutput })
      const roster = extendRoster(ports.roster, agents)
      const { output, incomplete = [] } = await runPattern(pattern, input, { ...context, parentName, roster })
      const outages = incomplete.filter(isResumableFailure)
      if (outages.length > 0) onIncomplete?.(outages)
      return output
    },
  }
}

/** The name of the first of these models that exists; a role such as `fast` may have none. */
async function resolvedModelName({ models }: Ports, ...names: (string | undefined)[]): Promise<string | undefined> {
  for (const name of names) {
    try {
      return (await models.resolve(name)).name
    } catch {
      // A role that is not configured, or an unknown model: the next name counts.
    }
  }
  return undefined
}

function readings(scope: PatternScope): Readings {
  const { run, ports, journal, budget } = scope.execution
  return {
    now: () => ports.world.now(),
    spend: (spend) => budget.spentUnder(spendPath(scope, spend)),
    query: async (query) => {
      await journal.commit()
      return ports.queryTable(run, query)
    },
  }
}

function stepContext(scope: PatternScope): StepContext {
  const { execution, caller, signal } = scope
  const live = readings(scope)
  const agent = caller?.opening.agent
  const from = agent?.origin ? { from: agentSource(agent) } : undefined
  const asker = caller && agent && { session_id: caller.session_id, agent: agent.name, ...from }
  return {
    step: (key, effect, options) => runStep(step(scope, key), () => effect(signal, live), options),
    ask: (key, question) => execution.waitForGate(step(scope, key), question, asker),
    takeSteering: (key, accepts) => takeSteering(externalStep(scope, key), accepts),
    parallel: (items, limit, work) => runParallel(execution.journalIndex, { items, limit, work }),
    first: (key, branches) => firstToSettle(step(scope, key), branches),
    emit: (key, type, data) => {
      const parsed = parseEventData(scope.pattern, type, data)
      // A type of the kernel cannot be in `events` of a pattern.
      emitEvent(scope, type as string as PatternEventType, { ...parsed, key: under(scope, key) })
    },
    setPartialOutput: (read) => {
      const readHere: PartialOutputReader = (stop_reason) => read(stop_reason, execution.budget.spentUnder(scope.path))
      if (scope.path === '') execution.readPartialOutput = readHere
      else scope.onPartialOutput?.(readHere)
    },
  }
}

function factContext(scope: PatternScope): FactContext {
  const { execution, caller } = scope
  const { run, ports, journal } = execution
  const { world, prices } = ports
  const live = readings(scope)
  return {
    now: (key) => recordValue(externalStep(scope, key), () => live.now()),
    random: (key) => recordValue(externalStep(scope, key), () => world.random()),
    readSpend: (key, spend) => recordValue(externalStep(scope, key), () => live.spend(spend)),
    priceUsage: (key, usage, model = caller?.opening.model) =>
      runStep(step(scope, key), async () => {
        const name = await resolvedModelName(ports, model, run.model)
        return { model: name ?? null, usd: name === undefined ? null : (prices.cost(name, usage, world.now()) ?? null) }
      }),
    recall: (key, query) => runStep(step(scope, key), () => ports.recallRuns(run.project, query), { input: query }),
    query: (key, query) => runStep(step(scope, key), () => live.query(query), { input: query }),
    cachedResult: async (key, cache_key, model = caller?.opening.model) =>
      (await runStep<SessionResult | null>(step(scope, key), async () => {
        await journal.commit()
        const name = await resolvedModelName(ports, model, run.model)
        return (await ports.cachedResult(run.project, cache_key, name)) ?? null
      })) ?? undefined,
    isRecorded: (key) => execution.journalIndex.outcome(under(scope, key)) !== undefined,
  }
}

function artifactContext(scope: PatternScope): ArtifactContext {
  const { execution, caller } = scope
  return {
    writeArtifact: async (key, artifact) => writeArtifact(step(scope, key), caller, artifact),
    readArtifact: (key, artifact) => readArtifact(step(scope, key), artifact),
    artifactsUnder: (key) => execution.journalIndex.artifactsUnder(under(scope, key)),
    artifacts: (key) =>
      runStep(step(scope, key), async () => {
        await execution.journal.commit()
        return execution.ports.listArtifacts(execution.run.id)
      }),
  }
}

function under({ path }: PatternScope, key: string): string {
  return path === '' ? key : `${path}/${key}`
}

function step(scope: PatternScope, key: string): StepScope {
  return { execution: scope.execution, key: under(scope, key), signal: scope.signal }
}

function externalStep(scope: PatternScope, key: string): StepScope {
  return { ...step(scope, key), external: true }
}

/** The subtree of the run whose spend is read. */
function spendPath(scope: PatternScope, spend: SpendScope = 'run'): string {
  if (spend === 'run') return ''
  return spend === 'here' ? scope.path : under(scope, spend.under)
}

/** An event is written once under its key. */
function emitEvent(
  { execution, caller }: PatternScope,
  type: PatternEventType,
  data: EventDataOf<PatternEventType>,
): void {
  if (!execution.claim(data.key)) execution.journal.append(type, data, caller?.session_id)
}

function contextFactory({ execution, startTurns }: RunScope): SessionScope['contextFor'] {
  return (pattern, { key, ...scope }) => createContext({ execution, startTurns, pattern, path: key, ...scope })
}

/** Resumes the background sessions that a crash or a restart interrupted. */
export function resumeBackgroundSessions({ execution, startTurns }: RunScope): void {
  for (const { data } of execution.journalIndex.openBackgroundSessions()) {
    const session = {
      execution,
      key: data.key,
      caller: undefined,
      delegation: undefined,
      startTurns,
      contextFor: contextFactory({ execution, startTurns }),
    }
    execution.resumedSessions.start(
      data.key,
      { signal: execution.signal, isCutDue: execution.journalIndex.isCutDue },
      (signal) => startBackground({ ...session, signal }, undefined, { instruction: '' }),
    )
  }
}

async function runPattern(pattern: Pattern, input: unknown, context: Context): Promise<PatternResult> {
  const parsed = parsePatternInput(pattern, input)
  await pattern.check?.(context.roster, parsed as never)
  const result = await callPattern(pattern, context, parsed)
  if (result.success) return result
  // The recorded error names the steps that failed, so that a resumed run retries them.
  throw result.detail
    ? errorFromRecord(result.detail, result.incomplete)
    : new TroupeError('tool_failed', result.error ?? `the pattern '${pattern.name}' failed`, {
        hint: 'return the reason as `error` or `detail` from `execute` of the pattern',
      })
}

/** Takes the accepted commands that nobody took before, each once. Their positions are recorded, so that a replay takes the same. */
async function takeSteering(
  scope: StepScope,
  accepts: (action: SteerAction) => boolean = () => true,
): Promise<SteeringCommand[]> {
  const { journalIndex, takenSteering } = scope.execution
  const { steeringCommands } = journalIndex
  const positions = await recordValue<number[]>(scope, () =>
    [...steeringCommands.keys()].filter(
      (position) => !takenSteering.has(position) && accepts(steeringCommands[position]?.data.action as SteerAction),
    ),
  )
  for (const position of positions) takenSteering.add(position)
  return steeringCommands
    .filter((_, position) => positions.includes(position))
    .map(({ data: { action, by } }) => ({ action, by }))
}
