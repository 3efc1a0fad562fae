import { appendFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { definePattern } from '../src/entries/patterns.ts'
import { createTroupe } from '../src/index.ts'
import { parseConsultConfig } from '../src/patterns/consult/consult-config.ts'
import { selectSpecialist } from '../src/patterns/consult/routing/select-specialist.ts'
import { readRoutingQuestions } from './routing-questions.ts'

/*
 * npm run bench:routing:model [-- --model NAME --sample 24 --out FILE]: how often the orchestrator chooses a specialist that a person would accept, with
 * a real model (see `troupe models`). One request per question, or two if its decision names no agent. Not in CI.
 */

const { model, sample, out } = parseArgs({
  options: {
    model: { type: 'string' },
    sample: { type: 'string', default: '24' },
    out: { type: 'string' },
  },
}).values

const question = z.object({ question: z.string() })
/** Routes one question, without asking the specialist. */
const route = definePattern({
  name: 'route',
  version: 1,
  description: 'Routes a question.',
  category: 'task_management',
  input: question,
  output: z.unknown(),
  async execute(given, input) {
    // A project without earlier consultations.
    const context: typeof given = Object.assign(Object.create(given), { query: async () => [] })
    const request = { ...question.parse(input), requesting_agent: 'user', urgency: 'normal' }
    const output = await selectSpecialist(context, {
      request,
      config: parseConsultConfig({}),
      excluded: [],
      key: 'route',
    })
    return { success: true, output }
  },
})

function print(line: string): void {
  process.stdout.write(`${line}\n`)
  if (out !== undefined) appendFileSync(out, `${line}\n`)
}

const troupe = await createTroupe({
  ...(model === undefined ? undefined : { model }),
  store: 'memory',
  config: false,
  embedder: false,
  patterns: [route],
})
const all = readRoutingQuestions()
const step = all.length / Number(sample)
const questions = Array.from({ length: Number(sample) }, (_, index) => all[Math.floor(index * step)]).flatMap(
  (each) => each ?? [],
)
const counts = { right: 0, wrong: 0, model: 0, fallback: 0 }
for (const { question: text, scenario, agents } of questions) {
  const { output, error } = await troupe.run('route', { question: text })
  const chosen = output as { agent?: string; method?: 'model' | 'fallback'; reason?: string; none?: string } | undefined
  const isRight = agents.length === 0 ? chosen?.none !== undefined : agents.includes(chosen?.agent ?? '')
  counts[isRight ? 'right' : 'wrong'] += 1
  if (chosen?.method) counts[chosen.method] += 1
  const choice = chosen?.agent ?? (chosen?.none === undefined ? `failed: ${error?.message}` : 'nobody')
  print(
    `${isRight ? 'right' : 'WRONG'}  ${scenario} → ${choice} (${chosen?.method ?? '-'}, ${chosen?.reason ?? '-'})  ${text}`,
  )
}
print(
  `${counts.right} of ${questions.length} right; ${counts.model} decided by the model, ${counts.fallback} by the scenario`,
)
await troupe.close()
