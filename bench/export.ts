import { performance } from 'node:perf_hooks'
import type { Model } from '../src/entries/models.ts'
import { createTroupe, defineTool } from '../src/index.ts'
import * as z from '../src/schema/zod.ts'
import { htmlExport } from '../src/surfaces/http/page/html-export.ts'

/*
 * npm run bench:export [-- SESSIONS TURNS CALLS]: a run of 200 sessions with 20 turns of 5 calls each, 20,000 calls, as a one-file page. Every
 * result is another text of 600 characters. Prints events, size and time of the export.
 */

const [SESSIONS = 200, TURNS = 20, CALLS = 5] = process.argv.slice(2).map(Number)

/** Text that compresses like prose, not like a repeated line. */
function prose(seed: number, length: number): string {
  const words: string[] = []
  let state = seed + 1
  while (words.length * 6 < length) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    words.push(`w${(state >>> 8) % 4_000}`)
  }
  return words.join(' ')
}

let calls = 0
const look = defineTool({
  name: 'Look',
  description: 'Looks something up.',
  category: 'perception',
  kind: 'read',
  input: z.object({ about: z.string() }),
  execute: async () => ({ success: true, output: prose(calls++, 600) }),
})

const model: Model = {
  name: 'instant',
  async *stream({ session, messages }) {
    const turn = messages.filter(({ role }) => role === 'assistant').length
    const isLead = session.agent === 'lead'
    const asked = isLead ? turn === 0 : turn < TURNS
    if (isLead && asked)
      for (let index = 0; index < SESSIONS; index += 1)
        yield {
          type: 'tool-call',
          id: `t${index}`,
          name: 'task',
          input: { agent: 'worker', instruction: `Task ${index}: ${prose(index, 200)}` },
        }
    else if (asked) {
      yield { type: 'text', text: prose(calls, 120) }
      for (let index = 0; index < CALLS; index += 1)
        yield { type: 'tool-call', id: `c${turn}_${index}`, name: 'Look', input: { about: prose(calls + index, 60) } }
    } else yield { type: 'text', text: 'Done.' }
    const usage = { input: 900, output: 80, cache_read: 600, cache_write: 0, reasoning: 0 }
    yield { type: 'finish', stop: asked ? 'tool_calls' : 'end', usage }
  },
}

const agent = (name: string) => ({ name, description: `the ${name}`, instructions: `You are the ${name}.` })
const limits = {
  turns: TURNS + 5,
  calls: 1_000_000,
  tokens: 1_000_000_000,
  usd: null,
  breadth: SESSIONS,
  concurrency: 8,
}
const troupe = await createTroupe({ store: 'memory', model, agents: [agent('lead'), agent('worker')], tools: [look] })
const started = performance.now()
const run = await troupe.run('task', { agent: 'lead', instruction: 'Look at everything.' }, { limits })
const events = await troupe.events(run.run_id).all()

console.log(`run         ${run.status}, ${calls} calls, ${events.length} events, ${seconds(started)}`)
const begin = performance.now()
const data = await troupe.exportPage(run.run_id)
console.log(
  `export      ${data.length} entries, ${(JSON.stringify(data).length / 1e6).toFixed(1)} MB before compression, ${seconds(begin)}`,
)
const page = performance.now()
const html = await htmlExport(data)
console.log(`page        ${(html.length / 1e6).toFixed(2)} MB, ${seconds(page)}`)
console.log(`memory      ${Math.round(process.memoryUsage().rss / 1e6)} MB`)
if (process.env.TROUPE_EXPORT_FILE)
  await (await import('node:fs/promises')).writeFile(process.env.TROUPE_EXPORT_FILE, html)
await troupe.close()

/** The time since, and the CPU time of the process until now, which other programs do not lengthen. */
function seconds(since: number): string {
  const { user, system } = process.cpuUsage()
  return `${((performance.now() - since) / 1000).toFixed(1)} s (CPU ${((user + system) / 1e6).toFixed(1)} s in all)`
}
