import { z } from 'zod'
import { TroupeError } from '../../errors.ts'
import type { Consensus } from '../../judgement/agreement.ts'
import { normalised } from '../../judgement/similarity.ts'
import type { Context } from '../../kernel/context.ts'
import { definePattern } from '../../kernel/pattern.ts'
import type { Likeness } from './equivalence.ts'
import { likeness } from './equivalence.ts'
import type { Ruling } from './escalate.ts'
import type { OutcomeOutput } from './history.ts'
import type { Contribution, Evaluation } from './output.ts'
import { clerk } from './specialists.ts'
import type { Vote } from './synthesis.ts'

const input = z.strictObject({
  of_run: z.string().min(1).describe('The run of collaborate that this is about.'),
  verdict: z.enum(['right', 'wrong']).optional().describe('Whether its answer turned out right.'),
  answer: z.string().trim().min(1).optional().describe('What turned out right; tells who of the voices was.'),
})

type Verdict = z.output<typeof input>['verdict']

/** For one short question about a few sentences. */
const JUDGE_TIMEOUT = 60_000

const output = z.object({
  of_run: z.string(),
  correct: z.boolean(),
  agreement_score: z.number().nullable(),
  voices: z.array(z.object({ agent: z.string(), role: z.string(), right: z.boolean() })),
})

/** What is read of an earlier collaboration. */
interface Past {
  consensus: Consensus
  contributions: Contribution[]
  vote?: Vote
  best_of?: Evaluation
  ruling?: Ruling
  metadata: { synthesis: string }
}

/** Agents behind the answer that was given: nobody where there was no decision, undefined where nobody knows. */
function followed({ consensus: { clusters }, contributions, vote, best_of, ruling, metadata }: Past) {
  const behind = (test: (cluster: Consensus['clusters'][number]) => boolean) => clusters.find(test)?.agents ?? []
  if (ruling) return behind(({ recommendation }) => normalised(recommendation) === normalised(ruling.decision))
  if (vote) return behind(({ recommendation }) => recommendation === vote.winner)
  if (best_of) return behind(({ agents }) => agents.includes(best_of.agent))
  return metadata.synthesis === 'solo' ? contributions.map(({ agent }) => agent) : undefined
}

/** Agents behind what has most behind it; nobody after a tie. */
function leading({ consensus: { clusters, tie } }: Past): string[] {
  const most = Math.max(...clusters.map(({ score }) => score))
  return tie ? [] : (clusters.find(({ score }) => score === most)?.agents ?? [])
}

/** What of this says how much agreement is worth: only an answer on which at least two could agree, and which most gave. */
function levelOf(past: Past): number | null {
  const { agreement_score, clusters } = past.consensus
  const heads = clusters.reduce((sum, { agents }) => sum + agents.length, 0)
  const behind = followed(past)
  if (past.ruling || heads < 2 || behind?.length === 0) return null
  const led = behind === undefined || behind.join('\n') === leading(past).join('\n')
  return led ? agreement_score : null
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
    const found =
      answer === undefined ? byVerdict(about, verdict === 'right') : await byAnswer(context, about, { verdict, answer })
    return { success: true, output: { of_run, agreement_score: levelOf(about), ...found } satisfies OutcomeOutput }
  },
})

type Found = Pick<OutcomeOutput, 'correct' | 'voices'>

/** Those that were counted. Parts of a divided task say nothing about the whole, and nobody is right twice in one run. */
function votersIn({ contributions }: Past): Contribution[] {
  return contributions.filter(({ recommendation, weight }) => recommendation !== null && weight !== undefined)
}

function byVerdict(past: Past, correct: boolean): Found {
  const behind = followed(past) ?? []
  // Who dissented from a wrong answer may have been wrong too: nothing is known of them.
  const known = votersIn(past).filter(({ agent }) => (correct && behind.length > 0) || behind.includes(agent))
  const right = (agent: string) => correct && behind.includes(agent)
  return { correct, voices: known.map(({ agent, role }) => ({ agent, role, right: right(agent) })) }
}

/** Who cannot be told to have been right or wrong is left out. */
async function byAnswer(context: Context, past: Past, { verdict, answer }: { verdict?: Verdict; answer: string }) {
  const voters = votersIn(past)
  const texts = voters.map(({ recommendation }) => recommendation ?? '')
  const ruled = past.ruling ? [past.ruling.decision] : []
  const judge = clerk('judge', { model: 'fast', temperature: 0, timeout_ms: JUDGE_TIMEOUT })
  const found = await likeness(context, [answer, ...texts, ...ruled], { key: 'answer', judge })
  const voices = voters.flatMap(({ agent, role }, index) => {
    const like = found[index]
    return like === undefined || like === 'unclear' ? [] : [{ agent, role, right: like === 'same' }]
  })
  const behind = followed(past)
  const given = past.ruling ? found.slice(texts.length) : likeOf(behind ?? leading(past), voters, found)
  // An answer that somebody wrote of which nobody knows whom it follows may be anything.
  const open = given.includes('unclear') || (behind === undefined && given.length === 0)
  const told = given.includes('same') ? 'right' : open ? undefined : 'wrong'
  const decided = past.ruling !== undefined || (behind ?? []).length > 0
  if (decided && verdict !== undefined && told !== undefined && verdict !== told) {
    throw new TroupeError('invalid_input', `'${answer}' says that the answer was ${told}, and the verdict ${verdict}`, {
      hint: 'say one of the two',
    })
  }
  const correct = verdict ?? told
  if (correct === undefined) {
    throw new TroupeError('invalid_input', `nobody can tell whether the answer comes to the same as '${answer}'`, {
      hint: 'say --verdict right or --verdict wrong too',
    })
  }
  return { correct: correct === 'right', voices }
}

function likeOf(names: readonly string[], voters: readonly Contribution[], found: readonly Likeness[]): Likeness[] {
  return voters.flatMap(({ agent }, index) => (names.includes(agent) ? (found[index] ?? []) : []))
}
