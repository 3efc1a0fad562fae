import type { RunResult, Troupe, TroupeOptions } from '../../src/index.ts'
import type { Event } from '../../src/kernel/event.ts'
import { isEvent } from '../../src/kernel/event.ts'
import type { Command, CommandBody, SessionRow, Store } from '../../src/store/store.ts'
import { Disk } from './disk.ts'
import type { Fault, LifePlan } from './life.ts'
import { Ledger, Life } from './life.ts'
import { RUN_ID, startEvent } from './reference.ts'
import type { Answers } from './reference-model.ts'

/** How a run is disturbed, one fault for each life; after those, nothing more happens to it. */
export interface Plan {
  seed: number
  faults: readonly Fault[]
  slow: LifePlan['slow']
  /** When the person answers: once the run waits, as soon as the question is there, or that at another process. */
  answers: 'parked' | 'early' | 'elsewhere'
  /** How long the person thinks, when not waiting for the run to wait. */
  thinks: number
  careless?: boolean
  /** Another run than the reference run: how it starts, what is asked of it first, and what its models say. */
  other?: OtherRun
}

export interface OtherRun {
  start(at: number): Event
  commands: readonly CommandBody[]
  answers: Answers
  options?: TroupeOptions
  /** What a person says to the run, and how long after what came before; said again only if it was not written down. */
  later?: readonly { after: number; text: string }[]
}

/** What is left when everything is over, for the oracle. */
export interface Played {
  plan: Plan
  result: RunResult | undefined
  journal: Event[]
  sessions: SessionRow[]
  /** What people had asked of it. */
  commands?: Command[]
  ledger: Ledger
  /** Model calls in flight when a process ended. */
  inFlight: number
  /** Boundaries of each life. */
  lives: string[][]
  /** What a process died of that nobody had killed. */
  errors: unknown[]
  /** Events that a power failure would have taken back and must not. */
  unsynced: readonly string[]
}

const START = Date.UTC(2030, 0, 1)
const MOST_LIVES = 12

/** Plays the reference run under a plan, restarting it until it has ended. */
export async function play(plan: Plan): Promise<Played> {
  const disk = new Disk()
  const ledger = new Ledger(disk)
  await disk.change(true, (store) => store.createRun((plan.other?.start ?? startEvent)(START)))
  for (const body of plan.other?.commands ?? []) {
    await disk.change(true, (store) => store.command(RUN_ID, body, START))
  }
  const played: Played = {
    plan,
    result: undefined,
    journal: [],
    sessions: [],
    commands: [],
    ledger,
    inFlight: 0,
    lives: [],
    errors: [],
    unsynced: disk.unsynced,
  }
  let start = START
  for (let n = 0; n < MOST_LIVES && played.result?.status !== 'completed'; n++) {
    const fault = plan.faults[n] ?? { kind: 'none' as const }
    const life = new Life(lifePlan(plan, { seed: plan.seed * 16 + n, start, fault }), disk, ledger)
    const made = ledger.calls.length
    played.lives.push(life.passed)
    const work = live(life, plan, await openAt(life, plan))
    const took = fault.kind === 'suspend' ? await takeOver(life, work, disk, played) : await settled(life, work)
    if (took.result) played.result = took.result
    if (took.error !== undefined && !life.dead) played.errors.push(took.error)
    if (took.error === undefined && (await sleepsOn(disk))) played.errors.push(new Error('the answer woke nobody'))
    played.inFlight += ledger.unanswered(made)
    await life.after()
    start = await restartAt(disk, life.world.now())
  }
  played.journal = await disk.journal(RUN_ID)
  played.commands = await disk.store.commands(RUN_ID, 0)
  played.sessions = await disk.store.sessions({ project: 'default', run_id: RUN_ID })
  return played
}

function lifePlan({ other, ...plan }: Plan, life: Pick<LifePlan, 'seed' | 'start' | 'fault'>): LifePlan {
  return { ...plan, ...life, ...(other ? { answers_of: other.answers, options: other.options ?? {} } : undefined) }
}

interface Outcome {
  result?: RunResult
  error?: unknown
}

async function settled(life: Life, work: Promise<RunResult>): Promise<Outcome> {
  try {
    return { result: await life.world.run(work) }
  } catch (error) {
    return { error }
  }
}

