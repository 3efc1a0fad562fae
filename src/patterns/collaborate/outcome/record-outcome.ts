import { TroupeError } from '../../../errors.ts'
import { normalizeStatement } from '../../../judgement/similarity/similarity.ts'
import type { Consensus } from '../../../judgement/vote/consensus.ts'
import type { Context } from '../../../kernel/context.ts'
import type { PatternResult } from '../../../kernel/pattern.ts'
import type { Ruling } from '../decision/escalate.ts'
import type { VoteResult } from '../decision/synthesis.ts'
import type { BestOfEvaluation, Contribution } from '../output.ts'
import type { OutcomeOutput } from './outcome-history.ts'
import type { OutcomeInput } from './outcome-schemas.ts'

/** The output of an earlier collaboration. */
interface PastCollaboration {
  consensus: Consensus
  contributions: Contribution[]
  vote?: VoteResult
  best_of?: BestOfEvaluation
  ruling?: Ruling
}

/** The agents that supported the answer: none without a decision, `undefined` if unknown (written by a coordinator). */
function answerSupporters({ consensus: { clusters }, vote, best_of, ruling }: PastCollaboration) {
  const agentsOf = (test: (cluster: Cluster) => boolean) => clusters.find(test)?.agents ?? []
  if (ruling) return agentsOf(({ recommendation }) => isSameText(recommendation, ruling.decision))
  if (vote) return agentsOf(({ recommendation }) => recommendation === vote.winner)
  if (best_of) return agentsOf(({ agents }) => agents.includes(best_of.agent))
  return undefined
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
      : outcomeFromAnswer(collaboration, { verdict, answer })
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

function toVoice({ agent, role }: Contribution, right: boolean): OutcomeOutput['voices'][number] {
  return { agent, role, right }
}

type Cluster = Consensus['clusters'][number]

/** The position that the answer names, in the words of one of its agents. */
function findPosition(past: PastCollaboration, answer: string): Cluster | undefined {
  const named = votersFrom(past).find(({ recommendation }) => isSameText(recommendation ?? '', answer))
  return past.consensus.clusters.find(({ agents }) => named && agents.includes(named.agent))
}

function isSameText(one: string, other: string): boolean {
  return normalizeStatement(one) === normalizeStatement(other)
}

/** Whether an agent holds this position; `undefined` if its own one may be the same in other words. */
function holdsPosition({ consensus }: PastCollaboration, agent: string, position: Cluster): boolean | undefined {
  const { clusters, unclear = [] } = consensus
  if (position.agents.includes(agent)) return true
  const own = clusters.find(({ agents }) => agents.includes(agent))
  const isUnclear = unclear.some(
    (pair) => own && pair.includes(own.recommendation) && pair.includes(position.recommendation),
  )
  return own && !isUnclear ? false : undefined
}

/** Compares each vote with the position that was right. Votes that may be the same in other words are left out. */
function outcomeFromAnswer(
  past: PastCollaboration,
  { verdict, answer }: { verdict?: OutcomeInput['verdict']; answer: string },
): OutcomeFindings {
  const position = findPosition(past, answer)
  const isRuling = past.ruling !== undefined && isSameText(past.ruling.decision, answer)
  if (!position && !isRuling) throw unknownPosition(past, answer)
  const isRight = (agent: string) => (position ? holdsPosition(past, agent, position) : undefined)
  const voices = votersFrom(past).flatMap((voter) => {
    const right = isRight(voter.agent)
    return right === undefined ? [] : [toVoice(voter, right)]
  })
  const supporters = answerSupporters(past)
  const followed = (supporters ?? leadingAgents(past)).map(isRight)
  // The answer of a coordinator without any vote, and a decision in other words than any position, cannot be compared.
  const isOpen =
    followed.includes(undefined) || (followed.length === 0 && (supporters === undefined || past.ruling !== undefined))
  const derived = isRuling || followed.includes(true) ? 'right' : isOpen ? undefined : 'wrong'
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

function unknownPosition({ consensus }: PastCollaboration, answer: string): TroupeError {
  return new TroupeError('invalid_input', `\`answer\` '${answer}' is none of the positions of the run`, {
    alternatives: consensus.clusters.map(({ recommendation }) => recommendation),
    hint: 'name a position in the words of an agent; if none was right, use --verdict wrong without --answer',
  })
}
