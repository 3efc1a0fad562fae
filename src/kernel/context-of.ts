import { asTroupeError, fromRecord, TroupeError, unknownName } from '../errors.ts'
import { modelProblem, onlyReads, unknownTools } from './at-hand.ts'
import { backgroundResult } from './background.ts'
import type { Caller, Context, Settled, StepOptions } from './context.ts'
import type { DataOf, Event, ToldType } from './event.ts'
import { isEvent } from './event.ts'
import type { Execution } from './execution.ts'
import { isFatal } from './fatal.ts'
import { canonicalJson, sha256, shortHash } from './hash.ts'
import type { PerformSite } from './perform.ts'
import { perform, start } from './perform.ts'
import { rosterWith } from './roster.ts'
import { problemsOf } from './schema.ts'
import type { SessionResult } from './session.ts'
import { sessionId } from './session.ts'
import { takeSteering } from './steering.ts'
import { untilAborted } from './world.ts'

/** A pattern's view of its run from where it stands: keys nest under `path`. */
export function contextOf(x: Execution, path: string, caller: Caller | undefined, signal: AbortSignal): Context {
  const under = (key: string) => (path === '' ? key : `${path}/${key}`)
  const site = (key: string): PerformSite => ({ x, key: under(key), caller, signal, contextFor: nested(x) })
  const context: Context = {
    run_id: x.run.id,
    project: x.run.project,
    limits: x.run.limits,
    roster: x.ports.roster,
    caller,
    within: undefined,
    embedder: x.ports.embedder,
    onlyReads: (agent, as) => onlyReads(x, agent, { caller, reading: as?.reading }),
    unknownTools: (names) => unknownTools(x, names),
    modelProblem: (name) => modelProblem(x, name),
    delegates: (name) => x.ports.patternTools.get(name)?.pattern.delegates === true,
    sessionId: (key, agent) => sessionId(x.run.id, under(key), agent, caller?.session_id ?? null),
    perform: (agent, request, at) => perform(site(at.key), agent, request),
    start: (agent, request, at) => start(site(at.key), agent, request),
    collect: (key, id, wait) => collect(x, under(key), id, wait),
    step: (key, effect, options) => step({ x, key: under(key), signal }, () => effect(signal), options),
    ask: (key, question) =>
      x.ask(under(key), question, signal, caller && { session_id: caller.session_id, agent: caller.open.agent.name }),
    steering: (key) => takeSteering(x, under(key), signal),
    run: (pattern, input, { key, within, agents = [] }) => {
      const roster = rosterWith(x.ports.roster, agents)
      return runPattern(x, pattern, input, { ...contextOf(x, under(key), caller, signal), within, roster })
    },
    parallel: (items, limit, work) => parallel(items, limit, work),
    first: (key, branches) => first(x, under(key), branches),
    emit(key, type, data) {
      x.claim(under(key))
      const told = { ...data, key: under(key) } as unknown as DataOf<ToldType>
      const before = x.recorded.settled(under(key))
      // After a step was tried again, what is to be told of it may have changed.
      if (before && !(x.recorded.takenUp && differs(before, type, told))) return
      x.journal.append(type as ToldType, told, caller?.session_id)
    },
    spent: (key, of) => noted({ x, key: under(key), signal }, () => x.budget.spentUnder(branchOf(path, of))),
    now: (key) => noted({ x, key: under(key), signal }, () => x.ports.world.now()),
    random: (key) => noted({ x, key: under(key), signal }, () => x.ports.world.random()),
    writeArtifact: (key, artifact) => writeArtifact(x, under(key), caller, artifact),
    readArtifact: (key, artifact) => readArtifact({ x, key: under(key), signal }, artifact),
    written: (key) => x.recorded.writtenUnder(under(key)),
    artifacts: (key) =>
      step({ x, key: under(key), signal }, async () => {
        await x.journal.committed()
        return x.ports.artifacts(x.run.id)
      }),
    recall: (key, query) =>
      step({ x, key: under(key), signal }, () => x.ports.recall(x.run.project, query), { input: query }),
    cached: async (key, cache_key) =>
      (await step<SessionResult | null>({ x, key: under(key), signal }, async () => {
        await x.journal.committed()
        return (await x.ports.cachedResult(x.run.project, cache_key)) ?? null
      })) ?? undefined,
  }
  return context
}

