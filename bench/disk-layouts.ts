import { randomBytes } from 'node:crypto'
import type { Model } from '../src/kernel/model.ts'
import { defineTool } from '../src/kernel/tool.ts'
import { createTroupe } from '../src/runtime/troupe.ts'
import { openSqlite } from '../src/store/sqlite.ts'
import { assertEqual } from './bench.ts'
import type { Work } from './bench-engine.ts'
import { benchAgent, openBenchEngine, WIDE_LIMITS } from './bench-engine.ts'
import { toolSchema, USAGE } from './plan.ts'

/** Every turn brings 1 KB in and 1 KB out, none of it seen before. */
export const TEXT_BYTES_PER_TURN = 2048

/** A way to have a long conversation. `onTurn` is called when a turn is over. */
export interface Layout {
  what: string
  rounds: number
  run(file: string, turns: number, onTurn: () => void): Promise<void>
}

function kilobyte(): string {
  return randomBytes(768).toString('base64')
}

/** Answers with a fresh kilobyte in four pieces; before its last turn it also asks for the tool. */
function textModel(turns: number, onTurn: () => void): Model {
  return {
    name: 'wordy',
    async *stream({ session }) {
      const text = kilobyte()
      for (let at = 0; at < text.length; at += 256) yield { type: 'text', text: text.slice(at, at + 256) }
      const more = session.turn < turns
      if (more) yield { type: 'tool-call', id: `call_${session.turn}`, name: 'look', input: { path: 'a' } }
      onTurn()
      yield { type: 'finish', stop: more ? 'tool_calls' : 'end', usage: USAGE }
    },
  }
}

const look = defineTool({
  name: 'look',
  description: 'Reads a kilobyte.',
  category: 'perception',
  kind: 'read',
  input: toolSchema,
  execute: () => ({ success: true, output: kilobyte() }),
})

async function runOn(file: string, model: Model, work: Work): Promise<void> {
  const stage = openBenchEngine({ store: await openSqlite(file), model, tools: [look] })
  await stage.run(work)
  await stage.close()
}

export const LAYOUTS: readonly Layout[] = [
  {
    what: 'one session of many turns (answer out, tool result in)',
    rounds: 3,
    run: (file, turns, onTurn) =>
      runOn(file, textModel(turns, onTurn), async (context) => {
        const result = await context.perform(benchAgent([look]), { instruction: kilobyte() }, { key: 'talk' })
        assertEqual(result.usage.calls, turns, 'turns')
      }),
  },
  {
    what: 'many sessions of one turn in one run',
    rounds: 3,
    run: (file, turns, onTurn) =>
      runOn(file, textModel(1, onTurn), async (context) => {
        for (let turn = 0; turn < turns; turn++) {
          const result = await context.perform(benchAgent([]), { instruction: kilobyte() }, { key: `talk/${turn}` })
          assertEqual(result.text.length, TEXT_BYTES_PER_TURN / 2, 'an answer')
        }
      }),
  },
  {
    what: 'a chat: one session taken up again for every turn, a run each',
    rounds: 1,
    async run(file, turns, onTurn) {
      const model = textModel(1, onTurn)
      const troupe = await createTroupe({ store: file, model, agents: [benchAgent([])], limits: WIDE_LIMITS })
      let session_id: string | undefined
      for (let turn = 0; turn < turns; turn++) {
        const whom = session_id === undefined ? { agent: 'worker' } : { session_id }
        const { output, error } = await troupe.run('task', { ...whom, instruction: kilobyte() })
        assertEqual(error?.message, undefined, `turn ${turn}`)
        session_id = (output as { session_id?: string }).session_id
      }
      await troupe.close()
    },
  },
]
