import type { DeclaredEvent } from 'troupe/patterns'
import { definePattern, definePatternView } from 'troupe/patterns'
import { z } from 'zod'

// A pattern of our own: several agents review a text, one after the other, until it has enough votes.
const input = z.strictObject({
  text: z.string().min(1).describe('The text to review.'),
  reviewers: z.array(z.string()).min(1).describe('The agents that review it.'),
  needed: z.int().min(1).default(2).describe('The number of approvals that are enough.'),
})
const verdict = z.strictObject({ approve: z.boolean(), reason: z.string() })
const output = z.strictObject({
  approved: z.boolean(),
  votes: z.array(z.strictObject({ agent: z.string(), ...verdict.shape })),
})

const events = {
  'review:vote': z.strictObject({ agent: z.string(), ...verdict.shape }),
  'review:decided': z.strictObject({ approved: z.boolean(), saved: z.int() }),
}

// What people see of it: a pure reducer over its events, marks of what an event means, and blocks from the reduced state.
interface Tally {
  votes: { agent: string; approve: boolean }[]
  approved?: boolean
}

const view = definePatternView<Tally, DeclaredEvent<typeof events>>({
  initial: () => ({ votes: [] }),
  reduce(tally, { type, data }) {
    if (type === 'review:decided') return { ...tally, approved: data.approved }
    return { ...tally, votes: [...tally.votes, { agent: data.agent, approve: data.approve }] }
  },
  timeline(_tally, { type, data }) {
    if (type === 'review:decided') return [{ kind: 'phase', title: data.approved ? 'Approved' : 'Rejected' }]
    const text = `${data.approve ? 'approves' : 'objects'}: ${data.reason}`
    return [{ kind: 'progress', text, share: null, agent: data.agent }]
  },
  panels({ votes, approved = false }) {
    const yes = votes.filter(({ approve }) => approve)
    const facts = [
      { label: 'decision', value: approved ? 'approved' : 'rejected' },
      { label: 'approvals', value: `${yes.length} of ${votes.length}` },
    ]
    return [{ id: 'review', title: 'Review', blocks: [{ kind: 'facts', facts }] }]
  },
})

export const review = definePattern({
  name: 'review',
  version: 1,
  description: 'Let several agents review a text. They vote one after the other, until enough of them approve.',
  category: 'task_management',
  // Agents find its tool under this name, too.
  aliases: ['second_opinion'],
  input,
  output,
  events,
  view,
  // Permission rules such as `review(critic)` match these names.
  agents: ({ reviewers }) => reviewers,
  delegation: { self: 'refuse', cycles: 'refuse' },
  check(roster, { reviewers }) {
    for (const name of reviewers) roster.get(name)
  },
  async execute(context, { text, reviewers, needed }) {
    const votes: z.output<typeof output>['votes'] = []
    for (const [index, name] of reviewers.entries()) {
      if (votes.filter(({ approve }) => approve).length >= needed) break
      const request = { instruction: `Review this text:\n\n${text}`, output: verdict }
      const session = await context.perform(context.roster.get(name), request, { key: `reviewer/${index}` })
      if (session.error)
        return { success: false, error: session.error.message, detail: session.error, output: { votes } }
      const vote = { agent: name, ...verdict.parse(session.object) }
      votes.push(vote)
      context.emit(`reviewer/${index}/vote`, 'review:vote', vote)
    }
    const approved = votes.filter(({ approve }) => approve).length >= needed
    context.emit('decided', 'review:decided', { approved, saved: reviewers.length - votes.length })
    return { success: true, output: { approved, votes } }
  },
})
