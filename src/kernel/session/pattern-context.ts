import { errorFromRecord, TroupeError, toTroupeError, unknownNameError } from '../../errors.ts'
import type { Caller, Context, SettledResult, StepOptions } from '../context.ts'
import type { Event, EventDataOf, PatternEventType } from '../event.ts'
import { isEvent } from '../event.ts'
import { canonicalJson, sha256, shortHash } from '../hash.ts'
import type { Execution } from '../journal/execution.ts'
import { isFatal } from '../journal/fatal-error.ts'
import { extendRoster } from '../roster.ts'
import { formatIssues } from '../schema.ts'
import { withAbort } from '../world.ts'
import { isReadOnlyAgent, modelProblem, unknownTools } from './availability.ts'
import { backgroundResult } from './background-session.ts'
import type { SessionScope } from './perform-session.ts'
import { performSession, startBackground } from './perform-session.ts'
import type { SessionResult } from './session-state.ts'
import { sessionId } from './session-state.ts'
import { takeSteering } from './take-steering.ts'

/** A pattern's view of its run from where it stands: keys nest under `path`. */
export function createContext(
  execution: Execution,
  path: string,
  caller: Caller | undefined,
  signal: AbortSignal,
): Context {
  const under = (key: string) => (path === '' ? key : `${path}/${key}`)
  const site = (key: string): SessionScope => ({
    execution,
    key: under(key),
    caller,
    signal,
    contextFor: contextFactory(execution),
  })
  const context: Context = {
    run_id: execution.run.id,
    project: execution.run.project,
    limits: execution.run.limits,
    roster: execution.ports.roster,
    caller,
    parentName: undefined,
    embedder: execution.ports.embedder,
    isReadOnly: (agent, as) => isReadOnlyAgent(execution, agent, { caller, reading: as?.readOnly }),
    unknownTools: (names) => unknownTools(execution, names),
    modelProblem: (name) => modelProblem(execution, name),
    delegates: (name) => execution.ports.patternTools.get(name)?.pattern.delegates === true,
    sessionId: (key, agent) => sessionId(execution.run.id, under(key), agent, caller?.session_id ?? null),
    perform: (agent, request, at) => performSession(site(at.key), agent, request),
    startBackground: (agent, request, at) => startBackground(site(at.key), agent, request),
    collect: (key, id, wait) => collectResult(execution, under(key), id, wait),
    step: (key, effect, options) => runStep({ execution, key: under(key), signal }, () => effect(signal), options),
    ask: (key, question) =>
      execution.waitForGate(
        under(key),
        question,
        signal,
        caller && { session_id: caller.session_id, agent: caller.opening.agent.name },
      ),
    takeSteering: (key) => takeSteering(execution, under(key), signal),
    run: (pattern, input, { key, parentName, agents = [] }) => {
      const roster = extendRoster(execution.ports.roster, agents)
      return runPattern(execution, pattern, input, {
        ...createContext(execution, under(key), caller, signal),
        parentName,
        roster,
      })
    },
    parallel: (items, limit, work) => runParallel(items, limit, work),
    first: (key, branches) => firstToFinish(execution, under(key), branches),
    emit(key, type, data) {
      execution.claim(under(key))
      const told = { ...data, key: under(key) } as unknown as EventDataOf<PatternEventType>
      const before = execution.journalIndex.outcome(under(key))
      // After a step was tried again, what is to be told of it may have changed.
      if (before && !(execution.journalIndex.hasReopenedKeys && isDifferent(before, type, told))) return
      execution.journal.append(type as PatternEventType, told, caller?.session_id)
    },
    spent: (key, of) =>
      recordValue({ execution, key: under(key), signal }, () => execution.budget.spentUnder(spendPath(path, of))),
    now: (key) => recordValue({ execution, key: under(key), signal }, () => execution.ports.world.now()),
    random: (key) => recordValue({ execution, key: under(key), signal }, () => execution.ports.world.random()),
    writeArtifact: (key, artifact) => writeArtifact(execution, under(key), caller, artifact),
    readArtifact: (key, artifact) => readArtifact({ execution, key: under(key), signal }, artifact),
    artifactsUnder: (key) => execution.journalIndex.artifactsUnder(under(key)),
    artifacts: (key) =>
      runStep({ execution, key: under(key), signal }, async () => {
        await execution.journal.commit()
        return execution.ports.listArtifacts(execution.run.id)
      }),
    recall: (key, query) =>
      runStep({ execution, key: under(key), signal }, () => execution.ports.recallRuns(execution.run.project, query), {
        input: query,
      }),
    cachedResult: async (key, cache_key) =>
      (await runStep<SessionResult | null>({ execution, key: under(key), signal }, async () => {
        await execution.journal.commit()
        return (await execution.ports.cachedResult(execution.run.project, cache_key)) ?? null
      })) ?? undefined,
  }
  return context
}

