import { z } from 'zod'
import { TroupeError } from '../../errors.ts'
import type { Consensus } from '../../judgement/agreement.ts'
import type { Context } from '../../kernel/context.ts'
import { definePattern } from '../../kernel/pattern.ts'
import { equivalent } from './equivalence.ts'
import type { OutcomeOutput } from './history.ts'
import type { Contribution, collaborateOutput } from './output.ts'

const input = z.strictObject({
  of_run: z.string().min(1).describe('The run of collaborate that this is about.'),
  verdict: z.enum(['right', 'wrong']).optional().describe('Whether its answer turned out right.'),
  answer: z.string().optional().describe('What turned out right; tells who of the voices was.'),
})

const output = z.object({
  of_run: z.string(),
  correct: z.boolean(),
  agreement_score: z.number().nullable(),
  voices: z.array(z.object({ agent: z.string(), role: z.string(), right: z.boolean() })),
})

/** Agents behind what won, or behind what a person chose; nobody after a tie. */
function winners({ consensus: { clusters, tie }, ruling }: Past): string[] {
  if (ruling) return clusters.find(({ recommendation }) => recommendation === ruling.decision)?.agents ?? []
  const most = Math.max(...clusters.map(({ score }) => score))
  return tie ? [] : (clusters.find(({ score }) => score === most)?.agents ?? [])
}

type Past = Omit<z.output<typeof collaborateOutput>, 'contributions' | 'consensus'> & {
  consensus: Consensus
  contributions: Contribution[]
  ruling?: { decision: string }
}

/** Records what turned out right, from which later collaborations learn whom and how far to trust. */
export const outcome = definePattern<z.output<typeof input>>({
  name: 'outcome',
  version: 1,
  description: 'Record whether the answer of a collaboration turned out right. Later ones weigh their voices by it.',
  category: 'task_management',
  delegates: false,
  input,
  output,
  async execute(context, { of_run, verdict, answer }) {
    if (verdict === undefined && answer === undefined) {
      throw new TroupeError('invalid_input', 'neither verdict nor answer is given', {
        hint: 'say --verdict right, --verdict wrong, or --answer "what turned out right"',
      })
    }
    const [past] = await context.recall('run', { pattern: 'collaborate', run_id: of_run })
    if (!past) {
      throw new TroupeError('unknown_run', `${of_run} is no completed run of collaborate in this project`, {
        hint: 'troupe runs lists them',
      })
    }
    const about = past.output as Past
    const found = await judged(context, about, { verdict, answer })
    // What a person decided says nothing of what agreement is worth.
    const agreement_score = about.ruling ? null : about.consensus.agreement_score
    return { success: true, output: { of_run, agreement_score, ...found } satisfies OutcomeOutput }
  },
})

type Verdict = Pick<z.output<typeof input>, 'verdict' | 'answer'>

async function judged(context: Context, past: Past, { verdict, answer }: Verdict) {
  const supporting = winners(past)
  const voices = past.contributions.filter(({ recommendation }) => recommendation !== null)
  if (answer === undefined) {
    const correct = verdict === 'right'
    // Who dissented from a wrong answer may have been wrong too: nothing is known of them.
    const known = voices.filter(({ agent }) => (correct && supporting.length > 0) || supporting.includes(agent))
    const right = (agent: string) => correct && supporting.includes(agent)
    return { correct, voices: known.map(({ agent, role }) => ({ agent, role, right: right(agent) })) }
  }
  const texts = [answer, ...voices.map(({ recommendation }) => recommendation ?? '')]
  const { groups } = await equivalent(context, texts, { key: 'answer' })
  const same = groups.find((group) => group.includes(0)) ?? []
  const judgedVoices = voices.map(({ agent, role }, index) => ({ agent, role, right: same.includes(index + 1) }))
  const supported = judgedVoices.filter(({ agent }) => supporting.includes(agent))
  const correct = verdict === undefined ? supported.some(({ right }) => right) : verdict === 'right'
  return { correct, voices: judgedVoices }
}
