import { z } from 'zod'
import type { Outcome, VoteStrategy } from '../../judgement/vote.ts'
import { tally } from '../../judgement/vote.ts'
import type { Agent } from '../../kernel/agent.ts'
import type { Context } from '../../kernel/context.ts'
import type { SessionResult } from '../../kernel/session.ts'
import type { Ruling } from './conflict.ts'
import { errand } from './errand.ts'
import type { Contribution } from './output.ts'
import { evaluationPrompt, missingLines, synthesisPrompt } from './prompts.ts'
import type { Stand } from './stand.ts'
import { standInWords } from './stand.ts'
import { abstentions, ballotsOf } from './voices.ts'

/** One answer out of several. `failed` says why the answers had to be returned as they are. */
export interface Synthesised {
  result: string
  vote?: Vote
  best_of?: Evaluation
  failed?: string
  tokens: number
}

export interface Vote {
  strategy: VoteStrategy
  winner: string | null
  tie: boolean
  tied?: string[]
  blocked_by?: string[]
  reason: string
}

export interface Evaluation {
  index: number
  agent: string
  reason: string
  scores: { agent: string; score: number; reason: string }[]
}

/** What every synthesis starts from. */
export interface Material {
  shared: string
  contributions: readonly Contribution[]
  stand: Stand
  ruling: Ruling | undefined
}

/** All answers, one after the other, and who is missing. */
export function merged({ contributions, ruling }: Pick<Material, 'contributions' | 'ruling'>): string {
  const { heard, missing } = split(contributions)
  const sections = heard.map(({ agent, role, response, status }) => {
    const cut = status === 'completed' ? '' : ` [${status}]`
    return `### ${agent} (${role})${cut}\n\n${response}`
  })
  return [...decided(ruling), ...sections, ...absent(missing)].join('\n\n---\n\n')
}

/** Counted, not written: no model is asked. */
export function voted(material: Material, strategy: VoteStrategy): Synthesised & { vote: Vote } {
  const { stand, contributions, ruling } = material
  const { voices, equivalence, consensus } = stand
  const outcome = tally(strategy, [...ballotsOf(voices, equivalence.groups), ...abstentions(contributions)])
  const named = (group: number) => {
    const said = (equivalence.groups[group] ?? []).flatMap((index) => voices[index]?.recommendation.trim() ?? [])
    return (
      consensus.clusters.find(({ recommendation }) => said.includes(recommendation))?.recommendation ?? said[0] ?? ''
    )
  }
  const vote = voteOf(outcome, { strategy, named })
  const lines = ruling ? decided(ruling) : [headline(vote)]
  const winner = outcome.winner === null ? [] : (equivalence.groups[outcome.winner] ?? [])
  const [first] = winner.flatMap((index) => voices[index] ?? []).sort((a, b) => b.confidence - a.confidence)
  if (first && !ruling) lines.push(first.of.response)
  lines.push(`## Votes\n${standInWords(stand)}`)
  const agreed = consensus.key_agreements.filter((agreement) => agreement !== vote.winner)
  if (agreed.length > 0) lines.push(`## Agreed\n${listed(agreed)}`)
  const minority = consensus.minority_report.map(
    ({ agents, recommendation, concerns }) =>
      `${agents.join(', ')}: ${recommendation}${concerns.length > 0 ? ` (${concerns.join('; ')})` : ''}`,
  )
  if (minority.length > 0) lines.push(`## Dissent\n${listed(minority)}`)
  lines.push(...absent(split(contributions).missing))
  return { result: lines.join('\n\n'), vote, tokens: 0 }
}

