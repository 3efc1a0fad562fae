import { join } from 'node:path'
import type { Context } from '../src/kernel/context.ts'
import { MemoryStore } from '../src/store/memory.ts'
import { openSqlite } from '../src/store/sqlite.ts'
import type { Store } from '../src/store/store.ts'
import type { Bench, Line } from './bench.ts'
import { assertEqual, atMost } from './bench.ts'
import type { Work } from './bench-engine.ts'
import { benchAgent, openBenchEngine } from './bench-engine.ts'
import type { ConversationPlan } from './plan.ts'
import { ANSWER, INSTRUCTION, planModel, planTool } from './plan.ts'
import type { Contender } from './rounds.ts'
import { findFigure, measureMs, runRounds } from './rounds.ts'

/*
 * A run does its steps and then asks a human. The store is closed; it is answered and taken up again with the store
 * opened anew. Measured: from opening the store to the end of the run. No step may be done twice.
 */

interface ResumeCase {
  what: string
  plan: ConversationPlan
  /** Does the steps, counting those that really happen. */
  work(context: Context, done: () => void): Promise<void>
  /** How many happen the first time. */
  effects: number
}

function plainStepsCase(steps: number): ResumeCase {
  return {
    what: `${steps} steps of a pattern`,
    plan: { turns: 1, calls: 0, tool: 'look', latency_ms: 0 },
    effects: steps,
    async work(context, done) {
      for (let index = 0; index < steps; index++) {
        const value = await context.step(`step/${index}`, () => {
          done()
          return { index, words: 'what this step found out' }
        })
        assertEqual(value.index, index, 'a step')
      }
    },
  }
}

/** Half of the steps are model calls, the other half their tool calls, all in one conversation. */
function conversationCase(steps: number): ResumeCase {
  const turns = steps / 2 + 1
  const plan: ConversationPlan = { turns, calls: 1, tool: 'look', latency_ms: 0 }
  return {
    what: `${steps} model and tool calls of one session`,
    plan,
    effects: turns,
    async work(context) {
      const result = await context.perform(benchAgent([planTool(plan)]), { instruction: INSTRUCTION }, { key: 'talk' })
      assertEqual(result.text, ANSWER, 'the conversation')
    },
  }
}

/** Half of the steps are sessions of one model call, the other half the calls. */
function sessionsCase(steps: number): ResumeCase {
  const plan: ConversationPlan = { turns: 1, calls: 0, tool: 'look', latency_ms: 0 }
  return {
    what: `${steps / 2} sessions of one turn`,
    plan,
    effects: steps / 2,
    async work(context) {
      for (let index = 0; index < steps / 2; index++) {
        const result = await context.perform(benchAgent([]), { instruction: INSTRUCTION }, { key: `talk/${index}` })
        assertEqual(result.text, ANSWER, 'a session')
      }
    },
  }
}

function resumeContender(ways: ResumeCase, name: string, open: () => Promise<Store>): Contender {
  return {
    name,
    async round() {
      let happened = 0
      const done = () => {
        happened += 1
        return undefined
      }
      const options = { model: planModel({ ...ways.plan, onTurn: done }), tools: [planTool(ways.plan)] }
      const work: Work = async (context) => {
        await ways.work(context, done)
        await context.ask('gate', { question: 'Go on?' })
      }
      const before = openBenchEngine({ ...options, store: await open() })
      const run_id = await before.run(work)
      assertEqual(happened, ways.effects, `${name}: effects before`)
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
      assertEqual(happened, ways.effects, `${name}: effects after`)
      return ms
    },
  }
}

function resumeContenders(ways: ResumeCase, folder: string): Contender[] {
  let files = 0
  let memory = new MemoryStore()
  let opened = 0
  const inMemory = async () => {
    if (opened++ % 2 === 0) memory = new MemoryStore()
    return memory
  }
  const onDisk = async () => openSqlite(join(folder, `resume-${ways.effects}-${Math.floor(files++ / 2)}.db`))
  return [
    resumeContender(ways, `in memory: ${ways.what}`, inMemory),
    resumeContender(ways, `on SQLite: ${ways.what}`, onDisk),
  ]
}

export const resume: Bench = {
  name: 'resume',
  title: 'Resume of a run with 10,000 steps: from opening the store to its end',
  async run({ quick, folder }) {
    const steps = 10_000
    const lines: Line[] = []
    for (const ways of [plainStepsCase(steps), conversationCase(steps), sessionsCase(steps)]) {
      const contenders = resumeContenders(ways, folder)
      const figures = await runRounds(contenders, { rounds: quick ? 1 : 5, warmups: quick ? 0 : 1 })
      for (const { name } of contenders) {
        const figure = findFigure(figures, name)
        lines.push({ what: name, figure, unit: 'ms', aim: atMost(figure.median, 300, 'ms') })
      }
    }
    return lines
  },
}