/** The process freezes; another one takes the run, gets some tasks ahead, and then both are awake. */
async function takeOver(frozen: Life, work: Promise<RunResult>, disk: Disk, played: Played): Promise<Outcome> {
  const first = await settled(frozen, Promise.race([work, frozen.frozen.promise]) as Promise<RunResult>)
  if (first.error !== undefined || typeof first.result === 'object') return first
  const { plan, ledger } = played
  for (const key of frozen.inside) ledger.asleep.add(key)
  const called = new Set(ledger.calls.map(({ key }) => key))
  const aboutTo = [...frozen.inside].filter((key) => key.endsWith('/model') && !called.has(key))
  played.inFlight += ledger.unanswered(0) + aboutTo.length
  const fault = plan.faults[played.lives.length - 1]
  const start = await restartAt(disk, frozen.world.now())
  const other = new Life(lifePlan(plan, { seed: plan.seed * 16 + 9, start, fault: { kind: 'none' } }), disk, ledger)
  played.lives.push(other.passed)
  const working = live(other, plan, await openAt(other, plan))
  const outcomes = Promise.all([outcomeOf(work), outcomeOf(working)])
  let over = false
  void outcomes.then(() => {
    over = true
  })
  let otherOver = false
  void outcomeOf(working).then(() => {
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

async function outcomeOf(work: Promise<RunResult>): Promise<Outcome> {
  try {
    return { result: await work }
  } catch (error) {
    return { error }
  }
}

interface Opened {
  here: Troupe
  /** Where the person answers: another process on the same store, or this one. */
  there: Troupe
}

async function openAt(life: Life, plan: Plan): Promise<Opened> {
  const here = await life.open()
  return { here, there: plan.answers === 'elsewhere' ? await life.open() : here }
}

/** What the program of a process does: goes on with the run, and answers its question. */
async function live(life: Life, plan: Plan, { here, there }: Opened): Promise<RunResult> {
  const troupe = here
  const hope = { lost: false }
  const answering = plan.answers === 'parked' ? Promise.resolve() : answerEarly(life, there, { plan, hope })
  answering.catch(() => {})
  void sayLater(life, there, plan.other?.later ?? []).catch(() => {})
  const first = await outcomeOf(troupe.resume(RUN_ID, { force: true }).then((handle) => handle.result))
  // Whoever answers may have taken the run up meanwhile, and is not left alone with it.
  hope.lost = !first.result
  if (!first.result) await answering
  if (!first.result) throw first.error
  let { result } = first
  if (plan.answers !== 'parked') {
    await answering
    result = await troupe.result(RUN_ID)
    if (result.status !== 'waiting') return result
    if (await isUnheard(life.store)) return result
  }
  while (result.status === 'waiting') {
    const [gate] = result.gates
    if (!gate) throw new Error('the run waits and asks nothing')
    const mine = await troupe.answer(gate.gate_id, 'yes').catch(tooLate)
    result = await (mine ?? (await troupe.resume(RUN_ID))).result
  }
  return result
}

/** Whether there is an answer that the run has not taken up. */
async function isUnheard(store: Store): Promise<boolean> {
  const answers = (await store.commands(RUN_ID, 0)).flatMap(({ body }) => (body.kind === 'answer' ? body.gate_id : []))
  const heard = (await store.events(RUN_ID)).flatMap((event) =>
    isEvent(event, 'gate:answer') ? event.data.gate_id : [],
  )
  return answers.some((gate_id) => !heard.includes(gate_id))
}

/** Everyone has gone home, nobody was killed, the answer is there, and the run still waits. */
async function sleepsOn(disk: Disk): Promise<boolean> {
  const row = await disk.store.run(RUN_ID)
  return row?.status === 'waiting' && (await isUnheard(disk.store))
}

interface Waiting {
  plan: Plan
  /** Lost when nobody works on the run any more who could still ask. */
  hope: { lost: boolean }
}

async function sayLater(life: Life, at: Troupe, later: NonNullable<OtherRun['later']>): Promise<void> {
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
async function answerEarly(life: Life, at: Troupe, { plan, hope }: Waiting): Promise<void> {
  const answered = new Set<string>()
  while (!hope.lost) {
    const row = await life.store.run(RUN_ID)
    if (row && row.ended_at !== null) return
    const gate = (await life.store.openGates({ run_id: RUN_ID })).find(({ gate_id }) => !answered.has(gate_id))
    if (gate) {
      await life.world.sleep(plan.thinks)
      answered.add(gate.gate_id)
      const handle = await at.answer(gate.gate_id, 'yes').catch(tooLate)
      await handle?.result
    } else if (answered.size > 0 && row?.status === 'waiting') return
    else await life.world.sleep(plan.slow.store === 0 ? 1 : plan.slow.store)
  }
}

function tooLate(error: { code?: string }): undefined {
  if (error.code !== 'gate_answered' && error.code !== 'run_ended') throw error
}

/** When a process may be started again: once the lease of the last one has run out. */
async function restartAt(disk: Disk, now: number): Promise<number> {
  const row = await disk.store.run(RUN_ID)
  return Math.max(now, row?.lease_until ?? 0) + 1
}