/** The branch of the run whose spending is meant. */
function spendPath(path: string, of: Parameters<Context['spent']>[1] = 'run'): string {
  if (of === 'run') return ''
  if (of === 'here') return path
  return path === '' ? of.under : `${path}/${of.under}`
}

function isDifferent(before: Event, type: string, data: unknown): boolean {
  return before.type !== type || canonicalJson(before.data) !== canonicalJson(data)
}

function contextFactory(execution: Execution): SessionScope['contextFor'] {
  return (key, caller, scope) => createContext(execution, key, caller, scope)
}

/** Lets the background sessions that a crash or a restart interrupted go on. */
export function resumeBackgroundSessions(execution: Execution): void {
  for (const { data } of execution.journalIndex.openBackgroundSessions()) {
    const site = {
      execution,
      key: data.key,
      caller: undefined,
      signal: execution.signal,
      contextFor: contextFactory(execution),
    }
    void startBackground(site, undefined, { instruction: '' }).catch(() => {})
  }
}

/** Waiting for a background session is no effect of its own: the run may park meanwhile. */
async function collectResult(
  execution: Execution,
  key: string,
  id: string,
  wait: boolean,
): Promise<SessionResult | undefined> {
  execution.claim(key)
  const settled = execution.journalIndex.outcome(key)
  if (isEvent(settled, 'step:end')) return (settled.data.result as SessionResult | null) ?? undefined
  const atWork = execution.activeSessions.has(id) && execution.backgroundSessions.has(id)
  if (atWork && !wait) return recordResult(execution, key, undefined)
  const here = await backgroundResult(execution, id)
  if (here) return recordResult(execution, key, here)
  return recordResult(
    execution,
    key,
    await execution.runEffect(() => execution.ports.sessionResult(id, execution.run.project)),
  )
}

function recordResult(execution: Execution, key: string, result: SessionResult | undefined): SessionResult | undefined {
  execution.journal.append('step:end', { key, v: 1, input_hash: null, result: result ?? null })
  return result
}

interface StepScope {
  execution: Execution
  key: string
  signal: AbortSignal
}

async function runStep<T>(site: StepScope, effect: () => T | Promise<T>, options: StepOptions = {}): Promise<T> {
  const { execution, key, signal } = site
  execution.claim(key)
  const input_hash = options.input === undefined ? null : shortHash(canonicalJson(options.input))
  const v = options.version ?? 1
  const settled = execution.journalIndex.outcome(key)
  if (isEvent(settled, 'step:end')) {
    execution.checkDrift(key, settled.data.input_hash, input_hash)
    return settled.data.result as T
  }
  if (isEvent(settled, 'step:error')) throw errorFromRecord(settled.data.error)
  if (execution.ports.replayOnly) return withAbort(new Promise<never>(() => {}), signal)
  try {
    if (signal.aborted) throw signal.reason
    const result = await execution.runEffect(async () => {
      if (options.kind === 'act') await beginAction(execution, key)
      signal.throwIfAborted()
      const made = effect()
      // An effect that does not listen would keep a cancelled run from its end.
      return made instanceof Promise ? withAbort(made, signal) : made
    })
    // What the code sees now is what a replay will see: nothing that JSON cannot hold.
    const plain = result === undefined ? null : (JSON.parse(JSON.stringify(result)) as T)
    execution.journal.append('step:end', { key, v, input_hash, result: plain })
    return plain as T
  } catch (thrown) {
    if (signal.aborted) throw signal.reason
    const error = toTroupeError(thrown)
    if (isFatal(error)) throw error
    error.step ??= key
    execution.journal.append('step:error', { key, v, input_hash, error: error.toJSON() })
    throw error
  }
}

