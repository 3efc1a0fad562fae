import { expect } from 'vitest'
import { z } from 'zod'
import { verifyJournal } from '../../src/entries/inspect.ts'
import type { Event, RunResult, Troupe } from '../../src/index.ts'
import { defineTool } from '../../src/index.ts'
import { functionModel, lastMessageText, taskCall } from './test-troupe.ts'

export const responseText = (run: RunResult) => (run.output as { response: string }).response

/** The lead delegates to three sessions at once and joins their responses; `requests` records agent, turn and prompt. */
export function parallelDelegation() {
  const requests: string[] = []
  const model = functionModel((request) => {
    const { agent: name, turn } = request.session
    requests.push(`${name} ${turn} ${request.system}`)
    if (name === 'lead' && turn === 1) return { calls: ['a', 'b', 'c'].map((text) => taskCall('coder', text)) }
    if (name === 'lead')
      return {
        text: [...lastMessageText(request).matchAll(/"response":"([^"]*)"/g)].map(([, response]) => response).join(' '),
      }
    return turn === 1
      ? { calls: [{ name: 'send', input: { text: lastMessageText(request) } }] }
      : { text: `${request.system.includes('loud') ? 'LOUD' : 'quiet'} ${lastMessageText(request)}` }
  })
  const sent: string[] = []
  const send = defineTool({
    name: 'send',
    description: 'Sends a text.',
    kind: 'act',
    category: 'action',
    input: z.object({ text: z.string() }),
    execute: ({ text }) => {
      sent.push(text)
      return { success: true, output: `sent ${text}` }
    },
  })
  return { requests, sent, model, tools: [send] }
}

export async function forkAndVerify(troupe: Troupe, run_id: string, seq: number, changes = {}) {
  const handle = await troupe.fork(run_id, seq, changes)
  const result = await handle.result
  const events = await troupe.events(handle.run_id).all()
  expect(verifyJournal(events)).toEqual([])
  expect(events.filter((event) => event.type === 'step:drift')).toEqual([])
  return { result, events }
}

export const findSeq = (events: readonly Event[], matches: (event: Event) => boolean) =>
  events.find(matches)?.seq ?? Number.NaN
export const findSeqByKey = (events: readonly Event[], type: string, key: string) =>
  findSeq(events, (event) => event.type === type && (event.data as { key?: string }).key === key)