function voteOf(outcome: Outcome, { strategy, named }: { strategy: VoteStrategy; named(group: number): string }): Vote {
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

function headline({ winner, tie, tied = [], blocked_by, reason }: Vote): string {
  if (winner !== null) return `# ${winner}`
  if (blocked_by) return `# No decision: blocked by ${blocked_by.join(', ')}`
  return tie ? `# A tie: ${tied.join(' / ')}` : `# No decision: ${reason}`
}

/** One writes the answer. If it cannot, the answers are returned as they are. */
export async function coordinated(
  context: Context,
  material: Material,
  writer: { agent: Agent; resume: string | undefined },
): Promise<Synthesised> {
  const { heard, missing } = split(material.contributions)
  const instruction = synthesisPrompt({
    shared: material.shared,
    heard,
    missing,
    agreement: standInWords(material.stand),
    ...(material.ruling ? { ruling: material.ruling.decision } : undefined),
  })
  const request =
    writer.resume === undefined ? { instruction, errand: true as const } : { instruction, resume: writer.resume }
  const agent = writer.resume === undefined ? writer.agent : undefined
  const done = await errand(context, { agent, request, key: 'synthesis/coordinator' })
  if ('why' in done) return { result: merged(material), failed: `the coordinator failed: ${done.why}`, tokens: 0 }
  // A session that goes on counts from its beginning.
  const before = material.contributions.find(({ session_id }) => session_id === writer.resume)?.tokens_used ?? 0
  const tokens = tokensOf(done) - (writer.resume === undefined ? 0 : before)
  if (done.status === 'completed' && done.text.trim() !== '') return { result: done.text, tokens }
  const why = done.error?.message ?? done.stop_reason
  return { result: merged(material), failed: `the coordinator failed: ${why}`, tokens }
}

const evaluation = z.object({
  scores: z.array(z.object({ answer: z.int(), score: z.number().min(1).max(10), reason: z.string() })),
  best: z.int(),
  reason: z.string(),
})

/** An evaluator scores the answers without knowing whose they are. */
export async function bestOf(
  context: Context,
  material: Material,
  { evaluator, criteria }: { evaluator: Agent; criteria: readonly string[] },
): Promise<Synthesised> {
  const { heard } = split(material.contributions)
  // Where the work was divided, the plan is no answer.
  const parts = heard.filter(({ subtask }) => subtask !== undefined)
  const answers = parts.length > 0 ? parts : heard
  const request = {
    instruction: evaluationPrompt(material.shared, answers, ruled(criteria, material.ruling)),
    output: evaluation,
    errand: true as const,
  }
  const done = await errand(context, { agent: evaluator, request, key: 'synthesis/evaluator' })
  const failed = (why: string, tokens: number) => ({
    result: merged(material),
    failed: `the evaluator failed: ${why}`,
    tokens,
  })
  if ('why' in done) return failed(done.why, 0)
  if (!done.object) return failed(done.error?.message ?? done.stop_reason, tokensOf(done))
  const judged = evaluated(done.object as z.output<typeof evaluation>, answers)
  if (!judged) return failed('it scored none of the answers', tokensOf(done))
  const best = answers[judged.index] as Contribution
  // Whoever reads the result looks among all contributions, not only among those that were scored.
  const best_of = { ...judged, index: material.contributions.indexOf(best) }
  return { result: best.response, best_of, tokens: tokensOf(done) }
}

function ruled(criteria: readonly string[], ruling: Ruling | undefined): readonly string[] {
  return ruling ? [`agreement with what a person decided: ${ruling.decision}`, ...criteria] : criteria
}

/** The best is the one it names if that has the highest score; an evaluator that contradicts itself goes by its scores. */
function evaluated(said: z.output<typeof evaluation>, answers: readonly Contribution[]): Evaluation | undefined {
  const scores = answers.flatMap(({ agent }, index) => {
    const found = said.scores.find(({ answer }) => answer === index + 1)
    return found ? [{ index, agent, score: found.score, reason: found.reason }] : []
  })
  const highest = Math.max(...scores.map(({ score }) => score))
  const top = scores.filter(({ score }) => score === highest)
  const best = top.find(({ index }) => index === said.best - 1) ?? top[0]
  if (!best) return undefined
  const reason = best.index === said.best - 1 ? said.reason : best.reason
  return {
    index: best.index,
    agent: best.agent,
    reason,
    scores: scores.map(({ agent, score, reason: why }) => ({ agent, score, reason: why })),
  }
}

/** Those with something to say, in full or cut short, and those without. */
export function split(contributions: readonly Contribution[]): { heard: Contribution[]; missing: Contribution[] } {
  const said = ({ response }: Contribution) => response.trim() !== ''
  return { heard: contributions.filter(said), missing: contributions.filter((contribution) => !said(contribution)) }
}

function decided(ruling: Ruling | undefined): string[] {
  return ruling ? [`Decided by a person: ${ruling.decision}`] : []
}

function absent(missing: readonly Contribution[]): string[] {
  return missing.length === 0 ? [] : [`## Not heard\n${missingLines(missing)}`]
}

function listed(lines: readonly string[]): string {
  return lines.map((line) => `- ${line}`).join('\n')
}

function tokensOf({ usage }: SessionResult): number {
  return usage.input + usage.output
}
