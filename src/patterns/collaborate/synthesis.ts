import type { ErrorRecord } from '../../errors.ts'
import type { TallyResult, VoteStrategy } from '../../judgement/vote/vote.ts'
import { tally } from '../../judgement/vote/vote.ts'
import type { Agent } from '../../kernel/agent.ts'
import type { Context } from '../../kernel/context.ts'
import { totalTokens } from '../../kernel/spend.ts'
import type { ConsensusState } from './consensus-state.ts'
import { formatConsensus } from './consensus-state.ts'
import { abstentions, ballotsFrom } from './contribution-votes.ts'
import type { Ruling } from './escalate.ts'
import { runInternalCall } from './internal-call.ts'
import { isOutOfBudget } from './out-of-budget.ts'
import type { BestOfEvaluation, Contribution } from './output.ts'
import { contributionText, hasContent } from './output.ts'
import { formatMissing, synthesisPrompt } from './prompts.ts'
import { quoteUntrusted, toSingleLine } from './quote-untrusted.ts'

/** One answer out of several. `failed` says why the answers had to be returned as they are. */
export interface SynthesisResult {
  result: string
  vote?: VoteResult
  best_of?: BestOfEvaluation
  failed?: string
  /** A limit of the run: a resumed one tries again. */
  limitError?: ErrorRecord
  tokens: number
}

export interface VoteResult {
  strategy: VoteStrategy
  winner: string | null
  tie: boolean
  tied?: string[]
  blocked_by?: string[]
  reason: string
}

/** What every synthesis starts from. */
export interface SynthesisInput {
  shared: string
  contributions: readonly Contribution[]
  stand: ConsensusState
  ruling: Ruling | undefined
}

/** All answers, one after the other, and who is missing. */
export function mergeContributions({
  contributions,
  ruling,
}: Pick<SynthesisInput, 'contributions' | 'ruling'>): string {
  const { heard, missing } = partitionByContent(contributions)
  const sections = heard.map((one) => {
    const cut = one.status === 'completed' ? '' : ` [${one.status}]`
    return `### ${toSingleLine(`${one.agent} (${one.role})`)}${cut}\n\n${quoteUntrusted(contributionText(one))}`
  })
  return [...rulingLines(ruling), ...sections, ...missingSection(missing)].join('\n\n---\n\n')
}

/** Counted, not written: no model is asked. */
export function synthesizeByVote(
  material: SynthesisInput,
  strategy: VoteStrategy,
): SynthesisResult & { vote: VoteResult } {
  const { stand, contributions, ruling } = material
  const { votes, equivalence, consensus } = stand
  const outcome = tally(strategy, [...ballotsFrom(votes, equivalence.groups), ...abstentions(contributions)])
  const named = (group: number) => {
    const said = (equivalence.groups[group] ?? []).flatMap((index) => votes[index]?.recommendation.trim() ?? [])
    return (
      consensus.clusters.find(({ recommendation }) => said.includes(recommendation))?.recommendation ?? said[0] ?? ''
    )
  }
  const vote = toVoteResult(outcome, { strategy, named })
  const lines = ruling ? rulingLines(ruling) : [headline(vote)]
  const winner = outcome.winner === null ? [] : (equivalence.groups[outcome.winner] ?? [])
  const [first] = winner.flatMap((index) => votes[index] ?? []).sort((a, b) => b.confidence - a.confidence)
  if (first && !ruling && first.of.response.trim() !== '') lines.push(quoteUntrusted(first.of.response))
  lines.push(`## Votes\n${formatConsensus(stand)}`)
  const agreed = consensus.key_agreements.filter((agreement) => agreement !== vote.winner)
  if (agreed.length > 0) lines.push(`## Agreed\n${bulletList(agreed)}`)
  const minority = consensus.minority_report.map(
    ({ agents, recommendation, concerns }) =>
      `${agents.join(', ')}: ${recommendation}${concerns.length > 0 ? ` (${concerns.join('; ')})` : ''}`,
  )
  if (minority.length > 0) lines.push(`## Dissent\n${bulletList(minority)}`)
  lines.push(...uncountedSection(contributions), ...missingSection(partitionByContent(contributions).missing))
  return { result: lines.join('\n\n'), vote, tokens: 0 }
}

