import { z } from 'zod'
import { TroupeError } from '../../errors.ts'
import { normalizeStatement } from '../../judgement/similarity/similarity.ts'
import type { Consensus } from '../../judgement/vote/consensus.ts'
import type { Context } from '../../kernel/context.ts'
import { definePattern } from '../../kernel/pattern.ts'
import type { EquivalenceVerdict } from './equivalence.ts'
import { compareToReference } from './equivalence.ts'
import type { Ruling } from './escalate.ts'
import type { OutcomeOutput } from './outcome-history.ts'
import type { BestOfEvaluation, Contribution } from './output.ts'
import { createSystemAgent } from './specialists.ts'
import type { VoteResult } from './synthesis.ts'

const input = z.strictObject({
  of_run: z.string().min(1).describe('The run of collaborate that this is about.'),
  verdict: z.enum(['right', 'wrong']).optional().describe('Whether its answer turned out right.'),
  answer: z.string().trim().min(1).optional().describe('What turned out right; tells who of the voices was.'),
})

type Verdict = z.output<typeof input>['verdict']

/** For one short question about a few sentences. */
const JUDGE_TIMEOUT_MS = 60_000

const output = z.object({
  of_run: z.string(),
  correct: z.boolean(),
  agreement_score: z.number().nullable(),
  voices: z.array(z.object({ agent: z.string(), role: z.string(), right: z.boolean() })),
})

/** What is read of an earlier collaboration. */
interface PastCollaboration {
  consensus: Consensus
  contributions: Contribution[]
  vote?: VoteResult
  best_of?: BestOfEvaluation
  ruling?: Ruling
  metadata: { synthesis: string }
}

/** Agents behind the answer that was given: nobody where there was no decision, undefined where nobody knows. */
function answerSupporters({
  consensus: { clusters },
  contributions,
  vote,
  best_of,
  ruling,
  metadata,
}: PastCollaboration) {
  const behind = (test: (cluster: Consensus['clusters'][number]) => boolean) => clusters.find(test)?.agents ?? []
  if (ruling)
    return behind(({ recommendation }) => normalizeStatement(recommendation) === normalizeStatement(ruling.decision))
  if (vote) return behind(({ recommendation }) => recommendation === vote.winner)
  if (best_of) return behind(({ agents }) => agents.includes(best_of.agent))
  return metadata.synthesis === 'solo' ? contributions.map(({ agent }) => agent) : undefined
}

/** Agents behind what has most behind it; nobody after a tie. */
function leadingAgents({ consensus: { clusters, tie } }: PastCollaboration): string[] {
  const most = Math.max(...clusters.map(({ score }) => score))
  return tie ? [] : (clusters.find(({ score }) => score === most)?.agents ?? [])
}

/** What of this says how much agreement is worth: only an answer on which at least two could agree, and which most gave. */
function agreementLevel(past: PastCollaboration): number | null {
  const { agreement_score, clusters } = past.consensus
  const heads = clusters.reduce((sum, { agents }) => sum + agents.length, 0)
  const behind = answerSupporters(past)
  if (past.ruling || heads < 2 || behind?.length === 0) return null
  const led = behind === undefined || behind.join('\n') === leadingAgents(past).join('\n')
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
    const about = past.output as PastCollaboration
    const found =
      answer === undefined
        ? outcomeFromVerdict(about, verdict === 'right')
        : await outcomeFromAnswer(context, about, { verdict, answer })
    return {
      success: true,
      output: { of_run, agreement_score: agreementLevel(about), ...found } satisfies OutcomeOutput,
    }
  },
})

type OutcomeFindings = Pick<OutcomeOutput, 'correct' | 'voices'>

/** Those that were counted. Parts of a divided task say nothing about the whole, and nobody is right twice in one run. */
function votersFrom({ contributions }: PastCollaboration): Contribution[] {
  return contributions.filter(({ recommendation, weight }) => recommendation !== null && weight !== undefined)
}

function outcomeFromVerdict(past: PastCollaboration, correct: boolean): OutcomeFindings {
  const behind = answerSupporters(past) ?? []
  // Who dissented from a wrong answer may have been wrong too: nothing is known of them.
  const known = votersFrom(past).filter(({ agent }) => (correct && behind.length > 0) || behind.includes(agent))
  const right = (agent: string) => correct && behind.includes(agent)
  return { correct, voices: known.map(({ agent, role }) => ({ agent, role, right: right(agent) })) }
}

/** Who cannot be told to have been right or wrong is left out. */
async function outcomeFromAnswer(
  context: Context,
  past: PastCollaboration,
  { verdict, answer }: { verdict?: Verdict; answer: string },
) {
  const voters = votersFrom(past)
  const texts = voters.map(({ recommendation }) => recommendation ?? '')
  const ruled = past.ruling ? [past.ruling.decision] : []
  const judge = createSystemAgent('judge', { model: 'fast', temperature: 0, timeout_ms: JUDGE_TIMEOUT_MS })
  const found = await compareToReference(context, [answer, ...texts, ...ruled], { key: 'answer', judge })
  const voices = voters.flatMap(({ agent, role }, index) => {
    const like = found[index]
    return like === undefined || like === 'unclear' ? [] : [{ agent, role, right: like === 'same' }]
  })
  const behind = answerSupporters(past)
  const given = past.ruling
    ? found.slice(texts.length)
    : verdictsForAgents(behind ?? leadingAgents(past), voters, found)
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

function verdictsForAgents(
  names: readonly string[],
  voters: readonly Contribution[],
  found: readonly EquivalenceVerdict[],
): EquivalenceVerdict[] {
  return voters.flatMap(({ agent }, index) => (names.includes(agent) ? (found[index] ?? []) : []))
}
