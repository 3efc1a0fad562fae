import type { Event } from './event.ts'
import { isEvent } from './event.ts'
import type { Check, Finding } from './finding.ts'
import { Recorded } from './recorded.ts'
import { checkBudget } from './verify-budget.ts'
import { checkSessions } from './verify-sessions.ts'
import { checkSteps } from './verify-steps.ts'

/** Checks one run's journal against every invariant that a journal can show; empty when it keeps them all. */
export function verifyJournal(events: readonly Event[]): Finding[] {
  const findings: Finding[] = []
  const recorded = new Recorded([])
  const checks = [checkOrder(), checkGates(), checkSteps(), checkSessions(), checkBudget()]
  for (const event of events) {
    const say = (rule: string, message: string) => findings.push({ seq: event.seq, rule, message })
    for (const check of checks) check(event, { recorded, say })
    recorded.add(event)
  }
  if (events.length === 0) findings.push({ seq: 0, rule: 'start', message: 'the journal is empty' })
  return findings
}

/** Numbers without holes, one start, rising epochs, and nothing after the end. */
function checkOrder(): Check {
  let last: Event | undefined
  let epoch = 0
  let ended = false
  return (event, { say }) => {
    const expected = (last?.seq ?? 0) + 1
    if (event.seq !== expected) say('seq', `event ${event.seq} stands where ${expected} belongs`)
    if (last && event.run_id !== last.run_id) say('run_id', `${event.run_id} in the journal of ${last.run_id}`)
    if ((last === undefined) !== isEvent(event, 'run:start')) say('start', `${event.type} is at ${event.seq}`)
    if (isEvent(event, 'run:attempt')) {
      if (event.data.epoch <= epoch) say('epoch', `epoch ${event.data.epoch} after ${epoch}`)
      epoch = event.data.epoch
    }
    if (ended && !isEvent(event, 'run:reopen')) say('after_end', `${event.type} after the end of the run`)
    if (isEvent(event, 'run:end')) ended = true
    if (isEvent(event, 'run:reopen')) ended = false
    last = event
  }
}

/** A gate is answered once, by its own id, after it was opened. */
function checkGates(): Check {
  const ids = new Map<string, string>()
  return (event, { recorded, say }) => {
    if (isEvent(event, 'gate:open')) {
      const { key, gate_id } = event.data
      if (ids.has(gate_id)) say('gate', `the gate ${gate_id} is opened twice`)
      ids.set(gate_id, key)
    }
    if (!isEvent(event, 'gate:answer')) return
    const { key, gate_id, by } = event.data
    if (ids.get(gate_id) !== key) say('gate', `${by} answered ${gate_id}, which was not open at ${key}`)
    if (recorded.settled(key)) say('gate', `the gate ${gate_id} is answered twice`)
  }
}