/** The branch of the run whose spending is meant. */
function branchOf(path: string, of: Parameters<Context['spent']>[1] = 'run'): string {
  if (of === 'run') return ''
  if (of === 'here') return path
  return path === '' ? of.under : `${path}/${of.under}`
}

function differs(before: Event, type: string, data: unknown): boolean {
  return before.type !== type || canonicalJson(before.data) !== canonicalJson(data)
}

function nested(x: Execution): PerformSite['contextFor'] {
  return (key, caller, scope) => contextOf(x, key, caller, scope)
}

/** Lets the background sessions that a crash or a restart interrupted go on. */
export function reenterBackground(x: Execution): void {
  for (const { data } of x.recorded.openBackground()) {
    const site = { x, key: data.key, caller: undefined, signal: x.signal, contextFor: nested(x) }
    void start(site, undefined, { instruction: '' }).catch(() => {})
  }
}

/** Waiting for a background session is no effect of its own: the run may park meanwhile. */
async function collect(x: Execution, key: string, id: string, wait: boolean): Promise<SessionResult | undefined> {
  x.claim(key)
  const settled = x.recorded.settled(key)
  if (isEvent(settled, 'step:end')) return (settled.data.result as SessionResult | null) ?? undefined
  const atWork = x.active.has(id) && x.background.has(id)
  if (atWork && !wait) return remember(x, key, undefined)
  const here = await backgroundResult(x, id)
  if (here) return remember(x, key, here)
  return remember(x, key, await x.effect(() => x.ports.sessionResult(id, x.run.project)))
}

function remember(x: Execution, key: string, result: SessionResult | undefined): SessionResult | undefined {
  x.journal.append('step:end', { key, v: 1, input_hash: null, result: result ?? null })
  return result
}

interface StepSite {
  x: Execution
  key: string
  signal: AbortSignal
}

async function step<T>(site: StepSite, effect: () => T | Promise<T>, options: StepOptions = {}): Promise<T> {
  const { x, key, signal } = site
  x.claim(key)
  const input_hash = options.input === undefined ? null : shortHash(canonicalJson(options.input))
  const v = options.version ?? 1
  const settled = x.recorded.settled(key)
  if (isEvent(settled, 'step:end')) {
    x.checkDrift(key, settled.data.input_hash, input_hash)
    return settled.data.result as T
  }
  if (isEvent(settled, 'step:error')) throw fromRecord(settled.data.error)
  if (x.ports.sealed) return untilAborted(new Promise<never>(() => {}), signal)
  try {
    if (signal.aborted) throw signal.reason
    const result = await x.effect(async () => {
      if (options.kind === 'act') await beginAction(x, key)
      signal.throwIfAborted()
      const made = effect()
      // An effect that does not listen would keep a cancelled run from its end.
      return made instanceof Promise ? untilAborted(made, signal) : made
    })
    // What the code sees now is what a replay will see: nothing that JSON cannot hold.
    const plain = result === undefined ? null : (JSON.parse(JSON.stringify(result)) as T)
    x.journal.append('step:end', { key, v, input_hash, result: plain })
    return plain as T
  } catch (thrown) {
    if (signal.aborted) throw signal.reason
    const error = asTroupeError(thrown)
    if (isFatal(error)) throw error
    error.step ??= key
    x.journal.append('step:error', { key, v, input_hash, error: error.toJSON() })
    throw error
  }
}

/** A value that is there at once: remembered as a step is, and nothing to wait for. */
async function noted<T>({ x, key, signal }: StepSite, read: () => T): Promise<T> {
  x.claim(key)
  const settled = x.recorded.settled(key)
  if (isEvent(settled, 'step:end')) return settled.data.result as T
  if (x.ports.sealed) return untilAborted(new Promise<never>(() => {}), signal)
  signal.throwIfAborted()
  const result = read()
  x.journal.append('step:end', { key, v: 1, input_hash: null, result })
  return result
}

