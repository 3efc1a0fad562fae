import { createTroupe } from '../../src/index.ts'
import { answerJson, asker, consultCall, routeTo } from '../support/consult-replies.ts'
import { collectCall, consultAgents } from '../support/consultation.ts'
import { functionModel, lastMessageText } from '../support/test-troupe.ts'

/*
 * A process that consults on a store. `queue NAME COUNT`: asks one question of each urgency at once, and answers when COUNT questions of all processes wait.
 * `run` and `background`: the specialist writes something and then hangs, until the process is killed. Prints a line for each model request.
 */

const [store = '', mode = '', name = '', count = '0'] = process.argv.slice(2)
const URGENCIES = ['normal', 'low', 'critical', 'high']

const asking = {
  queue: asker(() => URGENCIES.map((urgency) => consultCall(`What does ${name} need (${urgency})?`, { urgency }))),
  background: asker(
    () => [consultCall('Which fields are there?', { urgency: 'critical', background: true })],
    collectCall,
  ),
}

async function allWait(): Promise<void> {
  // The other process may have seen all of them earlier, and have answered some.
  const where = { status: ['in_progress', 'resolved'] }
  while ((await troupe.query({ table: 'agent_collaborations', where }).all()).length < Number(count))
    await new Promise((resolve) => setTimeout(resolve, 5))
}

let isFirst = true
const model = functionModel(async (request) => {
  const { agent, turn } = request.session
  const [, urgency = ''] = /\((\w+)\)\?/.exec(lastMessageText(request)) ?? []
  console.log(JSON.stringify({ agent, turn, urgency }))
  if (agent === 'orchestrator') return routeTo('answering')
  if (agent === 'asking') {
    const reply = mode === 'background' ? asking.background : asking.queue
    return typeof reply === 'function' ? reply(request) : reply
  }
  if (mode === 'queue') {
    if (isFirst) {
      isFirst = false
      await allWait()
    }
    return answerJson('It needs nothing.')
  }
  if (turn === 1)
    return { text: 'It has an id.', calls: [{ name: 'consult_result', input: { collaboration_id: 'x' } }] }
  console.log('hangs')
  await new Promise((resolve) => setTimeout(resolve, 600_000))
  return { text: '' }
})
const limits = { max_active_collaborations_per_agent: 1 }
const deadlines = { critical: Number(name) || 600_000 }
const consult = mode === 'queue' ? { limits } : { deadlines }
const troupe = await createTroupe({ store, model, agents: consultAgents, embedder: false, config: false, consult })
if (mode === 'run') await troupe.run('consult', { question: 'Which fields are there?', urgency: 'critical' })
else await troupe.run('task', { agent: 'asking', instruction: 'Build the page.' })
await troupe.close()
