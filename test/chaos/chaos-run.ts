import type { RunResult, Troupe, TroupeOptions } from '../../src/index.ts'
import type { Event } from '../../src/kernel/event.ts'
import { isEvent } from '../../src/kernel/event.ts'
import type { Command, CommandBody, SessionRow, Store } from '../../src/store/store.ts'
import type { Respond } from './reference-model.ts'
import { RUN_ID, startEvent } from './reference-run.ts'
import { SimulatedDisk } from './simulated-disk.ts'
import type { Fault, ProcessPlan } from './simulated-process.ts'
import { ExternalLedger, SimulatedProcess } from './simulated-process.ts'

/** One fault per process; processes after the last fault run undisturbed. */
export interface ChaosPlan {
  seed: number
  faults: readonly Fault[]
  latency: ProcessPlan['latency']
  /** The user answers a gate when the run is parked, as soon as the gate opens, or the latter from another process. */
  answer_timing: 'parked' | 'early' | 'elsewhere'
  /** Delay before an answer, unless `answer_timing` is `parked`. */
  answer_delay_ms: number
  skip_recovery?: boolean
  /** Replaces the reference run. */
  scenario?: RunScenario
}

export interface RunScenario {
  start(at: number): Event
  /** Commands queued before the first process starts. */
  commands: readonly CommandBody[]
  respond: Respond
  options?: TroupeOptions
  /** User messages, each sent `delay_ms` after the previous one; repeated only if the command was lost. */
  later_messages?: readonly { delay_ms: number; text: string }[]
}

/** Everything that the oracle checks after the last process. */
/** Whether a run gave its result, all or a part of it. */
export function isComplete(result: RunResult | undefined): boolean {
  return result?.status === 'completed' || result?.status === 'partial'
}

export interface ChaosResult {
  plan: ChaosPlan
  result: RunResult | undefined
  journal: Event[]
  sessions: SessionRow[]
  commands?: Command[]
  /** The store after the last process. */
  store?: Store
  ledger: ExternalLedger
  /** Number of model requests in flight when a process ended. */
  inFlight: number
  /** Boundaries passed by each process. */
  processes: string[][]
  /** Errors of processes that were not killed. */
  errors: unknown[]
  /** Events that required a full sync and did not get one. */
  unsynced: readonly string[]
}

const START = Date.UTC(2030, 0, 1)
const MAX_PROCESSES = 12

/** Executes a run under a plan, starting new processes until it has completed. */
export async function runChaos(plan: ChaosPlan): Promise<ChaosResult> {
  const disk = new SimulatedDisk()
  const ledger = new ExternalLedger(disk)
  await disk.change(true, (store) => store.createRun((plan.scenario?.start ?? startEvent)(START)))
  for (const body of plan.scenario?.commands ?? []) {
    await disk.change(true, (store) => store.enqueueCommand(RUN_ID, body, START))
  }
  const outcome: ChaosResult = {
    plan,
    result: undefined,
    journal: [],
    sessions: [],
    commands: [],
    ledger,
    inFlight: 0,
    processes: [],
    errors: [],
    unsynced: disk.unsynced,
  }
  let start = START
  for (let index = 0; index < MAX_PROCESSES && !isComplete(outcome.result); index++) {
    const fault = plan.faults[index] ?? { kind: 'none' as const }
    const simulated = new SimulatedProcess(
      toProcessPlan(plan, { seed: plan.seed * 16 + index, start, fault }),
      disk,
      ledger,
    )
    const callsBefore = ledger.calls.length
    outcome.processes.push(simulated.boundaries)
    const running = driveRun(simulated, plan, await openTroupes(simulated, plan))
    const finished =
      fault.kind === 'suspend'
        ? await takeOverRun({ suspended: simulated, running, disk, outcome })
        : await awaitOutcome(simulated, running)
    if (finished.result) outcome.result = finished.result
    if (finished.error !== undefined && !simulated.dead) outcome.errors.push(finished.error)
    if (finished.error === undefined && (await missedWakeUp(disk)))
      outcome.errors.push(new Error('the answer did not wake the run'))
    outcome.inFlight += ledger.countUnanswered(callsBefore)
    await simulated.applyFaultToDisk()
    start = await restartTime(disk, simulated.world.now())
  }
  outcome.journal = await disk.journal(RUN_ID)
  outcome.store = disk.store
  outcome.commands = await disk.store.commands(RUN_ID, 0)
  outcome.sessions = await disk.store.sessions({ project: 'default', run_id: RUN_ID })
  return outcome
}