async function beginAction(x: Execution, key: string): Promise<void> {
  if (x.recorded.opened(key)) {
    throw new TroupeError('outcome_unknown', `the action '${key}' had begun when the run was interrupted`, {
      hint: 'it may or may not have taken effect, and was not repeated',
    })
  }
  await x.beforeAction()
  x.journal.append('step:begin', { key, kind: 'act' })
  await x.journal.committed('full')
  await x.holdsLease()
}

async function parallel<T, R>(
  items: readonly T[],
  limit: number,
  work: (item: T, index: number) => Promise<R>,
): Promise<Settled<R>[]> {
  const results: Settled<R>[] = new Array(items.length)
  let next = 0
  const worker = async () => {
    while (next < items.length) {
      const index = next++
      try {
        results[index] = { ok: true, value: await work(items[index] as T, index) }
      } catch (thrown) {
        const error = asTroupeError(thrown)
        if (isFatal(error)) throw error
        results[index] = { ok: false, error }
      }
    }
  }
  await Promise.all(Array.from({ length: Math.max(1, Math.min(limit, items.length)) }, worker))
  return results
}

async function first(x: Execution, key: string, branches: Readonly<Record<string, Promise<unknown>>>): Promise<string> {
  x.claim(key)
  const settled = x.recorded.settled(key)
  if (isEvent(settled, 'step:end')) return settled.data.result as string
  const finished = Object.entries(branches).map(([name, branch]) =>
    branch.then(
      () => name,
      () => name,
    ),
  )
  const winner = await Promise.race(finished)
  x.journal.append('step:end', { key, v: 1, input_hash: null, result: winner })
  return winner
}

async function runPattern(x: Execution, name: string, input: unknown, context: Context): Promise<unknown> {
  const pattern = x.ports.patterns.get(name)
  if (!pattern) throw unknownName('unknown_pattern', 'pattern', name, [...x.ports.patterns.keys()])
  const parsed = pattern.input.safeParse(input)
  if (!parsed.success)
    throw new TroupeError('invalid_input', `the input of ${name} does not fit: ${problemsOf(parsed.error)}`)
  pattern.check?.(context.roster, parsed.data as never)
  const result = await pattern.execute(context, parsed.data as never)
  // With the step of the error below: whoever resumes the run tries that again.
  if (!result.success) {
    throw result.detail ? fromRecord(result.detail) : new TroupeError('tool_failed', result.error ?? `${name} failed`)
  }
  return result.output
}

async function writeArtifact(
  x: Execution,
  key: string,
  caller: Caller | undefined,
  artifact: { name: string; content: string; media_type?: string },
) {
  x.claim(key)
  let event: Event | undefined = x.recorded.settled(key)
  if (!event) {
    const version = (x.recorded.artifactVersions.get(artifact.name) ?? 0) + 1
    event = x.journal.append(
      'artifact:write',
      {
        key,
        name: artifact.name,
        version,
        media_type: artifact.media_type ?? 'text/plain',
        content: artifact.content,
        checksum: sha256(artifact.content),
        by: caller?.open.agent.name ?? 'pattern',
      },
      caller?.session_id,
    )
    x.recorded.add(event)
  }
  if (!isEvent(event, 'artifact:write')) throw new TroupeError('internal', `'${key}' is not an artifact`)
  const { name, version, checksum, content } = event.data
  return { name, version, checksum, size: Buffer.byteLength(content) }
}

/** The version is remembered, the content is read again: a journal does not hold a piece of work twice. */
async function readArtifact(site: StepSite, { name, version }: { name: string; version?: number }) {
  const { x } = site
  const read = async (wanted?: number) => {
    await x.journal.committed()
    return x.ports.artifact(x.run.id, name, wanted)
  }
  const found = await step<number | null>(site, async () => (await read(version))?.version ?? null)
  return found === null ? undefined : x.recall(() => read(found))
}
