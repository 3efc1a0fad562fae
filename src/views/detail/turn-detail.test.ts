import { describe, expect, test } from 'vitest'
import {
  agent,
  agents,
  createTestTroupe,
  functionModel,
  lastResultSessionId,
  taskCall,
} from '../../../test/support/test-troupe.ts'
import type { Model, ModelRequest } from '../../entries/models.ts'
import type { Event, Troupe } from '../../index.ts'
import { isEvent } from '../../index.ts'
import * as z from '../../schema/zod.ts'
import { defineTool } from '../../tools/define-tool.ts'
import { recordedRequest } from './model-request.ts'

const echo = defineTool({
  name: 'echo',
  description: 'Repeats the text.',
  kind: 'read',
  category: 'perception',
  input: z.object({ text: z.string() }),
  execute: ({ text }) =>
    text === 'fail' ? { success: false, error: 'no such text' } : { success: true, output: text },
})

/** Checks that the journal gives the very requests that the model got. */
function expectRequests(events: readonly Event[], requests: readonly ModelRequest[], earlier: readonly Event[] = []) {
  const begins = events.filter((event) => isEvent(event, 'model:begin')).filter(({ data }) => data.phase === undefined)
  expect(begins.length).toBeGreaterThan(0)
  for (const begin of begins) {
    const [sent] = requests.filter(({ key, session }) => key === begin.data.key && session.run_id === begin.run_id)
    const request = recordedRequest(events, begin, { earlier })
    expect(request?.verified, begin.data.key).toBe(true)
    expect(request?.system).toBe(sent?.system)
    expect(request?.messages).toEqual(sent?.messages)
    expect(request?.opening.tools).toEqual(expect.arrayContaining(sent?.tools.map(({ name }) => name) ?? []))
  }
}

async function journal(troupe: Troupe, run_id: string) {
  return troupe.events(run_id).all()
}

describe('the request of a turn', () => {
  test('PN1 is what the model got: parallel calls, errors, delegations, a resumed session', async () => {
    let coder = ''
    const model = functionModel((request) => {
      const { agent: name, turn } = request.session
      if (name === 'lead' && turn === 1)
        return { text: 'Two at once.', calls: [taskCall('coder', 'write'), taskCall('critic', 'judge')] }
      if (name === 'lead' && turn === 2) {
        coder = lastResultSessionId(request)
        return { calls: [{ name: 'task', input: { session_id: coder, instruction: 'continue' } }] }
      }
      if (name === 'coder' && turn === 1)
        return {
          calls: [
            { name: 'echo', input: { text: 'a' } },
            { name: 'echo', input: { text: 'fail' } },
          ],
        }
      return { text: `${name} says ${turn}` }
    })
    const { troupe, task } = await createTestTroupe({ agents, tools: [echo], model })
    const first = await task('lead', 'go')
    expect(first.status).toBe('completed')
    const events = await journal(troupe, first.run_id)
    expectRequests(events, model.requests)

    const again = await troupe.run('task', { session_id: coder, instruction: 'once more' })
    const earlier = events.filter(({ session_id }) => session_id === coder)
    expectRequests(await journal(troupe, again.run_id), model.requests, earlier)

    const turn = (await journal(troupe, again.run_id)).find((event) => isEvent(event, 'model:begin'))
    const id = String((turn?.data as { key?: string } | undefined)?.key).replace(/\/model$/, '')
    const detail = await troupe.detail(again.run_id, { kind: 'turn', id })
    const [, request, tools] = detail.sections
    expect(request).toMatchObject({ title: 'Request', tone: 'good', note: 'as recorded: its hash matches' })
    expect(JSON.stringify(request?.blocks)).toContain('continue')
    expect(JSON.stringify(tools)).toContain('Repeats the text.')
    await troupe.close()
  })

  test('PN1 is what the model got after context compaction and after a hook changed it', async () => {
    const model: Model & { requests: ModelRequest[] } = {
      ...functionModel(
        ({ session }) =>
          session.turn < 8 ? { calls: [{ name: 'echo', input: { text: 'x'.repeat(2_000) } }] } : { text: 'done' },
        ({ messages }) => Math.ceil(JSON.stringify(messages).length / 3),
      ),
      limits: { context: 3_000 },
    }
    const { troupe, task } = await createTestTroupe({ agents: [agent('lead')], tools: [echo], model })
    const events = await journal(troupe, (await task('lead', 'go')).run_id)
    expect(events.some((event) => isEvent(event, 'session:compress'))).toBe(true)
    expectRequests(events, model.requests)
    await troupe.close()

    const hooked = functionModel(() => ({ text: 'done' }))
    const hooks = [{ beforeModel: () => ({ request: { system: 'Another system prompt.' } }) }]
    const second = await createTestTroupe({ agents: [agent('lead')], model: hooked, hooks })
    const changed = await journal(second.troupe, (await second.task('lead', 'go')).run_id)
    expectRequests(changed, hooked.requests)
    await second.troupe.close()
  })

  test('PN1 says that its hash differs when the journal was changed', async () => {
    const model = functionModel(() => ({ text: 'done' }))
    const { troupe, task } = await createTestTroupe({ agents: [agent('lead')], model })
    const events = structuredClone(await journal(troupe, (await task('lead', 'go')).run_id))
    for (const event of events)
      if (isEvent(event, 'session:input')) event.data.message.content = [{ type: 'text', text: 'something else' }]
    const begin = events.find((event) => isEvent(event, 'model:begin'))
    expect(begin && recordedRequest(events, begin)?.verified).toBe(false)
    await troupe.close()
  })
})
