import type { Event } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import { JournalIndex } from '../kernel/journal/journal-index.ts'
import { checkBudget } from './check-budget.ts'
import { checkSessions } from './check-sessions.ts'
import { checkSteps } from './check-steps.ts'
import type { Finding, JournalCheck } from './finding.ts'

/** Checks a run's journal against all invariants; returns no findings if it satisfies them. */
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

/** Sequence numbers without gaps, one start, rising epochs, and nothing after the end. */
function checkOrder(): JournalCheck {
  let last: Event | undefined
  let epoch = 0
  let ended = false
  return (event, { report }) => {
    const expected = (last?.seq ?? 0) + 1
    if (event.seq !== expected) report('seq', `event has seq ${event.seq}, expected ${expected}`)
    if (last && event.run_id !== last.run_id)
      report('run_id', `event of run ${event.run_id} in the journal of ${last.run_id}`)
    if ((last === undefined) !== isEvent(event, 'run:start'))
      report('start', `${event.type} at seq ${event.seq}: run:start must be the first event and the only one`)
    if (isEvent(event, 'run:attempt')) {
      if (event.data.epoch <= epoch) report('epoch', `epoch ${event.data.epoch} follows epoch ${epoch}`)
      epoch = event.data.epoch
    }
    if (ended && !isEvent(event, 'run:reopen')) report('after_end', `${event.type} follows run:end`)
    if (isEvent(event, 'run:end')) ended = true
    if (isEvent(event, 'run:reopen')) ended = false
    last = event
  }
}

function checkGates(): JournalCheck {
  const ids = new Map<string, string>()
  return (event, { journalIndex, report }) => {
    if (isEvent(event, 'gate:open')) {
      const { key, gate_id } = event.data
      if (ids.has(gate_id)) report('gate', `gate ${gate_id} is opened twice`)
      ids.set(gate_id, key)
    }
    if (!isEvent(event, 'gate:answer')) return
    const { key, gate_id, by } = event.data
    if (ids.get(gate_id) !== key) report('gate', `${by} answered gate ${gate_id}, which is not open at ${key}`)
    if (journalIndex.outcome(key)) report('gate', `gate ${gate_id} is answered twice`)
  }
}
