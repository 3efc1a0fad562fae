import type { EndedRun, ReopenOptions } from '../engine/engine.ts'
import { checkGateAnswer } from '../engine/gate-answer.ts'
import { parseLimits } from '../engine/parse-limits.ts'
import type { ReplayReport } from '../engine/replay-run.ts'
import { streamRun } from '../engine/run-stream.ts'
import { closedError, TroupeError, toTroupeError, unknownNameError } from '../errors.ts'
import type { ForkChanges, RunStart } from '../kernel/event.ts'
import { JOURNAL_FORMAT } from '../kernel/event.ts'
import { parsePatternInput } from '../kernel/run-input.ts'
import type { SteerAction } from '../kernel/steer-action.ts'
import { startTurns } from '../performers/start-turns.ts'
import { checkCallOptions } from './check-option-names.ts'
import { checkLimits, parseRunContext, parseTags } from './parse-run-metadata.ts'
import type { AnswerOptions, RunHandle, RunOptions, RunResult, SteerOptions } from './run-handle.ts'
import { endedRunResult, readRunResult, requireGate, requireRun } from './run-lookup.ts'
import type { RunReader } from './run-reader.ts'
import type { ExecutionParts, RuntimeParts } from './runtime-parts.ts'
import { WaitingNotices } from './waiting-requests.ts'

export type RunParts = RuntimeParts & ExecutionParts

/** The parts that the operations on runs work with. */
export interface RunController extends RunReader {
  parts: RunParts
}

/** A request to start a run. */
export interface RunRequest {
  pattern: string
  input: unknown
  options: RunOptions | undefined
}

export async function startRun(controller: RunController, request: RunRequest): Promise<RunHandle> {
  const { world, engine } = controller.parts
  const signal = request.options?.signal
  const data = await runStartFrom(controller.parts, request)
  const run_id = `r_${world.randomHex(6)}`
  const started = await engine.start({ run_id, seq: 1, at: world.now(), type: 'run:start', data })
  const cancel = () => void handle.cancel(toTroupeError(signal?.reason).message).catch(() => {})
  const stopListening = () => signal?.removeEventListener('abort', cancel)
  const handle = createHandle(controller, run_id, () => started.done.finally(stopListening))
  signal?.addEventListener('abort', cancel, { once: true })
  // The signal may have been aborted while the engine was loaded or `run:start` was written.
  if (signal?.aborted) cancel()
  return handle
}

/** Validates the request and returns the data of `run:start`. Nothing is written if it throws. */
async function runStartFrom(
  { patterns, ports, project, limits, policy, customModels }: RunParts,
  { pattern: name, input, options = {} }: RunRequest,
): Promise<RunStart> {
  const pattern = patterns.find((candidate) => candidate.name === name)
  const known = patterns.map((candidate) => candidate.name)
  if (!pattern) throw unknownNameError('unknown_pattern', { kind: 'pattern', name, known })
  await pattern.complete?.()
  const parsed = parsePatternInput(pattern, input)
  await ports.roster.refresh?.()
  await pattern.check?.(ports.roster, parsed as never)
  const model = options.model === undefined ? undefined : await customModels.nameOf(options.model, 'model')
  const needs = ports.host.needsFor(model)
  const { protectedPaths = [] } = ports.host
  return {
    format: JOURNAL_FORMAT,
    project,
    pattern: name,
    version: pattern.version,
    input: parsed,
    limits: options.limits === undefined ? limits : parseLimits(limits, options.limits),
    ...(model === undefined ? undefined : { model }),
    ...(options.tags === undefined ? undefined : { tags: parseTags(options.tags) }),
    ...(options.context === undefined ? undefined : { context: parseRunContext(options.context) }),
    ...(ports.workspace === undefined ? undefined : { workspace: ports.workspace }),
    ...(protectedPaths.length === 0 ? undefined : { protected_paths: [...protectedPaths] }),
    ...(Object.keys(policy).length === 0 ? undefined : { permissions: policy }),
    ...(needs ? { needs } : undefined),
  }
}

export async function resumeRun(
  controller: RunController,
  run_id: string,
  options: Partial<ReopenOptions> = {},
): Promise<RunHandle> {
  checkCallOptions('resume', options)
  const { limits = {}, force = false } = options
  const { store, project, engine } = controller.parts
  const row = await requireRun(store, project, run_id)
  const incomplete = row.status === 'completed' && (await readRunResult(controller.parts, run_id)).incomplete
  if (row.status === 'cancelled' || (row.status === 'completed' && !incomplete)) return idleHandle(controller, run_id)
  const changesLimits = Object.keys(limits).length > 0
  if (changesLimits && engine.active.includes(run_id)) {
    throw new TroupeError('run_busy', `\`limits\` of run ${run_id} cannot change while it is running`, {
      hint: 'wait until it stops, or cancel it',
    })
  }
  checkLimits(limits)
  const reopen = row.status === 'failed' || incomplete || changesLimits ? { limits, force } : undefined
  return createHandle(controller, run_id, () => engine.submit(run_id, reopen))
}

export async function cancelRun(
  { parts }: RunController,
  run_id: string,
  { reason = '', by = 'user' }: { reason?: string | undefined; by?: string } = {},
): Promise<RunResult> {
  const { store, project, world, engine } = parts
  await requireRun(store, project, run_id)
  await store.enqueueCommand(run_id, { kind: 'cancel', reason, by }, world.now())
  await unlessBusy(engine.execute(run_id))
  return readRunResult({ store, world }, run_id)
}

export async function replayStoredRun({ parts }: RunController, run_id: string): Promise<ReplayReport> {
  const { store, project, ports } = parts
  await requireRun(store, project, run_id)
  const { replayRun } = await import('../engine/replay-run.ts')
  return replayRun({ store, ports, startTurns }, run_id)
}

