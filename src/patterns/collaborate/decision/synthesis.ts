import type { ErrorRecord } from '../../../errors.ts'
import { isSupported } from '../../../judgement/vote/support.ts'
import { tallyUnclear } from '../../../judgement/vote/unclear-votes.ts'
import type { TallyResult, VoteStrategy } from '../../../judgement/vote/vote.ts'
import type { Agent } from '../../../kernel/agent.ts'
import type { Context } from '../../../kernel/context.ts'
import { hasWords } from '../../../requests/shown-marks.ts'
import type { BestOfEvaluation, Contribution } from '../output.ts'
import { contributionText, hasContent } from '../output.ts'
import { synthesisPrompt } from '../prompts/coordinator-prompt.ts'
import { isDivision } from '../prompts/divider-prompt.ts'
import { formatMissing } from '../prompts/prompt-sections.ts'
import { quoteUntrusted, toSingleLine } from '../prompts/quote-untrusted.ts'
import type { ConsensusState } from './consensus-state.ts'
import { formatConsensus, formatTally } from './consensus-state.ts'
import { abstentions, ballotsFrom } from './contribution-votes.ts'
import type { Ruling } from './escalate.ts'

/** The synthesized answer. `failed` is the reason why the contributions were merged instead. */
export interface SynthesisResult {
  result: string
  vote?: VoteResult
  best_of?: BestOfEvaluation
  failed?: string
  /** Why the answer is incomplete. */
  problem?: string
  /** The failure of the coordinator or evaluator, which resume can retry. */
  error?: ErrorRecord
  tokens: number
  /** Whether there is no decision, or no answer to write one from. */
  undecided?: true
}

export interface VoteResult {
  strategy: VoteStrategy
  /** The position that won; `null` without a decision. `consensus.clusters` begins with the highest score. */
  winner: string | null
  tie: boolean
  tied?: string[]
  blocked_by?: string[]
  /** Pairs of recommendations that may be the same, if the outcome depends on them. */
  unclear?: [string, string][]
  reason: string
}

export interface SynthesisInput {
  shared: string
  contributions: readonly Contribution[]
  consensusState: ConsensusState
  ruling: Ruling | undefined
}

/** All answers in order, and the missing ones. */
export function mergeContributions({
  contributions,
  ruling,
}: Pick<SynthesisInput, 'contributions' | 'ruling'>): string {
  const { answered, missing } = partitionByContent(contributions)
  const sections = answered.map((contribution) => {
    const { agent, role, status } = contribution
    const suffix = status === 'completed' ? '' : ` [${status}]`
    return `### ${toSingleLine(`${agent} (${role})`)}${suffix}\n\n${quoteUntrusted(contributionText(contribution))}`
  })
  return [...rulingLines(ruling), ...sections, ...missingSection(missing)].join('\n\n---\n\n')
}

/** Counts the votes without a model request. */
export function synthesizeByVote(
  { consensusState, contributions, ruling }: SynthesisInput,
  strategy: VoteStrategy,
): SynthesisResult & { vote: VoteResult } {
  const { votes, equivalence, consensus } = consensusState
  const ballots = [...ballotsFrom(votes, equivalence.groups), ...abstentions(contributions)]
  const outcome = tallyUnclear(strategy, ballots, equivalence)
  const formatGroup = (group: number) => {
    const texts = (equivalence.groups[group] ?? []).flatMap((index) => votes[index]?.recommendation.trim() ?? [])
    const cluster = consensus.clusters.find(({ recommendation }) => texts.includes(recommendation))
    return cluster?.recommendation ?? texts[0] ?? ''
  }
  const { unclear = [] } = consensus
  const winning = (outcome.winner === null ? [] : (equivalence.groups[outcome.winner] ?? [])).flatMap(
    (index) => votes[index] ?? [],
  )
  const hasSupport = isSupported(winning, votes, countVoters(contributions))
  const isDecided = ruling !== undefined || hasSupport
  const counted = toVoteResult(outcome, { strategy, formatGroup })
  const leader = counted.winner
  const support = { leader, votes: winning.length, of: votes.length, hasConsensus: consensus.has_consensus }
  const vote = {
    ...counted,
    ...(leader === null || hasSupport ? undefined : { winner: null, reason: unsupportedReason(support) }),
    ...(outcome.unclear ? { unclear } : undefined),
  }
  const sections = ruling ? rulingLines(ruling) : [headline(vote, support)]
  const [first] = winning.sort((a, b) => b.confidence - a.confidence)
  const response = first?.contribution.response ?? ''
  if (!ruling && isDecided && hasWords(response)) sections.push(quoteUntrusted(response))
  sections.push(`## Votes\n${formatConsensus(consensusState)}`)
  const agreements = consensus.key_agreements.filter((agreement) => agreement !== leader)
  if (agreements.length > 0) sections.push(`## Agreed\n${bulletList(agreements)}`)
  const minority = consensus.minority_report.map(
    ({ agents, recommendation, concerns }) =>
      `${agents.join(', ')}: ${recommendation}${concerns.length > 0 ? ` (${concerns.join('; ')})` : ''}`,
  )
  if (minority.length > 0) sections.push(`## ${isDecided ? 'Dissent' : 'Positions'}\n${bulletList(minority)}`)
  if (unclear.length > 0)
    sections.push(`## Unclear\n${bulletList(unclear.map(([one, other]) => `may be the same: ${one} / ${other}`))}`)
  sections.push(...uncountedSection(contributions), ...missingSection(partitionByContent(contributions).missing))
  return { result: sections.join('\n\n'), vote, tokens: 0, ...(isDecided ? undefined : { undecided: true as const }) }
}