function toProcessPlan(
  { scenario, ...plan }: ChaosPlan,
  own: Pick<ProcessPlan, 'seed' | 'start' | 'fault'>,
): ProcessPlan {
  return {
    ...plan,
    ...own,
    ...(scenario ? { respond: scenario.respond, options: scenario.options ?? {} } : undefined),
  }
}

interface ProcessOutcome {
  result?: RunResult
  error?: unknown
}

async function awaitOutcome(simulated: SimulatedProcess, running: Promise<RunResult>): Promise<ProcessOutcome> {
  try {
    return { result: await simulated.world.runUntil(running) }
  } catch (error) {
    return { error }
  }
}

interface Suspension {
  suspended: SimulatedProcess
  running: Promise<RunResult>
  disk: SimulatedDisk
  outcome: ChaosResult
}

/** A process is suspended; another one takes over the run, executes some tasks, and then both run (zombie writer). */
async function takeOverRun({ suspended, running, disk, outcome }: Suspension): Promise<ProcessOutcome> {
  const first = await awaitOutcome(suspended, Promise.race([running, suspended.frozen.promise]) as Promise<RunResult>)
  if (first.error !== undefined || typeof first.result === 'object') return first
  const { plan, ledger } = outcome
  for (const key of suspended.active_calls) ledger.suspended_calls.add(key)
  const started = new Set(ledger.calls.map(({ key }) => key))
  const pending = [...suspended.active_calls].filter((key) => key.endsWith('/model') && !started.has(key))
  outcome.inFlight += ledger.countUnanswered(0) + pending.length
  const fault = plan.faults[outcome.processes.length - 1]
  const start = await restartTime(disk, suspended.world.now())
  const other = new SimulatedProcess(
    toProcessPlan(plan, { seed: plan.seed * 16 + 9, start, fault: { kind: 'none' } }),
    disk,
    ledger,
  )
  outcome.processes.push(other.boundaries)
  const otherRunning = driveRun(other, plan, await openTroupes(other, plan))
  const outcomes = Promise.all([captureOutcome(running), captureOutcome(otherRunning)])
  let bothEnded = false
  void outcomes.then(() => {
    bothEnded = true
  })
  let otherEnded = false
  void captureOutcome(otherRunning).then(() => {
    otherEnded = true
  })
  const headStart = fault?.kind === 'suspend' ? fault.steps : 0
  for (let steps = 0; steps < headStart && !otherEnded; steps++) await other.world.step()
  suspended.world.suspend(Math.max(0, other.world.now() - suspended.world.now()))
  suspended.thaw()
  for (let steps = 0, idle = 0; !bothEnded && idle < 200 && steps < 20_000; steps++) {
    const progress = [await other.world.step(), await suspended.world.step()]
    idle = progress.includes(true) ? 0 : idle + 1
  }
  if (!bothEnded) return { error: new Error('deadlock between two processes') }
  const [, otherOutcome] = await outcomes
  return otherOutcome
}

async function captureOutcome(running: Promise<RunResult>): Promise<ProcessOutcome> {
  try {
    return { result: await running }
  } catch (error) {
    return { error }
  }
}

interface OpenTroupes {
  local: Troupe
  /** Receives the user's answers: another troupe on the same store, or the local one. */
  remote: Troupe
}

async function openTroupes(simulated: SimulatedProcess, plan: ChaosPlan): Promise<OpenTroupes> {
  const local = await simulated.open()
  return { local, remote: plan.answer_timing === 'elsewhere' ? await simulated.open() : local }
}

