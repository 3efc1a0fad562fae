import type { RunResult, Troupe, TroupeOptions } from '../../src/index.ts'
import type { Event } from '../../src/kernel/event.ts'
import { isEvent } from '../../src/kernel/event.ts'
import type { Command, CommandBody, SessionRow, Store } from '../../src/store/store.ts'
import type { Respond } from './reference-model.ts'
import { RUN_ID, startEvent } from './reference-run.ts'
import { SimulatedDisk } from './simulated-disk.ts'
import type { Fault, ProcessPlan } from './simulated-process.ts'
import { ExternalLedger, SimulatedProcess } from './simulated-process.ts'

/** How a run is disturbed, one fault for each life; after those, nothing more happens to it. */
export interface ChaosPlan {
  seed: number
  faults: readonly Fault[]
  slow: ProcessPlan['slow']
  /** When the person answers: once the run waits, as soon as the question is there, or that at another process. */
  answer_timing: 'parked' | 'early' | 'elsewhere'
  /** How long the person thinks, when not waiting for the run to wait. */
  answer_delay_ms: number
  skip_recovery?: boolean
  /** Another run than the reference run: how it starts, what is asked of it first, and what its models say. */
  scenario?: RunScenario
}

export interface RunScenario {
  start(at: number): Event
  commands: readonly CommandBody[]
  respond: Respond
  options?: TroupeOptions
  /** What a person says to the run, and how long after what came before; said again only if it was not written down. */
  later_messages?: readonly { after: number; text: string }[]
}

/** What is left when everything is over, for the oracle. */
export interface ChaosResult {
  plan: ChaosPlan
  result: RunResult | undefined
  journal: Event[]
  sessions: SessionRow[]
  /** What people had asked of it. */
  commands?: Command[]
  ledger: ExternalLedger
  /** Model calls in flight when a process ended. */
  inFlight: number
  /** Boundaries of each life. */
  processes: string[][]
  /** What a process died of that nobody had killed. */
  errors: unknown[]
  /** Events that a power failure would have taken back and must not. */
  unsynced: readonly string[]
}

const START = Date.UTC(2030, 0, 1)
const MAX_PROCESSES = 12

