import { expect } from 'vitest'
import { z } from 'zod'
import type { Event, RunResult, Troupe } from '../../src/index.ts'
import { defineTool, verifyJournal } from '../../src/index.ts'
import { agent, functionModel, lastMessageText } from './test-troupe.ts'

export const agents = [agent('lead'), agent('coder'), agent('critic')]
export const taskCall = (name: string, instruction: string) => ({ name: 'task', input: { agent: name, instruction } })
export const responseText = (run: RunResult) => (run.output as { response: string }).response

/** Lead delegates to three at once and sums up what they said; `asked` names who was asked what turn. */
export function parallelDelegation() {
  const asked: string[] = []
  const model = functionModel((request) => {
    const { agent: who, turn } = request.session
    asked.push(`${who} ${turn} ${request.system}`)
    if (who === 'lead' && turn === 1) return { calls: ['a', 'b', 'c'].map((name) => taskCall('coder', name)) }
    if (who === 'lead')
      return { text: [...lastMessageText(request).matchAll(/"response":"([^"]*)"/g)].map(([, said]) => said).join(' ') }
    return turn === 1
      ? { calls: [{ name: 'send', input: { text: lastMessageText(request) } }] }
      : { text: `${request.system.includes('loud') ? 'LOUD' : 'quiet'} ${lastMessageText(request)}` }
  })
  const sent: string[] = []
  const send = defineTool({
    name: 'send',
    description: 'sends',
    kind: 'act',
    category: 'action',
    input: z.object({ text: z.string() }),
    execute: ({ text }) => {
      sent.push(text)
      return { success: true, output: `sent ${text}` }
    },
  })
  return { asked, sent, model, tools: [send] }
}

export async function forkAndVerify(troupe: Troupe, run_id: string, at: number, changes = {}) {
  const handle = await troupe.fork(run_id, at, changes)
  const result = await handle.result
  const events = await troupe.events(handle.run_id)
  expect(verifyJournal(events)).toEqual([])
  expect(events.filter((event) => event.type === 'step:drift')).toEqual([])
  return { result, events }
}

export const findSeq = (events: readonly Event[], wanted: (event: Event) => boolean) =>
  events.find(wanted)?.seq ?? Number.NaN
export const findSeqByKey = (events: readonly Event[], type: string, key: string) =>
  findSeq(events, (event) => event.type === type && (event.data as { key?: string }).key === key)