/** A value that is there at once: remembered as a step is, and nothing to wait for. */
async function recordValue<T>({ execution, key, signal }: StepScope, read: () => T): Promise<T> {
  execution.claim(key)
  const settled = execution.journalIndex.outcome(key)
  if (isEvent(settled, 'step:end')) return settled.data.result as T
  if (execution.ports.replayOnly) return withAbort(new Promise<never>(() => {}), signal)
  signal.throwIfAborted()
  const result = read()
  execution.journal.append('step:end', { key, v: 1, input_hash: null, result })
  return result
}

async function beginAction(execution: Execution, key: string): Promise<void> {
  if (execution.journalIndex.opening(key)) {
    throw new TroupeError('outcome_unknown', `the action '${key}' had begun when the run was interrupted`, {
      hint: 'it may or may not have taken effect, and was not repeated',
    })
  }
  await execution.ensureReplayed()
  execution.journal.append('step:begin', { key, kind: 'act' })
  await execution.journal.commit('full')
  await execution.ensureLease()
}

async function runParallel<T, R>(
  items: readonly T[],
  limit: number,
  work: (item: T, index: number) => Promise<R>,
): Promise<SettledResult<R>[]> {
  const results: SettledResult<R>[] = new Array(items.length)
  let next = 0
  const worker = async () => {
    while (next < items.length) {
      const index = next++
      try {
        results[index] = { ok: true, value: await work(items[index] as T, index) }
      } catch (thrown) {
        const error = toTroupeError(thrown)
        if (isFatal(error)) throw error
        results[index] = { ok: false, error }
      }
    }
  }
  await Promise.all(Array.from({ length: Math.max(1, Math.min(limit, items.length)) }, worker))
  return results
}

async function firstToFinish(
  execution: Execution,
  key: string,
  branches: Readonly<Record<string, Promise<unknown>>>,
): Promise<string> {
  execution.claim(key)
  const settled = execution.journalIndex.outcome(key)
  if (isEvent(settled, 'step:end')) return settled.data.result as string
  const finished = Object.entries(branches).map(([name, branch]) =>
    branch.then(
      () => name,
      () => name,
    ),
  )
  const winner = await Promise.race(finished)
  execution.journal.append('step:end', { key, v: 1, input_hash: null, result: winner })
  return winner
}

async function runPattern(execution: Execution, name: string, input: unknown, context: Context): Promise<unknown> {
  const pattern = execution.ports.patterns.get(name)
  if (!pattern) throw unknownNameError('unknown_pattern', 'pattern', name, [...execution.ports.patterns.keys()])
  const parsed = pattern.input.safeParse(input)
  if (!parsed.success)
    throw new TroupeError('invalid_input', `the input of ${name} does not fit: ${formatIssues(parsed.error)}`)
  pattern.check?.(context.roster, parsed.data as never)
  const result = await pattern.execute(context, parsed.data as never)
  // With the step of the error below: whoever resumes the run tries that again.
  if (!result.success) {
    throw result.detail
      ? errorFromRecord(result.detail)
      : new TroupeError('tool_failed', result.error ?? `${name} failed`)
  }
  return result.output
}

async function writeArtifact(
  execution: Execution,
  key: string,
  caller: Caller | undefined,
  artifact: { name: string; content: string; media_type?: string },
) {
  execution.claim(key)
  let event: Event | undefined = execution.journalIndex.outcome(key)
  if (!event) {
    const version = (execution.journalIndex.artifactVersions.get(artifact.name) ?? 0) + 1
    event = execution.journal.append(
      'artifact:write',
      {
        key,
        name: artifact.name,
        version,
        media_type: artifact.media_type ?? 'text/plain',
        content: artifact.content,
        checksum: sha256(artifact.content),
        by: caller?.opening.agent.name ?? 'pattern',
      },
      caller?.session_id,
    )
    execution.journalIndex.add(event)
  }
  if (!isEvent(event, 'artifact:write')) throw new TroupeError('internal', `'${key}' is not an artifact`)
  const { name, version, checksum, content } = event.data
  return { name, version, checksum, size: Buffer.byteLength(content) }
}

/** The version is remembered, the content is read again: a journal does not hold a piece of work twice. */
async function readArtifact(site: StepScope, { name, version }: { name: string; version?: number }) {
  const { execution } = site
  const read = async (wanted?: number) => {
    await execution.journal.commit()
    return execution.ports.readArtifact(execution.run.id, name, wanted)
  }
  const found = await runStep<number | null>(site, async () => (await read(version))?.version ?? null)
  return found === null ? undefined : execution.load(() => read(found))
}
