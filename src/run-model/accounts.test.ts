import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Event } from '../kernel/event.ts'
import type { Usage } from '../kernel/model.ts'
import { NO_USAGE } from '../kernel/model.ts'
import type { PriceBook } from '../kernel/spend.ts'
import { addSpend, NO_SPEND } from '../kernel/spend.ts'
import type { AccountKey, AccountRow } from './accounts.ts'
import { accountsFrom, sumAccounts, sumAccountsBy } from './accounts.ts'

const DAY = 86_400_000
const NOON = Date.parse('2026-11-15T12:00:00Z')

/** Triples on the 16th at midnight; `b/new` has no price. */
const prices: PriceBook = {
  cost(model, { input, output }, at) {
    if (model === 'b/new') return undefined
    return ((at >= NOON + DAY / 2 ? 3 : 1) * (input + 5 * output)) / 1_000_000
  },
}

interface RequestCase {
  session: number
  model: string
  usage: Usage
  outcome: 'end' | 'error' | 'lost' | 'open'
  estimated: boolean
  summary: boolean
  from: number
  duration: number
}

const request: RequestCase = {
  session: 0,
  model: 'a/old',
  usage: { input: 100, output: 10, cache_read: 60, cache_write: 20, reasoning: 4 },
  outcome: 'end',
  estimated: false,
  summary: false,
  from: 1,
  duration: 5,
}

const used = fc.nat({ max: 100_000 })
const requestLists: fc.Arbitrary<RequestCase[]> = fc.array(
  fc.record({
    session: fc.nat({ max: 4 }),
    model: fc.constantFrom('a/old', 'a/other', 'b/new'),
    usage: fc.record({ input: used, output: used, cache_read: used, cache_write: used, reasoning: used }),
    outcome: fc.constantFrom('end', 'end', 'end', 'error', 'lost', 'open'),
    estimated: fc.boolean(),
    summary: fc.boolean(),
    from: fc.nat({ max: 2 * DAY }),
    duration: fc.nat({ max: DAY }),
  }),
  { maxLength: 40 },
)

const sessionName = (index: number) => `s${index}`

/** A journal of these requests, interleaved by time. */
function journal(list: readonly RequestCase[], inherited?: number): Event[] {
  const timed: { at: number; event: object }[] = list.flatMap((request, index) => {
    const { usage, estimated } = request
    const key = `k/${index}`
    const [from, to] = [NOON + request.from, NOON + request.from + request.duration]
    const session_id = sessionName(request.session)
    const reserved = { calls: 1, tokens: usage.input + 1000, usd: prices.cost(request.model, usage, from) ?? 0 }
    const phase = request.summary ? { phase: 'summary' } : {}
    const begin = { key, attempt: 1, model: request.model, reserved, input_hash: '', ...phase }
    const settled = { key, attempt: 1, usage, usd: prices.cost(request.model, usage, from) ?? null }
    const end = {
      end: { type: 'model:end', data: { ...settled, message: {}, stop: 'end', ...(estimated ? { estimated } : {}) } },
      error: { type: 'model:error', data: { ...settled, error: {}, partial: '', ...(estimated ? { estimated } : {}) } },
      lost: { type: 'model:lost', data: { key, attempt: 1, reserved, reason: 'crash' } },
    }
    const begun = { at: from, event: { type: 'model:begin', session_id, at: from, data: begin } }
    return request.outcome === 'open'
      ? [begun]
      : [begun, { at: to, event: { session_id, at: to, ...end[request.outcome] } }]
  })
  const opened = [0, 1, 2, 3, 4].map((index) => ({
    type: 'session:open',
    session_id: sessionName(index),
    at: NOON,
    data: { agent: { name: `agent-${index % 3}` }, parent_session_id: index === 0 ? null : 's0' },
  }))
  const forked = inherited === undefined ? {} : { forked_from: { run_id: 'r_old', seq: 1, inherited, changes: {} } }
  const start = { type: 'run:start', at: NOON, data: forked }
  const requests = timed.toSorted((a, b) => a.at - b.at).map(({ event }) => event)
  return [start, ...opened, ...requests].map((event, index) => ({ run_id: 'r_1', seq: index + 1, ...event })) as Event[]
}

function accountRows(...list: Partial<RequestCase>[]): AccountRow[] {
  return accountsFrom(journal(list.map((changes) => ({ ...request, ...changes }))), prices)
}

