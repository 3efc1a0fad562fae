import { expect, test } from 'vitest'
import type { Reply } from '../../../../test/support/consult-replies.ts'
import { answerJson, asker, consultCall, routeTo } from '../../../../test/support/consult-replies.ts'
import {
  CONSULT_TOOLS,
  collectCall,
  consultAgents,
  consultResult,
  createConsultTroupe,
} from '../../../../test/support/consultation.ts'
import { agent } from '../../../../test/support/test-troupe.ts'

/* Wait-for cycles in whole runs: whatever stands between them, an agent that waits for the asker is not asked. */

const QUESTION = 'Which page needs the field?'
const MISSING = { answer: null, missing_information: ['Which page is it?'], who_could_know: null }
const agents = [
  ...consultAgents.flatMap((each) =>
    each.name === 'guarding' ? [] : [{ ...each, tools: [...CONSULT_TOOLS, 'task'] }],
  ),
  agent('lead', { tools: [...CONSULT_TOOLS, 'task', 'team', 'collaborate'] }),
]

/** Runs the lead; who consults with `QUESTION` would be sent to the lead, other questions go to `answering`. */
const pages = {
  name: 'Pages',
  agents: [{ name: 'asking' }, { name: 'reporting', tools: [] }],
  handoffs: [{ from_agent: 'asking', to_agent: 'reporting' }],
}

async function runLead(replies: Record<string, Reply>) {
  const seen: unknown[] = []
  /** Consults in its first turn and answers in its second. */
  const consulting: Reply = (request) => {
    if (request.session.turn === 1) return { calls: [consultCall(QUESTION)] }
    seen.push(consultResult(request))
    return answerJson('It depends on the page.')
  }
  const orchestrator: Reply = ({ messages }) => {
    const text = JSON.stringify(messages)
    if (text.includes('<cycle>')) return { text: JSON.stringify(MISSING) }
    return routeTo(text.includes(QUESTION) ? 'lead' : 'answering')
  }
  const created = await createConsultTroupe(
    {
      orchestrator,
      answering: consulting,
      asking: consulting,
      checking: consulting,
      reporting: { text: 'Done.' },
      ...replies,
    },
    { agents, team: { teams: [pages] }, limits: { depth: 2 } },
  )
  const run = await created.task('lead', 'Build the page.')
  const loops = (await created.consultEvents(run.run_id)).filter(({ type }) => type === 'consult:loop')
  const leads = created.model.requests.filter(({ session }) => session.agent === 'lead')
  return { run, seen, loops, sessionsOfLead: new Set(leads.map(({ session }) => session.session_id)).size }
}

const delegate = (to: string) => ({ agent: to, instruction: 'Find out what the page needs.' })
const once = (name: string, input: unknown): Reply => asker(() => [{ name, input }])

test.each<[string, Record<string, Reply>, string]>([
  [
    'two levels of `task`',
    { lead: once('task', delegate('asking')), asking: once('task', delegate('checking')) },
    'checking → lead → asking → checking',
  ],
  [
    'a team',
    {
      lead: once('team', { team: 'Pages', message: 'Build it.' }),
    },
    'asking → lead → asking',
  ],
  [
    'a collaboration',
    { lead: once('collaborate', { task: 'Build it?', agents: ['asking'], synthesis: 'merge' }) },
    'asking → lead → asking',
  ],
  [
    'a consultation in the background',
    {
      lead: asker(() => [consultCall('Which fields are there?', { background: true })], collectCall),
    },
    'answering → lead → answering',
  ],
])('CS216 a wait-for cycle through %s is found', async (_, replies, cycle) => {
  const { run, seen, loops, sessionsOfLead } = await runLead(replies)
  expect(run.status).toBe('completed')
  expect(seen).toMatchObject([{ consulted_agent: 'orchestrator', missing_information: MISSING.missing_information }])
  expect(loops.map(({ data }) => data)).toMatchObject([
    { loop_type: 'circular_dependency', resolution: 'resolved', notes: expect.stringContaining(cycle) },
  ])
  expect(sessionsOfLead).toBe(1)
})
