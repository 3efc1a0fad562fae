import { TroupeError } from '../../../errors.ts'
import { normalizeStatement } from '../../../judgement/similarity/similarity.ts'
import type { Consensus } from '../../../judgement/vote/consensus.ts'
import type { Context } from '../../../kernel/context.ts'
import type { PatternResult } from '../../../kernel/pattern.ts'
import type { EquivalenceVerdict } from '../decision/equivalence.ts'
import { compareToReference } from '../decision/equivalence.ts'
import type { Ruling } from '../decision/escalate.ts'
import { createPairJudge } from '../decision/pair-judge.ts'
import type { VoteResult } from '../decision/synthesis.ts'
import type { BestOfEvaluation, Contribution } from '../output.ts'
import { JUDGE_SYSTEM } from '../prompts/judge-prompt.ts'
import { createSystemAgent } from '../specialists.ts'
import type { OutcomeOutput } from './outcome-history.ts'
import type { OutcomeInput } from './outcome-schemas.ts'

const JUDGE_TIMEOUT_MS = 60_000

/** The output of an earlier collaboration. */
interface PastCollaboration {
  consensus: Consensus
  contributions: Contribution[]
  vote?: VoteResult
  best_of?: BestOfEvaluation
  ruling?: Ruling
  metadata: { synthesis: string }
}

/** The agents that supported the answer: none without a decision, `undefined` if unknown (written by a coordinator). */
function answerSupporters({
  consensus: { clusters },
  contributions,
  vote,
  best_of,
  ruling,
  metadata,
}: PastCollaboration) {
  const agentsOf = (test: (cluster: Consensus['clusters'][number]) => boolean) => clusters.find(test)?.agents ?? []
  if (ruling)
    return agentsOf(({ recommendation }) => normalizeStatement(recommendation) === normalizeStatement(ruling.decision))
  if (vote) return agentsOf(({ recommendation }) => recommendation === vote.winner)
  if (best_of) return agentsOf(({ agents }) => agents.includes(best_of.agent))
  return metadata.synthesis === 'solo' ? contributions.map(({ agent }) => agent) : undefined
}

/** The agents of the leading position; none after a tie, or if it is unclear which one leads. */
function leadingAgents({ consensus: { clusters, tie, unclear, supporting } }: PastCollaboration): string[] {
  const highest = Math.max(...clusters.map(({ score }) => score))
  return tie || (unclear && supporting.length === 0)
    ? []
    : (clusters.find(({ score }) => score === highest)?.agents ?? [])
}

/** The agreement to calibrate by: only if at least two agents voted and the leading position was followed. */
function agreementLevel(past: PastCollaboration): number | null {
  const { agreement_score, clusters } = past.consensus
  const voterCount = clusters.reduce((sum, { agents }) => sum + agents.length, 0)
  const supporters = answerSupporters(past)
  if (past.ruling || voterCount < 2 || supporters?.length === 0) return null
  const leaderWon = supporters === undefined || supporters.join('\n') === leadingAgents(past).join('\n')
  return leaderWon ? agreement_score : null
}

/** Finds out which agents were right. */
export async function recordOutcome(
  context: Context,
  { of_run, verdict, answer }: OutcomeInput,
): Promise<PatternResult> {
  if (verdict === undefined && answer === undefined) {
    throw new TroupeError('invalid_input', 'neither `verdict` nor `answer` is given', {
      hint: 'use --verdict right, --verdict wrong, or --answer "the right answer"',
    })
  }
  const [past] = await context.recall('run', { pattern: 'collaborate', run_id: of_run })
  if (!past) {
    throw new TroupeError(
      'unknown_run',
      `\`of_run\`: ${of_run} is not a completed run of collaborate in this project`,
      {
        hint: 'list the runs with `troupe runs`',
      },
    )
  }
  const collaboration = past.output as PastCollaboration
  const findings =
    answer === undefined
      ? outcomeFromVerdict(collaboration, verdict === 'right')
      : await outcomeFromAnswer(context, collaboration, { verdict, answer })
  return {
    success: true,
    output: { of_run, agreement_score: agreementLevel(collaboration), ...findings } satisfies OutcomeOutput,
  }
}

type OutcomeFindings = Pick<OutcomeOutput, 'correct' | 'voices'>

/** Contributions that were counted as votes: at most one per agent, and no plain subtasks. */
function votersFrom({ contributions }: PastCollaboration): Contribution[] {
  return contributions.filter(({ recommendation, weight }) => recommendation !== null && weight !== undefined)
}