export async function startFork(
  controller: RunController,
  run_id: string,
  { seq, changes = {} }: { seq: number; changes?: ForkChanges | undefined },
): Promise<RunHandle> {
  const { store, project, ports, engine } = controller.parts
  await requireRun(store, project, run_id)
  const { forkRun } = await import('../engine/fork-run.ts')
  const fork = await forkRun({ store, ...ports }, run_id, { cut: seq, changes })
  return createHandle(controller, fork, () => engine.submit(fork))
}

export async function answerGate(
  controller: RunController,
  { gate_id, answer }: { gate_id: string; answer: unknown },
  options: AnswerOptions = {},
): Promise<RunHandle> {
  checkCallOptions('answer', options)
  const { by = 'user', resume = true } = options
  const { store, project, world } = controller.parts
  const gate = await requireGate(store, project, gate_id)
  checkGateAnswer(gate, answer)
  if (resume) await checkContinues(controller.parts, gate.run_id)
  await store.enqueueCommand(gate.run_id, { kind: 'answer', gate_id, answer, by }, world.now())
  return resume ? continueRun(controller, gate.run_id) : idleHandle(controller, gate.run_id)
}

export async function sendSteering(
  controller: RunController,
  { run_id, action }: { run_id: string; action: SteerAction },
  options: SteerOptions = {},
): Promise<RunHandle> {
  checkCallOptions('steer', options)
  const { by = 'user', resume = true, mayAnswer } = options
  const { store, project, ports, engine, world } = controller.parts
  await requireRun(store, project, run_id)
  const { steerRun } = await import('../engine/steer-run.ts')
  const beforeAnswer = resume ? () => checkContinues(controller.parts, run_id) : undefined
  const deps = { store, patterns: ports.patterns, now: () => world.now(), beforeAnswer }
  const answered = await steerRun(deps, run_id, { action, by, mayAnswer })
  const continues = (answered.answered_gate !== undefined && resume) || engine.active.includes(run_id)
  return Object.assign(continues ? continueRun(controller, run_id) : idleHandle(controller, run_id), answered)
}

type NotContinued = Required<Pick<RunResult, 'not_continued'>>

/**
 * `work` resolves when the run has ended or is left. It begins at once; where the engine only submits, which polls the store, it begins
 * when somebody waits.
 */
function createHandle(
  controller: RunController,
  run_id: string,
  work: () => Promise<EndedRun | NotContinued | undefined>,
): RunHandle {
  const { parts, tails, waiting, closing } = controller
  const { engine, store, world } = parts
  const read = async () => {
    const ended = await work()
    return ended && 'end' in ended
      ? endedRunResult(ended)
      : { ...(await readRunResult({ store, world }, run_id)), ...ended }
  }
  let result: Promise<RunResult> | undefined
  const wait = () => {
    if (!result && closing.signal.aborted && engine.onlySubmits) return Promise.reject(closedError('result'))
    result ??= trackResult(controller, read())
    return result
  }
  const readHead = async () => (await store.run(run_id))?.head ?? 0
  const readWaiting = async () => (await waiting.get()).read(run_id)
  const openNotices = (ring: () => void) => new WaitingNotices(world, { read: readWaiting, ring })
  if (!engine.onlySubmits) void wait()
  return {
    run_id,
    get result() {
      return wait()
    },
    cancel: async (reason) => {
      if (closing.signal.aborted) throw closedError('cancel')
      return cancelRun(controller, run_id, { reason })
    },
    async *[Symbol.asyncIterator]() {
      if (closing.signal.aborted) throw closedError('stream')
      yield* streamRun({ engine, tails, readHead, openNotices }, run_id, wait())
    },
  }
}

/** Not everybody waits for a result: an unhandled rejection would end the process. */
function trackResult({ pendingResults }: RunController, result: Promise<RunResult>): Promise<RunResult> {
  const settled = result.then(
    () => undefined,
    () => undefined,
  )
  pendingResults.add(settled)
  void settled.then(() => pendingResults.delete(settled))
  return result
}

/** A handle for a run that this call does not execute. */
function idleHandle(controller: RunController, run_id: string): RunHandle {
  return createHandle(controller, run_id, async () => undefined)
}

/** Takes a run that waits for a process and executes it here. */
export async function claimRun(
  controller: RunController,
  passOver?: ReadonlySet<string>,
): Promise<RunHandle | undefined> {
  const { engine, project } = controller.parts
  const claimed = await engine.claim(project, passOver)
  return claimed && createHandle(controller, claimed.run_id, () => claimed.done)
}

/** Executes a run that got an answer, unless this process lacks what it needs: the answer is stored in any case. */
function continueRun(controller: RunController, run_id: string): RunHandle {
  const { engine } = controller.parts
  const work = () =>
    unlessBusy(engine.submit(run_id)).catch((thrown: unknown): NotContinued => {
      const problem = toTroupeError(thrown)
      if (problem.code !== 'needs_missing') throw thrown
      return { not_continued: problem.toJSON() }
    })
  return createHandle(controller, run_id, work)
}

/** Rejects if the run could not be executed with the answer: it would be stored, and could not be given again. */
async function checkContinues({ engine }: RunParts, run_id: string): Promise<void> {
  await engine.check?.(run_id).catch((thrown: unknown) => {
    if (toTroupeError(thrown).code !== 'needs_missing') throw thrown
  })
}

/** Ignores `run_busy`: the process that executes the run will read the command. */
function unlessBusy(work: Promise<EndedRun | undefined>): Promise<EndedRun | undefined> {
  return work.catch((error: unknown) => {
    if (!(error instanceof TroupeError) || error.code !== 'run_busy') throw error
    return undefined
  })
}
