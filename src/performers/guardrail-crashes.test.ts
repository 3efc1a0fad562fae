import { expect, test } from 'vitest'
import { z } from 'zod'
import { chunkModel, chunksByTurn, eventData, textChunks, toolCallChunks } from '../../test/support/manual-doubles.ts'
import { memoryStore } from '../../test/support/memory-store.ts'
import { agent, createTestTroupe, lastMessageText } from '../../test/support/test-troupe.ts'
import type { Event } from '../kernel/event.ts'
import type { Store } from '../store/store.ts'
import { defineTool } from '../tools/define-tool.ts'
import type { Hooks } from './hook.ts'

const look = defineTool({
  name: 'look',
  description: 'look',
  input: z.looseObject({}),
  category: 'perception',
  kind: 'read',
  execute: (input) => ({ success: true, output: input }),
})

/** Changes every request, call and answer; rejects the answer 'draft'. */
function guardrails(asked: string[]): Hooks {
  return {
    beforeModel({ turn }) {
      asked.push(`model ${turn}`)
      return { request: { system: `guarded ${turn}` } }
    },
    beforeTool() {
      asked.push('tool')
      return { input: { changed: true } }
    },
    beforeAnswer({ turn, text }) {
      asked.push(`answer ${turn}`)
      return text === 'draft' ? { deny: 'too short' } : { text: `${text}!` }
    },
  }
}

function troupeWith(hooks: Hooks[], store: Store = memoryStore()) {
  const model = chunkModel(chunksByTurn(toolCallChunks({ name: 'look' }), textChunks('draft'), textChunks('final')))
  const creating = createTestTroupe({ model, agents: [agent('worker')], tools: [look], hooks, store })
  return { model, creating }
}

/** Lets everything pass. A process without hooks would not continue the run. */
const permissive: Hooks = { beforeModel: () => undefined, beforeTool: () => undefined, beforeAnswer: () => undefined }

/** A store that holds the first events of a run, as a crash leaves it. */
async function storeWithPrefix(events: readonly Event[], length: number): Promise<Store> {
  const store = memoryStore()
  const [start, ...rest] = events.slice(0, length)
  if (!start) return store
  await store.createRun(start)
  if (rest.length === 0) return store
  const lease = await store.lease(start.run_id, { owner: 'crashed', ttl_ms: 30_000 })
  const { run_id, project, epoch } = lease
  const [outcome] = await store.append([{ run_id, project, epoch, events: rest, sync: 'full' }])
  if (outcome && !outcome.ok) throw outcome.error
  await store.release(lease)
  return store
}

async function undisturbedRun() {
  const asked: string[] = []
  const { troupe, task } = await troupeWith([guardrails(asked)]).creating
  const { run_id, output } = await task('worker', 'go')
  expect(output).toMatchObject({ response: 'final!' })
  return { run_id, asked, events: await troupe.events(run_id).all() }
}

function countVerdicts(events: readonly Event[]): number {
  return eventData(events, 'step:end').filter(({ key }) => /\/(hooks|answer)$/.test(key)).length
}

test('H12 killed at any event, a resumed run asks only for verdicts that are not recorded, and ends the same', async () => {
  const { run_id, asked: all, events } = await undisturbedRun()
  expect(all).toEqual(['model 1', 'tool', 'model 2', 'answer 2', 'model 3', 'answer 3'])
  expect(countVerdicts(events)).toBe(all.length)
  for (let length = 1; length < events.length; length++) {
    const asked: string[] = []
    const { model, creating } = troupeWith([guardrails(asked)], await storeWithPrefix(events, length))
    const { troupe } = await creating
    const result = await (await troupe.resume(run_id)).result
    expect([length, result.status, result.output]).toMatchObject([length, 'completed', { response: 'final!' }])
    const missing = all.slice(countVerdicts(events.slice(0, length)))
    expect(asked).toEqual(missing)
    expect(model.requests.every(({ system, session }) => system === `guarded ${session.turn}`)).toBe(true)
    expect(await troupe.replay(run_id)).toMatchObject({ same: true })
    expect(asked).toEqual(missing)
  }
})

test('H12 a recorded verdict applies in a process whose hooks would decide otherwise', async () => {
  const { run_id, events } = await undisturbedRun()
  const position = (key: string) => events.findIndex(({ data }) => 'key' in data && data.key === key) + 1
  const replaced = troupeWith([permissive], await storeWithPrefix(events, position('session/turn/3/answer')))
  const first = await (await (await replaced.creating).troupe.resume(run_id)).result
  expect(first.output).toMatchObject({ response: 'final!' })
  const denied = troupeWith([permissive], await storeWithPrefix(events, position('session/turn/2/answer')))
  const second = await (await (await denied.creating).troupe.resume(run_id)).result
  expect(second.output).toMatchObject({ response: 'final' })
  expect(denied.model.requests[0] && lastMessageText(denied.model.requests[0])).toContain('too short')
  const changed = troupeWith([permissive], await storeWithPrefix(events, position('session/turn/1/tool/0/hooks')))
  await (await (await changed.creating).troupe.resume(run_id)).result
  expect(changed.model.requests[0] && lastMessageText(changed.model.requests[0])).toBe('{"changed":true}')
})
