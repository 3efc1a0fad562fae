import assert from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import type { Event } from 'troupe'
import { createTroupe, isEvent } from 'troupe'
import { review } from './review.ts'

// A pattern of our own, as a run and as a tool of an agent. Runs offline: the replies come from script.json.
const script = fileURLToPath(new URL('script.json', import.meta.url))
const agent = (name: string) => ({ name, description: `the ${name}`, instructions: `You are the ${name}.` })
const agents = ['author', 'editor', 'lawyer', 'engineer'].map(agent)
const troupe = await createTroupe({ store: 'memory', model: `scripted:${script}`, agents, patterns: [review] })

const votes = (events: readonly Event[]) =>
  events.flatMap((event) => (isEvent(event, 'review:vote') ? [event.data.agent] : []))

// 1. As a run. One approval is enough, so the engineer is not asked.
const reviewers = ['editor', 'lawyer', 'engineer']
const run = await troupe.run('review', { text: 'We never lose data.', reviewers, needed: 1 })
assert.equal(run.status, 'completed')
assert.deepEqual(run.output, {
  approved: true,
  votes: [
    { agent: 'editor', approve: false, reason: 'Too strong a claim.' },
    { agent: 'lawyer', approve: true, reason: 'We can prove it.' },
  ],
})
const events = await troupe.events(run.run_id).all()
assert.deepEqual(votes(events), ['editor', 'lawyer'])
const { panels } = await troupe.panels(run.run_id)
const blocks = panels.find(({ id }) => id === 'review')?.blocks ?? []
const facts = blocks.flatMap((block) => (block.kind === 'facts' ? block.facts : []))
const lines = facts.map(({ label, value }) => `${label}: ${value}`)
assert.deepEqual(lines, ['decision: approved', 'approvals: 1 of 2'])
console.log(lines.join('\n'))

// 2. As a tool, under its alias: the author asks for a second opinion and gets the output as the tool's result.
const task = await troupe.run('task', { agent: 'author', instruction: 'Publish: We never lose data.' })
assert.equal((task.output as { response: string }).response, 'Published after one objection.')
assert.deepEqual(votes(await troupe.events(task.run_id).all()), ['editor', 'lawyer'])

// 3. Wrong input is refused before a run is written.
await assert.rejects(troupe.run('review', { text: 'x', reviewers: ['nobody'] }), { code: 'unknown_agent' })
await troupe.close()
