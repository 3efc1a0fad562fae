import { parseArgs } from 'node:util'
import { z } from 'zod'
import { UNKNOWN_PROFILE } from '../src/formats/project-profile/project-profile.ts'
import { createTroupe } from '../src/index.ts'
import type { Message } from '../src/kernel/model.ts'
import { composePackage } from '../src/patterns/consult/context-package/compose-package.ts'
import { formatContextPackage } from '../src/patterns/consult/context-package/package-prompt.ts'
import { DEFAULT_BUDGET_TOKENS } from '../src/patterns/consult/context-package/package-settings.ts'
import { ANSWER_FORM, parseSpecialistAnswer } from '../src/patterns/consult/specialist-answer.ts'
import { createHistory, readFiller } from './package-histories.ts'
import type { PackageScenario } from './package-scenarios.ts'
import { packageScenarios } from './package-scenarios.ts'

/*
 * npm run bench:consult-quality [-- --model NAME --judge NAME --sample N]: a model answers questions from their context packages, and a judge rates from 1 to 5 how relevant the
 * context is and how helpful the answer. Costs two model requests per question; not in CI, except with a scripted model.
 */

const { values } = parseArgs({
  options: { model: { type: 'string' }, judge: { type: 'string' }, sample: { type: 'string', default: '7' } },
})
const { model, judge } = values

const JUDGE_FORM =
  'Reply with one JSON object: {"relevance": 1 to 5, "helpfulness": 1 to 5, "reason": "one sentence"}. relevance: does the context have what the question needs, and ' +
  'little else? helpfulness: does the answer solve the question, and is it supported by the context?'

const rating = z.coerce.number().min(1).max(5)
const verdict = z.object({ relevance: rating, helpfulness: rating, reason: z.string().catch('') })

async function packageText({ name, reason, question, task }: PackageScenario, messages: readonly Message[]) {
  return formatContextPackage(
    await composePackage({
      request: {
        ...{ collaboration_id: name, requesting_agent: 'asker', question },
        context: { current_task: task },
      },
      ...{ agent: 'specialist', reason, messages, profile: UNKNOWN_PROFILE, documents: [], similar: [] },
      ...{ budget_tokens: DEFAULT_BUDGET_TOKENS, embedder: undefined },
    }),
  )
}

const agentNamed = (name: string, instructions: string, chosen = model) => ({
  ...{ name, description: name, instructions, tools: [] },
  ...(chosen === undefined ? undefined : { model: chosen }),
})
const troupe = await createTroupe({
  ...(model === undefined ? undefined : { model }),
  ...{ store: 'memory', config: false, embedder: false },
  agents: [
    agentNamed('specialist', 'You answer the question of another agent.'),
    agentNamed('judge', 'You judge the work of others strictly.', judge ?? model),
  ],
})
const ask = async (agent: string, instruction: string): Promise<string> => {
  const { output, error } = await troupe.run('task', { agent, instruction })
  if (error) throw new Error(error.message)
  return (output as { response: string }).response
}

const step = packageScenarios.length / Number(values.sample)
const sample = Array.from({ length: Number(values.sample) }, (_, index) => packageScenarios[Math.floor(index * step)])
const filler = readFiller(undefined)
const sums = { relevance: 0, helpfulness: 0, judged: 0 }
for (const scenario of sample.flatMap((each) => each ?? [])) {
  const context = await packageText(scenario, createHistory(scenario, packageScenarios, { filler, seed: 1 }))
  const { answer } = parseSpecialistAnswer({ text: await ask('specialist', `${context}\n${ANSWER_FORM}`) })
  const question = `<request>\n${context}\n</request>\n<answer>\n${answer}\n</answer>\n${JUDGE_FORM}`
  const [json = ''] = /\{[\s\S]*\}/.exec(await ask('judge', question)) ?? []
  const { data } = verdict.safeParse(parse(json))
  console.log(
    data
      ? `${scenario.name.padEnd(24)} relevance ${data.relevance}  helpfulness ${data.helpfulness}  ${data.reason}`
      : `${scenario.name.padEnd(24)} the judge gave no verdict`,
  )
  if (!data) continue
  sums.relevance += data.relevance
  sums.helpfulness += data.helpfulness
  sums.judged += 1
}
const mean = (sum: number) => (sums.judged === 0 ? '-' : (sum / sums.judged).toFixed(2))
console.log(
  `${sums.judged} of ${sample.length} judged: relevance ${mean(sums.relevance)}, helpfulness ${mean(sums.helpfulness)}`,
)
await troupe.close()

function parse(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}