/** The program of a process: resumes the run and answers its gates. */
async function driveRun(
  simulated: SimulatedProcess,
  plan: ChaosPlan,
  { local, remote }: OpenTroupes,
): Promise<RunResult> {
  const troupe = local
  const run_state = { lost: false }
  const answering =
    plan.answer_timing === 'parked' ? Promise.resolve() : answerQuestions(simulated, remote, { plan, run_state })
  answering.catch(() => {})
  void sendLaterMessages(simulated, remote, plan.scenario?.later_messages ?? []).catch(() => {})
  const first = await captureOutcome(troupe.resume(RUN_ID, { force: true }).then((handle) => handle.result))
  // The answering troupe may have resumed the run meanwhile: wait for it.
  run_state.lost = !first.result
  if (!first.result) await answering
  if (!first.result) throw first.error
  let { result } = first
  if (plan.answer_timing !== 'parked') {
    await answering
    result = await troupe.result(RUN_ID)
    if (result.status !== 'waiting') return result
    if (await hasPendingAnswer(simulated.store)) return result
  }
  while (result.status === 'waiting') {
    const [gate] = result.gates
    if (!gate) throw new Error('the run waits without an open gate')
    const handle = await troupe.answer(gate.gate_id, 'yes').catch(ignoreLateAnswer)
    result = await (handle ?? (await troupe.resume(RUN_ID))).result
  }
  return result
}

/** True if the journal lacks an answer that is in the command queue. */
async function hasPendingAnswer(store: Store): Promise<boolean> {
  const answers = (await store.commands(RUN_ID, 0)).flatMap(({ body }) => (body.kind === 'answer' ? body.gate_id : []))
  const recorded = (await store.events(RUN_ID)).flatMap((event) =>
    isEvent(event, 'gate:answer') ? event.data.gate_id : [],
  )
  return answers.some((gate_id) => !recorded.includes(gate_id))
}

/** True if the run still waits although its answer arrived and no process was killed: a lost wake-up. */
async function missedWakeUp(disk: SimulatedDisk): Promise<boolean> {
  const row = await disk.store.run(RUN_ID)
  return row?.status === 'waiting' && (await hasPendingAnswer(disk.store))
}

interface AnswerContext {
  plan: ChaosPlan
  /** Lost when no process executes the run any more. */
  run_state: { lost: boolean }
}

async function sendLaterMessages(
  simulated: SimulatedProcess,
  troupe: Troupe,
  messages: NonNullable<RunScenario['later_messages']>,
): Promise<void> {
  for (const [index, { delay_ms, text }] of messages.entries()) {
    await simulated.world.sleep(delay_ms)
    const actions = (await simulated.store.commands(RUN_ID, 0)).flatMap(({ body }) =>
      body.kind === 'steer' ? body.action : [],
    )
    if (actions.filter((action) => action.do === 'say').length > index) continue
    await troupe.steer(RUN_ID, { do: 'say', text })
  }
}

/** Answers every gate as soon as the store shows it. */
async function answerQuestions(
  simulated: SimulatedProcess,
  troupe: Troupe,
  { plan, run_state }: AnswerContext,
): Promise<void> {
  const answered = new Set<string>()
  while (!run_state.lost) {
    const row = await simulated.store.run(RUN_ID)
    if (row && row.ended_at !== null) return
    const gate = (await simulated.store.openGates({ run_id: RUN_ID })).find(({ gate_id }) => !answered.has(gate_id))
    if (gate) {
      await simulated.world.sleep(plan.answer_delay_ms)
      answered.add(gate.gate_id)
      const handle = await troupe.answer(gate.gate_id, 'yes').catch(ignoreLateAnswer)
      await handle?.result
    } else if (answered.size > 0 && row?.status === 'waiting') return
    else await simulated.world.sleep(plan.latency.store === 0 ? 1 : plan.latency.store)
  }
}

function ignoreLateAnswer(error: { code?: string }): undefined {
  if (error.code !== 'gate_answered' && error.code !== 'run_ended') throw error
}

/** The next process starts when the lease of the last one has expired. */
async function restartTime(disk: SimulatedDisk, now: number): Promise<number> {
  const row = await disk.store.run(RUN_ID)
  return Math.max(now, row?.lease_until ?? 0) + 1
}