/** Plays the reference run under a plan, restarting it until it has ended. */
export async function runChaos(plan: ChaosPlan): Promise<ChaosResult> {
  const disk = new SimulatedDisk()
  const ledger = new ExternalLedger(disk)
  await disk.change(true, (store) => store.createRun((plan.scenario?.start ?? startEvent)(START)))
  for (const body of plan.scenario?.commands ?? []) {
    await disk.change(true, (store) => store.enqueueCommand(RUN_ID, body, START))
  }
  const played: ChaosResult = {
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
  for (let n = 0; n < MAX_PROCESSES && played.result?.status !== 'completed'; n++) {
    const fault = plan.faults[n] ?? { kind: 'none' as const }
    const life = new SimulatedProcess(toProcessPlan(plan, { seed: plan.seed * 16 + n, start, fault }), disk, ledger)
    const made = ledger.calls.length
    played.processes.push(life.boundaries)
    const work = driveRun(life, plan, await openTroupes(life, plan))
    const took = fault.kind === 'suspend' ? await takeOverRun(life, work, disk, played) : await awaitOutcome(life, work)
    if (took.result) played.result = took.result
    if (took.error !== undefined && !life.dead) played.errors.push(took.error)
    if (took.error === undefined && (await missedWakeUp(disk))) played.errors.push(new Error('the answer woke nobody'))
    played.inFlight += ledger.unanswered(made)
    await life.applyFaultToDisk()
    start = await restartTime(disk, life.world.now())
  }
  played.journal = await disk.journal(RUN_ID)
  played.commands = await disk.store.commands(RUN_ID, 0)
  played.sessions = await disk.store.sessions({ project: 'default', run_id: RUN_ID })
  return played
}

function toProcessPlan(
  { scenario, ...plan }: ChaosPlan,
  life: Pick<ProcessPlan, 'seed' | 'start' | 'fault'>,
): ProcessPlan {
  return {
    ...plan,
    ...life,
    ...(scenario ? { respond: scenario.respond, options: scenario.options ?? {} } : undefined),
  }
}

interface ProcessOutcome {
  result?: RunResult
  error?: unknown
}

async function awaitOutcome(life: SimulatedProcess, work: Promise<RunResult>): Promise<ProcessOutcome> {
  try {
    return { result: await life.world.runUntil(work) }
  } catch (error) {
    return { error }
  }
}

/** The process freezes; another one takes the run, gets some tasks ahead, and then both are awake. */
async function takeOverRun(
  frozen: SimulatedProcess,
  work: Promise<RunResult>,
  disk: SimulatedDisk,
  played: ChaosResult,
): Promise<ProcessOutcome> {
  const first = await awaitOutcome(frozen, Promise.race([work, frozen.frozen.promise]) as Promise<RunResult>)
  if (first.error !== undefined || typeof first.result === 'object') return first
  const { plan, ledger } = played
  for (const key of frozen.active_calls) ledger.suspended_calls.add(key)
  const called = new Set(ledger.calls.map(({ key }) => key))
  const aboutTo = [...frozen.active_calls].filter((key) => key.endsWith('/model') && !called.has(key))
  played.inFlight += ledger.unanswered(0) + aboutTo.length
  const fault = plan.faults[played.processes.length - 1]
  const start = await restartTime(disk, frozen.world.now())
  const other = new SimulatedProcess(
    toProcessPlan(plan, { seed: plan.seed * 16 + 9, start, fault: { kind: 'none' } }),
    disk,
    ledger,
  )
  played.processes.push(other.boundaries)
  const working = driveRun(other, plan, await openTroupes(other, plan))
  const outcomes = Promise.all([captureOutcome(work), captureOutcome(working)])
  let over = false
  void outcomes.then(() => {
    over = true
  })
  let otherOver = false
  void captureOutcome(working).then(() => {
    otherOver = true
  })
  const ahead = fault?.kind === 'suspend' ? fault.steps : 0
  for (let steps = 0; steps < ahead && !otherOver; steps++) await other.world.step()
  frozen.world.suspend(Math.max(0, other.world.now() - frozen.world.now()))
  frozen.thaw()
  for (let steps = 0, idle = 0; !over && idle < 200 && steps < 20_000; steps++) {
    const moved = [await other.world.step(), await frozen.world.step()]
    idle = moved.includes(true) ? 0 : idle + 1
  }
  if (!over) return { error: new Error('two processes wait for each other for ever') }
  const [, taken] = await outcomes
  return taken
}

async function captureOutcome(work: Promise<RunResult>): Promise<ProcessOutcome> {
  try {
    return { result: await work }
  } catch (error) {
    return { error }
  }
}

interface OpenTroupes {
  local: Troupe
  /** Where the person answers: another process on the same store, or this one. */
  remote: Troupe
}

async function openTroupes(life: SimulatedProcess, plan: ChaosPlan): Promise<OpenTroupes> {
  const local = await life.open()
  return { local, remote: plan.answer_timing === 'elsewhere' ? await life.open() : local }
}

/** What the program of a process does: goes on with the run, and answers its question. */
async function driveRun(life: SimulatedProcess, plan: ChaosPlan, { local, remote }: OpenTroupes): Promise<RunResult> {
  const troupe = local
  const run_state = { lost: false }
  const answering =
    plan.answer_timing === 'parked' ? Promise.resolve() : answerQuestions(life, remote, { plan, run_state })
  answering.catch(() => {})
  void sendLaterMessages(life, remote, plan.scenario?.later_messages ?? []).catch(() => {})
  const first = await captureOutcome(troupe.resume(RUN_ID, { force: true }).then((handle) => handle.result))
  // Whoever answers may have taken the run up meanwhile, and is not left alone with it.
  run_state.lost = !first.result
  if (!first.result) await answering
  if (!first.result) throw first.error
  let { result } = first
  if (plan.answer_timing !== 'parked') {
    await answering
    result = await troupe.result(RUN_ID)
    if (result.status !== 'waiting') return result
    if (await hasPendingAnswer(life.store)) return result
  }
  while (result.status === 'waiting') {
    const [gate] = result.gates
    if (!gate) throw new Error('the run waits and asks nothing')
    const mine = await troupe.answer(gate.gate_id, 'yes').catch(ignoreLateAnswer)
    result = await (mine ?? (await troupe.resume(RUN_ID))).result
  }
  return result
}

/** Whether there is an answer that the run has not taken up. */
async function hasPendingAnswer(store: Store): Promise<boolean> {
  const answers = (await store.commands(RUN_ID, 0)).flatMap(({ body }) => (body.kind === 'answer' ? body.gate_id : []))
  const heard = (await store.events(RUN_ID)).flatMap((event) =>
    isEvent(event, 'gate:answer') ? event.data.gate_id : [],
  )
  return answers.some((gate_id) => !heard.includes(gate_id))
}

/** Everyone has gone home, nobody was killed, the answer is there, and the run still waits. */
async function missedWakeUp(disk: SimulatedDisk): Promise<boolean> {
  const row = await disk.store.run(RUN_ID)
  return row?.status === 'waiting' && (await hasPendingAnswer(disk.store))
}

interface AnswerContext {
  plan: ChaosPlan
  /** Lost when nobody works on the run any more who could still ask. */
  run_state: { lost: boolean }
}

async function sendLaterMessages(
  life: SimulatedProcess,
  at: Troupe,
  later: NonNullable<RunScenario['later_messages']>,
): Promise<void> {
  for (const [index, { after, text }] of later.entries()) {
    await life.world.sleep(after)
    const said = (await life.store.commands(RUN_ID, 0)).flatMap(({ body }) =>
      body.kind === 'steer' ? body.action : [],
    )
    if (said.filter((action) => action.do === 'say').length > index) continue
    await at.steer(RUN_ID, { do: 'say', text })
  }
}

/** Answers every question the moment it can be seen, here or at another process. */
async function answerQuestions(life: SimulatedProcess, at: Troupe, { plan, run_state }: AnswerContext): Promise<void> {
  const answered = new Set<string>()
  while (!run_state.lost) {
    const row = await life.store.run(RUN_ID)
    if (row && row.ended_at !== null) return
    const gate = (await life.store.openGates({ run_id: RUN_ID })).find(({ gate_id }) => !answered.has(gate_id))
    if (gate) {
      await life.world.sleep(plan.answer_delay_ms)
      answered.add(gate.gate_id)
      const handle = await at.answer(gate.gate_id, 'yes').catch(ignoreLateAnswer)
      await handle?.result
    } else if (answered.size > 0 && row?.status === 'waiting') return
    else await life.world.sleep(plan.slow.store === 0 ? 1 : plan.slow.store)
  }
}

function ignoreLateAnswer(error: { code?: string }): undefined {
  if (error.code !== 'gate_answered' && error.code !== 'run_ended') throw error
}

/** When a process may be started again: once the lease of the last one has run out. */
async function restartTime(disk: SimulatedDisk, now: number): Promise<number> {
  const row = await disk.store.run(RUN_ID)
  return Math.max(now, row?.lease_until ?? 0) + 1
}
