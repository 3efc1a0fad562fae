import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseConsultConfig } from '../consult-config.ts'
import type { Urgency } from '../request.ts'
import { deadlineFor, queueRank, urgencies } from '../request.ts'

interface QueuedConsultation {
  collaboration_id: string
  urgency: Urgency
  at: number
}

/** The order in which a queue takes them: the lowest rank first. */
function queueOrder(list: readonly QueuedConsultation[]): QueuedConsultation[] {
  return list.toSorted((a, b) => queueRank(a.urgency, a.at) - queueRank(b.urgency, b.at))
}

const MINUTE = 60_000
const NOW = 1_000 * MINUTE

const queued = (collaboration_id: string, urgency: Urgency, waited = 0): QueuedConsultation => ({
  collaboration_id,
  urgency,
  at: NOW - waited,
})

const consultations = fc.uniqueArray(
  fc.record({
    collaboration_id: fc.uuid(),
    urgency: fc.constantFrom(...urgencies),
    at: fc.integer({ min: 0, max: NOW }),
  }),
  { selector: ({ collaboration_id }) => collaboration_id },
)

describe('deadlines', () => {
  test('CS98 the deadline comes from the configuration, and is shorter the more urgent a consultation is', () => {
    const config = parseConsultConfig({ deadlines: { critical: 5_000 } })
    expect(deadlineFor('critical', config)).toBe(5_000)
    const defaults = urgencies.map((urgency) => deadlineFor(urgency, parseConsultConfig({})))
    expect(defaults).toEqual(defaults.toSorted((a, b) => b - a))
    expect(new Set(defaults).size).toBe(4)
  })
})

describe('the queue', () => {
  test('CS99 the more urgent goes first, then the older', () => {
    const order = queueOrder([
      queued('a', 'low'),
      queued('b', 'critical'),
      queued('c', 'normal', 2),
      queued('d', 'normal', 9),
      queued('e', 'high'),
    ])
    expect(order.map(({ collaboration_id }) => collaboration_id)).toEqual(['b', 'e', 'd', 'c', 'a'])
  })

  test('CS99 of two that came at the same time the more urgent never waits for the other', () => {
    fc.assert(
      fc.property(consultations, fc.integer({ min: 0, max: NOW }), (list, at) => {
        const order = queueOrder(list.map((each) => ({ ...each, at })))
        const levels = order.map(({ urgency }) => urgencies.indexOf(urgency))
        expect(levels).toEqual(levels.toSorted((a, b) => b - a))
      }),
    )
  })

  test('CS99 nothing starves: served one at a time, a low one passes an endless stream of new critical ones', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1_000, max: 10 * MINUTE }), (between) => {
        let waiting: QueuedConsultation[] = [{ collaboration_id: 'old', urgency: 'low', at: 0 }]
        let now = 0
        for (let served = 0; served < 2_000; served++) {
          now += between
          waiting.push({ collaboration_id: `new ${served}`, urgency: 'critical', at: now })
          const [next, ...rest] = queueOrder(waiting)
          if (next?.collaboration_id === 'old') {
            expect(now).toBeLessThanOrEqual(15 * MINUTE + between)
            return
          }
          waiting = rest
        }
        expect.unreachable('the low one was never served')
      }),
      { numRuns: 20 },
    )
  })

  test('CS99 a consultation that waited five minutes longer for each level is not behind a more urgent one', () => {
    fc.assert(
      fc.property(fc.constantFrom(...urgencies), fc.constantFrom(...urgencies), fc.nat(NOW), (a, b, at) => {
        const levels = Math.max(0, urgencies.indexOf(b) - urgencies.indexOf(a))
        expect(queueRank(a, at)).toBeLessThanOrEqual(queueRank(b, at + levels * 5 * MINUTE))
      }),
    )
  })
})
