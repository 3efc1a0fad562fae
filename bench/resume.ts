import { join } from 'node:path'
import type { Context } from '../src/kernel/context.ts'
import { openSqlite } from '../src/store/sqlite.ts'
import type { Store } from '../src/store/store.ts'
import { memoryStore } from '../test/support/memory-store.ts'
import type { Bench, Line } from './bench.ts'
import { assertEqual, atMost } from './bench.ts'
import type { Work } from './bench-engine.ts'
import { benchAgent, openBenchEngine } from './bench-engine.ts'
import type { ConversationPlan } from './plan.ts'
import { INSTRUCTION, planModel, planTool, RESPONSE } from './plan.ts'
import type { Contender } from './rounds.ts'
import { findFigure, measureMs, runRounds } from './rounds.ts'

/*
 * A run executes its steps and parks at a gate. The gate is answered, the store closed and opened again, and the run
 * resumed. Measures from opening the store to the end of the run. No step may be executed twice.
 */

interface ResumeCase {
  label: string
  plan: ConversationPlan
  /** Executes the steps and calls `onEffect` for each that is not replayed. */
  work(context: Context, onEffect: () => void): Promise<void>
  /** Number of effects in the first execution. */
  effects: number
}

function plainStepsCase(steps: number): ResumeCase {
  return {
    label: `${steps} steps of a pattern`,
    plan: { turns: 1, calls: 0, tool: 'look', latency_ms: 0 },
    effects: steps,
    async work(context, onEffect) {
      for (let index = 0; index < steps; index++) {
        const value = await context.step(`step/${index}`, () => {
          onEffect()
          return { index, text: 'the result of this step' }
        })
        assertEqual(value.index, index, 'a step')
      }
    },
  }
}

/** Half of the steps are model requests, the other half tool calls, in one session. */
function conversationCase(steps: number): ResumeCase {
  const turns = steps / 2 + 1
  const plan: ConversationPlan = { turns, calls: 1, tool: 'look', latency_ms: 0 }
  return {
    label: `${steps} model requests and tool calls of one session`,
    plan,
    effects: turns,
    async work(context) {
      const result = await context.perform(
        benchAgent([planTool(plan)]),
        { instruction: INSTRUCTION },
        { key: 'session' },
      )
      assertEqual(result.text, RESPONSE, 'the conversation')
    },
  }
}

/** Half of the steps are sessions, the other half their single model request. */
function sessionsCase(steps: number): ResumeCase {
  const plan: ConversationPlan = { turns: 1, calls: 0, tool: 'look', latency_ms: 0 }
  return {
    label: `${steps / 2} sessions with one turn`,
    plan,
    effects: steps / 2,
    async work(context) {
      for (let index = 0; index < steps / 2; index++) {
        const result = await context.perform(benchAgent([]), { instruction: INSTRUCTION }, { key: `session/${index}` })
        assertEqual(result.text, RESPONSE, 'a session')
      }
    },
  }
}

function resumeContender(resumeCase: ResumeCase, name: string, open: () => Promise<Store>): Contender {
  return {
    name,
    async round() {
      let effects = 0
      const onEffect = () => {
        effects += 1
        return undefined
      }
      const options = { model: planModel({ ...resumeCase.plan, onTurn: onEffect }), tools: [planTool(resumeCase.plan)] }
      const work: Work = async (context) => {
        await resumeCase.work(context, onEffect)
        await context.ask('gate', { question: 'Continue?' })
      }
      const before = openBenchEngine({ ...options, store: await open() })
      const run_id = await before.run(work)
      assertEqual(effects, resumeCase.effects, `${name}: effects before`)
      const [gate] = await before.store.openGates({ run_id })
      await before.store.enqueueCommand(
        run_id,
        { kind: 'answer', gate_id: gate?.gate_id ?? '', answer: 'yes', by: 'bench' },
        Date.now(),
      )
      await before.close()
      const ms = await measureMs(async () => {
        const after = openBenchEngine({ ...options, store: await open() })
        await after.resume(run_id, work)
        assertEqual((await after.store.run(run_id))?.status, 'completed', name)
        await after.close()
      })
      assertEqual(effects, resumeCase.effects, `${name}: effects after`)
      return ms
    },
  }
}

function resumeContenders(resumeCase: ResumeCase, folder: string): Contender[] {
  let files = 0
  let memory = memoryStore()
  let opened = 0
  const inMemory = async () => {
    if (opened++ % 2 === 0) memory = memoryStore()
    return memory
  }
  const onDisk = async () => openSqlite(join(folder, `resume-${resumeCase.effects}-${Math.floor(files++ / 2)}.db`))
  return [
    resumeContender(resumeCase, `in memory: ${resumeCase.label}`, inMemory),
    resumeContender(resumeCase, `on SQLite: ${resumeCase.label}`, onDisk),
  ]
}

export const resume: Bench = {
  name: 'resume',
  title: 'Resuming a run with 10,000 steps: from opening the store to the end of the run',
  async run({ quick, folder }) {
    const steps = 10_000
    const lines: Line[] = []
    for (const resumeCase of [plainStepsCase(steps), conversationCase(steps), sessionsCase(steps)]) {
      const contenders = resumeContenders(resumeCase, folder)
      const figures = await runRounds(contenders, { rounds: quick ? 1 : 5, warmups: quick ? 0 : 1 })
      for (const { name } of contenders) {
        const figure = findFigure(figures, name)
        lines.push({ label: name, figure, unit: 'ms', target: atMost(figure.median, 300, 'ms') })
      }
    }
    return lines
  },
}