/** In hierarchical mode the plan is no vote. */
function countVoters(contributions: readonly Contribution[]): number {
  const parts = contributions.filter(({ subtask }) => subtask !== undefined)
  return new Set((parts.length > 0 ? parts : contributions).map(({ agent }) => agent)).size
}

interface WinnerSupport {
  /** The position with the highest score, whether it won or not. */
  leader: string | null
  votes: number
  of: number
  hasConsensus: boolean
}

function unsupportedReason({ votes, of }: WinnerSupport): string {
  return of === 1 ? 'only one recommendation can be counted' : `the highest score has ${votes} of ${of} votes`
}

function toVoteResult(
  outcome: TallyResult,
  { strategy, formatGroup }: { strategy: VoteStrategy; formatGroup(group: number): string },
): VoteResult {
  const { winner, tie, scores, blocked_by, reason } = outcome
  const highest = Math.max(...scores)
  const tied = scores.flatMap((score, group) =>
    Math.abs(score - highest) <= 1e-9 * highest ? [formatGroup(group)] : [],
  )
  return {
    strategy,
    winner: winner === null ? null : formatGroup(winner),
    tie,
    ...(tie ? { tied } : undefined),
    ...(blocked_by ? { blocked_by } : undefined),
    reason,
  }
}

/** The first line says what was decided, or that nothing was. */
function headline({ winner, tie, tied = [], blocked_by, reason }: VoteResult, support: WinnerSupport): string {
  const { leader } = support
  if (winner === null && leader !== null) return `# No decision: ${reason} (${toSingleLine(leader)})`
  if (winner !== null) {
    const { votes, of, hasConsensus } = support
    return `# ${toSingleLine(winner)}${hasConsensus || of < 2 ? '' : ` (no consensus: ${votes} of ${of} votes)`}`
  }
  if (blocked_by) return `# No decision: blocked by ${toSingleLine(blocked_by.join(', '))}`
  return tie ? `# Tie: ${tied.map(toSingleLine).join(' / ')}` : `# No decision: ${reason}`
}

/** Lets the coordinator write the answer. If it fails, the contributions are merged. */
export async function synthesizeByCoordinator(
  context: Context,
  input: SynthesisInput,
  coordinator: { agent: Agent; resume: string | undefined },
): Promise<SynthesisResult> {
  const { contributions, shared, ruling } = input
  const { answered, missing } = partitionByContent(contributions)
  const { resume } = coordinator
  const prompt = synthesisPrompt({
    // The session of a resumed coordinator begins with the task.
    shared: resume === undefined ? shared : '',
    answered,
    missing,
    tally: formatTally(input.consensusState),
    ...(ruling ? { ruling: ruling.decision } : undefined),
  })
  const { status, text, error, stop_reason, ...session } = await context.request({
    key: 'synthesis/coordinator',
    agent: resume === undefined ? coordinator.agent : undefined,
    prompt,
    ...(resume === undefined ? { internal: true } : { resume }),
  })
  // The usage of a resumed session includes its earlier turns.
  const earlierTokens = contributions.find(({ session_id }) => session_id === resume)?.tokens_used ?? 0
  const tokens = session.tokens - (resume === undefined || session.tokens === 0 ? 0 : earlierTokens)
  const toFailure = (reason: string) => ({
    result: mergeContributions(input),
    failed: `the coordinator failed: ${reason}`,
    tokens,
  })
  if (resume !== undefined && isDivision(text)) return toFailure('it sent its division of the task again')
  if (status === 'completed' && text.trim() !== '') {
    const problem = `the answer of the coordinator is incomplete: stop_reason ${stop_reason}`
    return { result: text, tokens, ...(stop_reason === 'completed' ? undefined : { problem }) }
  }
  return { ...toFailure(error?.message ?? stop_reason), ...(error ? { error } : undefined) }
}

/** Contributions with content, complete or partial, and those without. A recommendation without text is content. */
export function partitionByContent(contributions: readonly Contribution[]): {
  answered: Contribution[]
  missing: Contribution[]
} {
  return {
    answered: contributions.filter(hasContent),
    missing: contributions.filter((contribution) => !hasContent(contribution)),
  }
}

/** The result if no agent gave an answer that has words. */
export function noAnswer(missing: readonly Contribution[]): SynthesisResult {
  const reason = 'no agent gave an answer'
  const result = [`# No decision: ${reason}`, ...missingSection(missing)].join('\n\n')
  return { result, tokens: 0, problem: reason, undecided: true }
}

function rulingLines(ruling: Ruling | undefined): string[] {
  return ruling ? [`Decided by a person: ${toSingleLine(ruling.decision)}`] : []
}

/** Lists agents without a vote, so that the shares are not mistaken for shares of all agents. */
function uncountedSection(contributions: readonly Contribution[]): string[] {
  const { answered } = partitionByContent(contributions)
  // In hierarchical mode the plan has no vote.
  const parts = answered.filter(({ subtask }) => subtask !== undefined)
  const voters = new Set(answered.filter(({ recommendation }) => recommendation !== null).map(({ agent }) => agent))
  const uncounted = (parts.length > 0 ? parts : answered).map(({ agent }) => agent).filter((name) => !voters.has(name))
  const lines = [...new Set(uncounted)].map((name) => toSingleLine(`${name}: no recommendation that can be counted`))
  return lines.length === 0 ? [] : [`## Not counted\n${bulletList(lines)}`]
}

export function missingSection(missing: readonly Contribution[]): string[] {
  return missing.length === 0 ? [] : [`## No answer\n${formatMissing(missing)}`]
}

function bulletList(lines: readonly string[]): string {
  return lines.map((line) => `- ${toSingleLine(line)}`).join('\n')
}
