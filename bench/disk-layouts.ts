import { randomBytes } from 'node:crypto'
import type { Model } from '../src/kernel/model.ts'
import { createTroupe } from '../src/runtime/troupe.ts'
import { openSqlite } from '../src/store/sqlite.ts'
import { defineTool } from '../src/tools/define-tool.ts'
import { assertEqual } from './bench.ts'
import type { Work } from './bench-engine.ts'
import { benchAgent, openBenchEngine, WIDE_LIMITS } from './bench-engine.ts'
import { toolSchema, USAGE } from './plan.ts'

/** Every turn has 1 KB of input and 1 KB of output, all unique. */
export const TEXT_BYTES_PER_TURN = 2048

/** A way to store a long conversation. `onTurn` is called after each turn. */
export interface Layout {
  label: string
  rounds: number
  run(file: string, turns: number, onTurn: () => void): Promise<void>
}

function kilobyte(): string {
  return randomBytes(768).toString('base64')
}

/** Responds with a unique kilobyte in four chunks and, except in the last turn, a tool call. */
function textModel(turns: number, onTurn: () => void): Model {
  return {
    name: 'text',
    async *stream({ session }) {
      const text = kilobyte()
      for (let start = 0; start < text.length; start += 256)
        yield { type: 'text', text: text.slice(start, start + 256) }
      const callsTool = session.turn < turns
      if (callsTool) yield { type: 'tool-call', id: `call_${session.turn}`, name: 'look', input: { path: 'a' } }
      onTurn()
      yield { type: 'finish', stop: callsTool ? 'tool_calls' : 'end', usage: USAGE }
    },
  }
}

const look = defineTool({
  name: 'look',
  description: 'Returns a kilobyte.',
  category: 'perception',
  kind: 'read',
  input: toolSchema,
  execute: () => ({ success: true, output: kilobyte() }),
})

async function runInFile(file: string, model: Model, work: Work): Promise<void> {
  const benchEngine = openBenchEngine({ store: await openSqlite(file), model, tools: [look] })
  await benchEngine.run(work)
  await benchEngine.close()
}

export const LAYOUTS: readonly Layout[] = [
  {
    label: 'one session with many turns (response out, tool result in)',
    rounds: 3,
    run: (file, turns, onTurn) =>
      runInFile(file, textModel(turns, onTurn), async (context) => {
        const result = await context.perform(benchAgent([look]), { instruction: kilobyte() }, { key: 'session' })
        assertEqual(result.usage.calls, turns, 'turns')
      }),
  },
  {
    label: 'many sessions with one turn each, in one run',
    rounds: 3,
    run: (file, turns, onTurn) =>
      runInFile(file, textModel(1, onTurn), async (context) => {
        for (let turn = 0; turn < turns; turn++) {
          const result = await context.perform(benchAgent([]), { instruction: kilobyte() }, { key: `session/${turn}` })
          assertEqual(result.text.length, TEXT_BYTES_PER_TURN / 2, 'a response')
        }
      }),
  },
  {
    label: 'a chat: one session, resumed in a new run for every turn',
    rounds: 1,
    async run(file, turns, onTurn) {
      const model = textModel(1, onTurn)
      const troupe = await createTroupe({ store: file, model, agents: [benchAgent([])], limits: WIDE_LIMITS })
      let session_id: string | undefined
      for (let turn = 0; turn < turns; turn++) {
        const target = session_id === undefined ? { agent: 'worker' } : { session_id }
        const { output, error } = await troupe.run('task', { ...target, instruction: kilobyte() })
        assertEqual(error?.message, undefined, `turn ${turn}`)
        session_id = (output as { session_id?: string }).session_id
      }
      await troupe.close()
    },
  },
]