describe('accounts', () => {
  test('AC1 every attempt is one row with run, session, agent, model, phase, day, status and usage', () => {
    const [row, summary] = accountRows({ session: 1 }, { session: 2, summary: true, outcome: 'error', from: DAY })
    expect(row).toEqual({
      run_id: 'r_1',
      session_id: 's1',
      parent_session_id: 's0',
      agent: 'agent-1',
      model: 'a/old',
      phase: 'turn',
      day: '2026-11-15',
      at: NOON + 1,
      key: 'k/0',
      attempt: 1,
      status: 'ended',
      estimated: false,
      usage: request.usage,
      reserved: { calls: 1, tokens: 1100, usd: 0.00015 },
      usd: 0.00015,
      inherited: false,
    })
    expect(summary).toMatchObject({ agent: 'agent-2', phase: 'summary', status: 'failed', day: '2026-11-16' })
    expect(accountRows({ session: 0 })[0]).toMatchObject({ parent_session_id: null })
  })

  test('AC2 the sums over all rows equal the ledger exactly', () => {
    fc.assert(
      fc.property(requestLists, (list) => {
        const events = journal(list)
        const ledger = events.reduce(addSpend, NO_SPEND)
        const sum = sumAccounts(accountsFrom(events, prices))
        const { calls: count, usd, known_usd: _known, estimated, lost, ...usage } = ledger
        expect(sum.calls).toBe(count)
        expect(sum.usage).toEqual(usage)
        if (usd !== null) expect(sum.usd).toBe(usd)
        else expect(sum.unpriced === 0).toBe(list.every(isFreeOrPriced))
        expect(sum.estimated.calls > 0).toBe(estimated)
        expect([sum.lost.calls, sum.lost.tokens]).toEqual([lost.calls, lost.tokens])
        if (sum.lost.usd !== null && list.every(({ usage: { input, output } }) => input + output > 0)) {
          expect(sum.lost.usd).toBe(lost.usd)
        }
      }),
    )
  })

  test('AC3 a request is priced by the day on which it began, not on which it ended', () => {
    const late = { from: DAY / 2 - 10, duration: 20 }
    expect(accountRows(late, { from: DAY / 2, duration: 50 }).map(({ usd }) => usd)).toEqual([0.00015, 0.00045])
    const fixedPrice: PriceBook = { cost: () => 7 }
    expect(accountsFrom(journal([request]), fixedPrice)[0]?.usd).toBe(7)
  })

  test('AC4 an unknown price is null, never zero, and is counted in unpriced', () => {
    const rows = accountRows({}, { model: 'b/new' }, { model: 'b/new', outcome: 'error', usage: NO_USAGE })
    expect(rows.map(({ usd }) => usd)).toEqual([0.00015, null, 0])
    expect(sumAccounts(rows)).toMatchObject({ usd: null, known_usd: 0.00015, unpriced: 1, calls: 3 })
    expect(sumAccountsBy(rows, 'model').map(({ group, usd }) => [group, usd])).toEqual([
      ['a/old', 0.00015],
      ['b/new', null],
    ])
    expect(sumAccounts(accountRows({ model: 'b/new', outcome: 'lost' })).lost.usd).toBeNull()
  })

  test('AC5 lost requests are listed with their reservation, estimated ones are marked, requests in flight are not counted', () => {
    const rows = accountRows({ outcome: 'lost' }, { outcome: 'open' }, { estimated: true })
    expect(rows.map(({ status, estimated }) => [status, estimated])).toEqual([
      ['lost', false],
      ['ended', true],
      ['open', false],
    ])
    expect(sumAccounts(rows)).toMatchObject({
      calls: 1,
      usage: request.usage,
      usd: 0.00015,
      estimated: { calls: 1, tokens: 110 },
      lost: { calls: 1, tokens: 1100, usd: 0.00015 },
      open: { calls: 1, tokens: 1100 },
    })
  })

  test('AC5 a lost request without a price at that time is priced as if all reserved tokens were output', () => {
    const events = journal([{ ...request, model: 'b/new', outcome: 'lost' }])
    const later: PriceBook = { cost: (_, { input, output }) => input + 5 * output }
    expect(accountsFrom(events, later)[0]?.usd).toBe(5 * 1100)
  })

  test('AC6 the sums by any key add up to the total', () => {
    const keys: AccountKey[] = ['run', 'session', 'parent', 'agent', 'model', 'phase', 'day']
    fc.assert(
      fc.property(requestLists, fc.constantFrom(...keys), (list, key) => {
        const rows = accountsFrom(journal(list), prices)
        const [total, groups] = [sumAccounts(rows), sumAccountsBy(rows, key)]
        const expectEqualSum = (pick: (sum: typeof total) => number) =>
          expect(groups.reduce((sum, group) => sum + pick(group), 0)).toBe(pick(total))
        expectEqualSum(({ calls: count }) => count)
        expectEqualSum(({ usage }) => usage.input)
        expectEqualSum(({ usage }) => usage.reasoning)
        expectEqualSum(({ unpriced }) => unpriced)
        expectEqualSum(({ lost }) => lost.tokens)
        expectEqualSum(({ open }) => open.calls)
        expect(new Set(groups.map(({ group }) => group)).size).toBe(groups.length)
      }),
    )
  })

  test('AC7 rows that a fork copied are marked as inherited', () => {
    const events = journal([request, { ...request, from: 100 }], 8)
    expect(accountsFrom(events, prices).map(({ inherited }) => inherited)).toEqual([true, false])
  })

  test('AC1 a request that ended without model:begin is counted with model unknown', () => {
    const events = journal([request]).filter(({ type }) => type !== 'model:begin')
    expect(accountsFrom(events, prices)[0]).toMatchObject({ model: 'unknown', status: 'ended', usage: request.usage })
  })
})

function isFreeOrPriced({ model, outcome, usage }: RequestCase): boolean {
  return model !== 'b/new' || outcome === 'lost' || outcome === 'open' || usage.input + usage.output === 0
}
