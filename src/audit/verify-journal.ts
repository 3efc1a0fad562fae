import type { Event } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import { JournalIndex } from '../kernel/journal/journal-index.ts'
import { checkBudget } from './check-budget.ts'
import { checkSessions } from './check-sessions.ts'
import { checkSteps } from './check-steps.ts'
import type { Finding, JournalCheck } from './finding.ts'

/** Checks one run's journal against every invariant that a journal can show; empty when it keeps them all. */
export function verifyJournal(events: readonly Event[]): Finding[] {
  const findings: Finding[] = []
  const journalIndex = new JournalIndex([])
  const checks = [checkOrder(), checkGates(), checkSteps(), checkSessions(), checkBudget()]
  for (const event of events) {
    const report = (rule: string, message: string) => findings.push({ seq: event.seq, rule, message })
    for (const check of checks) check(event, { journalIndex, report })
    journalIndex.add(event)
  }
  if (events.length === 0) findings.push({ seq: 0, rule: 'start', message: 'the journal is empty' })
  return findings
}

/** Numbers without holes, one start, rising epochs, and nothing after the end. */
function checkOrder(): JournalCheck {
  let last: Event | undefined
  let epoch = 0
  let ended = false
  return (event, { report }) => {
    const expected = (last?.seq ?? 0) + 1
    if (event.seq !== expected) report('seq', `event ${event.seq} stands where ${expected} belongs`)
    if (last && event.run_id !== last.run_id) report('run_id', `${event.run_id} in the journal of ${last.run_id}`)
    if ((last === undefined) !== isEvent(event, 'run:start')) report('start', `${event.type} is at ${event.seq}`)
    if (isEvent(event, 'run:attempt')) {
      if (event.data.epoch <= epoch) report('epoch', `epoch ${event.data.epoch} after ${epoch}`)
      epoch = event.data.epoch
    }
    if (ended && !isEvent(event, 'run:reopen')) report('after_end', `${event.type} after the end of the run`)
    if (isEvent(event, 'run:end')) ended = true
    if (isEvent(event, 'run:reopen')) ended = false
    last = event
  }
}

/** A gate is answered once, by its own id, after it was opened. */
function checkGates(): JournalCheck {
  const ids = new Map<string, string>()
  return (event, { journalIndex, report }) => {
    if (isEvent(event, 'gate:open')) {
      const { key, gate_id } = event.data
      if (ids.has(gate_id)) report('gate', `the gate ${gate_id} is opened twice`)
      ids.set(gate_id, key)
    }
    if (!isEvent(event, 'gate:answer')) return
    const { key, gate_id, by } = event.data
    if (ids.get(gate_id) !== key) report('gate', `${by} answered ${gate_id}, which was not open at ${key}`)
    if (journalIndex.outcome(key)) report('gate', `the gate ${gate_id} is answered twice`)
  }
}
