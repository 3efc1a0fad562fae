import type { Context } from '../../kernel/context.ts'
import type { Asking } from './contribute.ts'
import { askAgain } from './contribute.ts'
import type { CollaborateInput } from './input.ts'
import type { Contribution } from './output.ts'
import { mediationPrompt } from './prompts.ts'
import type { Specialist } from './specialists.ts'
import type { Stand } from './stand.ts'

/** What a person said when the voices could not agree. */
export interface Ruling {
  by: 'person'
  decision: string
}

export function inConflict({ consensus }: Stand): boolean {
  return consensus.clusters.length > 1 && !consensus.has_consensus
}

/** One round in which every side hears the others; who does not answer keeps what it said. */
export async function mediated(
  site: Asking,
  stand: Stand,
  { specialists, max_parallel }: { specialists: readonly Specialist[]; max_parallel: number },
): Promise<Map<Contribution, Contribution>> {
  const sides = stand.voices.flatMap(({ of }, index) => {
    const who = specialists.find(({ name }) => name === of.agent)
    return who && of.session_id !== undefined ? [{ who, of, others: others(stand, index) }] : []
  })
  const heard = await site.context.parallel(sides, max_parallel, ({ who, of, others: said }, index) => {
    // Not under the first question's key: that one has ended, and what stands under it counts as done with it.
    const key = `mediation/${index + 1}/${encodeURIComponent(who.name)}`
    return askAgain(site, { who, earlier: of, key, instruction: mediationPrompt(said) })
  })
  return new Map(
    sides.flatMap(({ of }, index) => {
      const now = heard[index]
      return now?.ok ? [[of, now.value] as const] : []
    }),
  )
}

function others({ voices, equivalence }: Stand, index: number): Contribution[] {
  const own = equivalence.groups.find((group) => group.includes(index)) ?? []
  return voices.flatMap(({ of }, other) => (own.includes(other) ? [] : [of]))
}

/** Asks a person, with every position and who stands behind it. */
export async function escalated(
  context: Context,
  input: Pick<CollaborateInput, 'task'>,
  { consensus }: Stand,
): Promise<Ruling> {
  const positions = consensus.clusters.map(({ recommendation, agents, share }, index) => {
    const percent = Math.round(share * 100)
    return `${index + 1}. ${recommendation} (${agents.join(', ')}; ${percent} %)`
  })
  const question = [
    `The specialists do not agree on: ${short(input.task)}`,
    ...positions,
    'Answer with a number, or say what should be done instead.',
  ].join('\n')
  const answer = String(await context.ask('conflict', { question, detail: { positions: consensus.clusters } }))
  const chosen = /^\d+$/.test(answer.trim()) ? consensus.clusters[Number(answer) - 1] : undefined
  return { by: 'person', decision: chosen?.recommendation ?? answer }
}

function short(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > 200 ? `${line.slice(0, 199)}…` : line
}
