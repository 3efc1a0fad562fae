import type { ErrorRecord } from '../../errors.ts'
import type { Outcome, VoteStrategy } from '../../judgement/vote.ts'
import { tally } from '../../judgement/vote.ts'
import type { Agent } from '../../kernel/agent.ts'
import type { Context } from '../../kernel/context.ts'
import { tokensOf } from '../../kernel/ledger.ts'
import { outOfBudget } from './budget.ts'
import { errand } from './errand.ts'
import type { Ruling } from './escalate.ts'
import { contained, oneLine } from './foreign-text.ts'
import type { Contribution, Evaluation } from './output.ts'
import { hasSpoken, wordsOf } from './output.ts'
import { missingLines, synthesisPrompt } from './prompts.ts'
import type { Stand } from './stand.ts'
import { standInWords } from './stand.ts'
import { abstentions, ballotsOf } from './voices.ts'

/** One answer out of several. `failed` says why the answers had to be returned as they are. */
export interface Synthesised {
  result: string
  vote?: Vote
  best_of?: Evaluation
  failed?: string
  /** A limit of the run: a resumed one tries again. */
  stopped?: ErrorRecord
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
  const sections = heard.map((one) => {
    const cut = one.status === 'completed' ? '' : ` [${one.status}]`
    return `### ${oneLine(`${one.agent} (${one.role})`)}${cut}\n\n${contained(wordsOf(one))}`
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
  if (first && !ruling && first.of.response.trim() !== '') lines.push(contained(first.of.response))
  lines.push(`## Votes\n${standInWords(stand)}`)
  const agreed = consensus.key_agreements.filter((agreement) => agreement !== vote.winner)
  if (agreed.length > 0) lines.push(`## Agreed\n${listed(agreed)}`)
  const minority = consensus.minority_report.map(
    ({ agents, recommendation, concerns }) =>
      `${agents.join(', ')}: ${recommendation}${concerns.length > 0 ? ` (${concerns.join('; ')})` : ''}`,
  )
  if (minority.length > 0) lines.push(`## Dissent\n${listed(minority)}`)
  lines.push(...uncounted(contributions), ...absent(split(contributions).missing))
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
  if (winner !== null) return `# ${oneLine(winner)}`
  if (blocked_by) return `# No decision: blocked by ${oneLine(blocked_by.join(', '))}`
  return tie ? `# A tie: ${tied.map(oneLine).join(' / ')}` : `# No decision: ${reason}`
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
  const tokens = tokensOf(done.usage) - (writer.resume === undefined ? 0 : before)
  if (done.status === 'completed' && done.text.trim() !== '') return { result: done.text, tokens }
  const why = done.error?.message ?? done.stop_reason
  const failed = { result: merged(material), failed: `the coordinator failed: ${why}`, tokens }
  return done.error && outOfBudget(done) ? { ...failed, stopped: done.error } : failed
}

/** Those with something to say, in full or cut short, and those without. A choice without reasons is something too. */
export function split(contributions: readonly Contribution[]): { heard: Contribution[]; missing: Contribution[] } {
  return { heard: contributions.filter(hasSpoken), missing: contributions.filter((one) => !hasSpoken(one)) }
}

function decided(ruling: Ruling | undefined): string[] {
  return ruling ? [`Decided by a person: ${oneLine(ruling.decision)}`] : []
}

/** Who spoke and has no vote: without this line a share would look like one of all. */
function uncounted(contributions: readonly Contribution[]): string[] {
  const { heard } = split(contributions)
  // Where the work was divided, the plan has no vote to lose.
  const parts = heard.filter(({ subtask }) => subtask !== undefined)
  const voters = new Set(heard.filter(({ recommendation }) => recommendation !== null).map(({ agent }) => agent))
  const silent = (parts.length > 0 ? parts : heard).map(({ agent }) => agent).filter((name) => !voters.has(name))
  const names = [...new Set(silent)].map((name) => oneLine(`${name}: no recommendation that can be counted`))
  return names.length === 0 ? [] : [`## Not counted\n${listed(names)}`]
}

export function absent(missing: readonly Contribution[]): string[] {
  return missing.length === 0 ? [] : [`## Not heard\n${missingLines(missing)}`]
}

function listed(lines: readonly string[]): string {
  return lines.map((line) => `- ${oneLine(line)}`).join('\n')
}