function toVoteResult(
  outcome: TallyResult,
  { strategy, named }: { strategy: VoteStrategy; named(group: number): string },
): VoteResult {
  const { winner, tie, scores, blocked_by, reason } = outcome
  const highest = Math.max(...scores)
  const tied = scores.flatMap((score, group) => (Math.abs(score - highest) <= 1e-9 * highest ? [named(group)] : []))
  return {
    strategy,
    winner: winner === null ? null : named(winner),
    tie,
    ...(tie ? { tied } : undefined),
    ...(blocked_by ? { blocked_by } : undefined),
    reason,
  }
}

function headline({ winner, tie, tied = [], blocked_by, reason }: VoteResult): string {
  if (winner !== null) return `# ${toSingleLine(winner)}`
  if (blocked_by) return `# No decision: blocked by ${toSingleLine(blocked_by.join(', '))}`
  return tie ? `# A tie: ${tied.map(toSingleLine).join(' / ')}` : `# No decision: ${reason}`
}

/** One writes the answer. If it cannot, the answers are returned as they are. */
export async function synthesizeByCoordinator(
  context: Context,
  material: SynthesisInput,
  writer: { agent: Agent; resume: string | undefined },
): Promise<SynthesisResult> {
  const { heard, missing } = partitionByContent(material.contributions)
  const instruction = synthesisPrompt({
    shared: material.shared,
    heard,
    missing,
    agreement: formatConsensus(material.stand),
    ...(material.ruling ? { ruling: material.ruling.decision } : undefined),
  })
  const request =
    writer.resume === undefined ? { instruction, internal: true as const } : { instruction, resume: writer.resume }
  const agent = writer.resume === undefined ? writer.agent : undefined
  const done = await runInternalCall(context, { agent, request, key: 'synthesis/coordinator' })
  if ('why' in done)
    return { result: mergeContributions(material), failed: `the coordinator failed: ${done.why}`, tokens: 0 }
  // A session that goes on counts from its beginning.
  const before = material.contributions.find(({ session_id }) => session_id === writer.resume)?.tokens_used ?? 0
  const tokens = totalTokens(done.usage) - (writer.resume === undefined ? 0 : before)
  if (done.status === 'completed' && done.text.trim() !== '') return { result: done.text, tokens }
  const why = done.error?.message ?? done.stop_reason
  const failed = { result: mergeContributions(material), failed: `the coordinator failed: ${why}`, tokens }
  return done.error && isOutOfBudget(done) ? { ...failed, limitError: done.error } : failed
}

/** Those with something to say, in full or cut short, and those without. A choice without reasons is something too. */
export function partitionByContent(contributions: readonly Contribution[]): {
  heard: Contribution[]
  missing: Contribution[]
} {
  return { heard: contributions.filter(hasContent), missing: contributions.filter((one) => !hasContent(one)) }
}

function rulingLines(ruling: Ruling | undefined): string[] {
  return ruling ? [`Decided by a person: ${toSingleLine(ruling.decision)}`] : []
}

/** Who spoke and has no vote: without this line a share would look like one of all. */
function uncountedSection(contributions: readonly Contribution[]): string[] {
  const { heard } = partitionByContent(contributions)
  // Where the work was divided, the plan has no vote to lose.
  const parts = heard.filter(({ subtask }) => subtask !== undefined)
  const voters = new Set(heard.filter(({ recommendation }) => recommendation !== null).map(({ agent }) => agent))
  const silent = (parts.length > 0 ? parts : heard).map(({ agent }) => agent).filter((name) => !voters.has(name))
  const names = [...new Set(silent)].map((name) => toSingleLine(`${name}: no recommendation that can be counted`))
  return names.length === 0 ? [] : [`## Not counted\n${bulletList(names)}`]
}

export function missingSection(missing: readonly Contribution[]): string[] {
  return missing.length === 0 ? [] : [`## Not heard\n${formatMissing(missing)}`]
}

function bulletList(lines: readonly string[]): string {
  return lines.map((line) => `- ${toSingleLine(line)}`).join('\n')
}