function outcomeFromVerdict(past: PastCollaboration, correct: boolean): OutcomeFindings {
  const supporters = answerSupporters(past) ?? []
  // Dissenters from a wrong answer may be wrong too, so they are left out.
  const known = votersFrom(past).filter(({ agent }) => (correct && supporters.length > 0) || supporters.includes(agent))
  const isRight = (agent: string) => correct && supporters.includes(agent)
  return { correct, voices: known.map((voter) => toVoice(voter, isRight(voter.agent))) }
}

function toVoice({ agent, role, confidence }: Contribution, right: boolean): OutcomeOutput['voices'][number] {
  return { agent, role, right, ...(confidence === null ? undefined : { confidence }) }
}

/** The collaboration's own finding, if the right answer is literally one of its recommendations. */
function comparisonInRun(past: PastCollaboration, voter: Contribution, answer: string): EquivalenceVerdict | undefined {
  const { clusters, unclear = [] } = past.consensus
  const clusterWith = (agent: string) => clusters.find(({ agents }) => agents.includes(agent))
  const isAnswer = ({ recommendation }: Contribution) =>
    normalizeStatement(recommendation ?? '') === normalizeStatement(answer)
  const right = clusterWith(votersFrom(past).find(isAnswer)?.agent ?? '')
  const own = clusterWith(voter.agent)
  if (!right || !own) return undefined
  if (own === right) return 'same'
  const isUnclear = unclear.some((pair) => pair.includes(own.recommendation) && pair.includes(right.recommendation))
  return isUnclear ? undefined : 'different'
}

/** Compares each vote with the right answer. Votes that stay unclear are left out. */
async function outcomeFromAnswer(
  context: Context,
  past: PastCollaboration,
  { verdict, answer }: { verdict?: OutcomeInput['verdict']; answer: string },
) {
  const voters = votersFrom(past)
  const texts = voters.map(({ recommendation }) => recommendation ?? '')
  const ruling = past.ruling ? [past.ruling.decision] : []
  const judgeAgent = createSystemAgent('judge', {
    ...{ system: JUDGE_SYSTEM, model: 'fast', temperature: 0, timeout_ms: JUDGE_TIMEOUT_MS },
  })
  const judge = createPairJudge(judgeAgent)
  const known = voters.map((voter) => comparisonInRun(past, voter, answer))
  const open = [...texts.filter((_, index) => known[index] === undefined), ...ruling]
  const compared = await compareToReference(context, [answer, ...open], { key: 'answer', judge })
  const comparisons = [...known, ...ruling.map(() => undefined)].map((each) => each ?? compared.shift() ?? 'unclear')
  const voices = voters.flatMap((voter, index) => {
    const comparison = comparisons[index]
    return comparison === undefined || comparison === 'unclear' ? [] : [toVoice(voter, comparison === 'same')]
  })
  const supporters = answerSupporters(past)
  const followed = past.ruling
    ? comparisons.slice(texts.length)
    : comparisonsOf(supporters ?? leadingAgents(past), voters, comparisons)
  // A coordinator's answer without any vote cannot be compared.
  const isOpen = followed.includes('unclear') || (supporters === undefined && followed.length === 0)
  const derived = followed.includes('same') ? 'right' : isOpen ? undefined : 'wrong'
  const hasDecision = past.ruling !== undefined || (supporters ?? []).length > 0
  if (hasDecision && verdict !== undefined && derived !== undefined && verdict !== derived) {
    throw new TroupeError(
      'invalid_input',
      `\`answer\` '${answer}' means that the result was ${derived}, but \`verdict\` is ${verdict}`,
      { hint: 'remove `verdict` or `answer`' },
    )
  }
  const correct = verdict ?? derived
  if (correct === undefined) {
    throw new TroupeError('invalid_input', `cannot tell whether the result is equivalent to \`answer\` '${answer}'`, {
      hint: 'add --verdict right or --verdict wrong',
    })
  }
  return { correct: correct === 'right', voices }
}

function comparisonsOf(
  names: readonly string[],
  voters: readonly Contribution[],
  comparisons: readonly EquivalenceVerdict[],
): EquivalenceVerdict[] {
  return voters.flatMap(({ agent }, index) => (names.includes(agent) ? (comparisons[index] ?? []) : []))
}
