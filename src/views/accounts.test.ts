import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Event } from '../kernel/event.ts'
import type { Usage } from '../kernel/model.ts'
import { NO_USAGE } from '../kernel/model.ts'
import type { PriceBook } from '../kernel/price.ts'
import { addSpend, NO_SPEND } from '../kernel/spend.ts'
import type { AccountKey, AccountRow } from './accounts.ts'
import { accountsFrom, sumAccounts, sumAccountsBy } from './accounts.ts'

const DAY = 86_400_000
const NOON = Date.parse('2026-11-15T12:00:00Z')

/** Dear from the 16th on; nobody knows what `b/new` costs. */
const prices: PriceBook = {
  cost(model, { input, output }, at) {
    if (model === 'b/new') return undefined
    return ((at >= NOON + DAY / 2 ? 3 : 1) * (input + 5 * output)) / 1_000_000
  },
}

interface Call {
  session: number
  model: string
  usage: Usage
  how: 'end' | 'error' | 'lost' | 'open'
  estimated: boolean
  summary: boolean
  from: number
  took: number
}

const call: Call = {
  session: 0,
  model: 'a/old',
  usage: { input: 100, output: 10, cache_read: 60, cache_write: 20, reasoning: 4 },
  how: 'end',
  estimated: false,
  summary: false,
  from: 1,
  took: 5,
}

const used = fc.nat({ max: 100_000 })
const calls: fc.Arbitrary<Call[]> = fc.array(
  fc.record({
    session: fc.nat({ max: 4 }),
    model: fc.constantFrom('a/old', 'a/other', 'b/new'),
    usage: fc.record({ input: used, output: used, cache_read: used, cache_write: used, reasoning: used }),
    how: fc.constantFrom('end', 'end', 'end', 'error', 'lost', 'open'),
    estimated: fc.boolean(),
    summary: fc.boolean(),
    from: fc.nat({ max: 2 * DAY }),
    took: fc.nat({ max: DAY }),
  }),
  { maxLength: 40 },
)

const sessionName = (index: number) => `s${index}`

/** A journal in which these calls were made, interleaved as their times say. */
function journal(list: readonly Call[], inherited?: number): Event[] {
  const timed: { at: number; event: object }[] = list.flatMap((made, index) => {
    const { usage, estimated } = made
    const key = `k/${index}`
    const [from, to] = [NOON + made.from, NOON + made.from + made.took]
    const session_id = sessionName(made.session)
    const reserved = { calls: 1, tokens: usage.input + 1000, usd: prices.cost(made.model, usage, from) ?? 0 }
    const phase = made.summary ? { phase: 'summary' } : {}
    const begin = { key, attempt: 1, model: made.model, reserved, input_hash: '', ...phase }
    const settled = { key, attempt: 1, usage, usd: prices.cost(made.model, usage, from) ?? null }
    const end = {
      end: { type: 'model:end', data: { ...settled, message: {}, stop: 'end', ...(estimated ? { estimated } : {}) } },
      error: { type: 'model:error', data: { ...settled, error: {}, partial: '', ...(estimated ? { estimated } : {}) } },
      lost: { type: 'model:lost', data: { key, attempt: 1, reserved, why: 'crash' } },
    }
    const begun = { at: from, event: { type: 'model:begin', session_id, at: from, data: begin } }
    return made.how === 'open' ? [begun] : [begun, { at: to, event: { session_id, at: to, ...end[made.how] } }]
  })
  const opened = [0, 1, 2, 3, 4].map((index) => ({
    type: 'session:open',
    session_id: sessionName(index),
    at: NOON,
    data: { agent: { name: `agent-${index % 3}` }, parent_session_id: index === 0 ? null : 's0' },
  }))
  const forked = inherited === undefined ? {} : { forked_from: { run_id: 'r_old', seq: 1, inherited, changes: {} } }
  const start = { type: 'run:start', at: NOON, data: forked }
  const after = timed.toSorted((a, b) => a.at - b.at).map(({ event }) => event)
  return [start, ...opened, ...after].map((event, index) => ({ run_id: 'r_1', seq: index + 1, ...event })) as Event[]
}

function rowsOf(...list: Partial<Call>[]): AccountRow[] {
  return accountsFrom(journal(list.map((changes) => ({ ...call, ...changes }))), prices)
}

describe('accounts', () => {
  test('AC1 every attempt is one row with who asked whom, for what, when, and what it used', () => {
    const [row, summary] = rowsOf({ session: 1 }, { session: 2, summary: true, how: 'error', from: DAY })
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
      usage: call.usage,
      reserved: { calls: 1, tokens: 1100, usd: 0.00015 },
      usd: 0.00015,
      inherited: false,
    })
    expect(summary).toMatchObject({ agent: 'agent-2', phase: 'summary', status: 'failed', day: '2026-11-16' })
    expect(rowsOf({ session: 0 })[0]).toMatchObject({ parent_session_id: null })
  })

  test('AC2 sums over all rows are the ledger, to the last digit', () => {
    fc.assert(
      fc.property(calls, (list) => {
        const events = journal(list)
        const ledger = events.reduce(addSpend, NO_SPEND)
        const sum = sumAccounts(accountsFrom(events, prices))
        const { calls: count, usd, known_usd: _known, estimated, lost, ...usage } = ledger
        expect(sum.calls).toBe(count)
        expect(sum.usage).toEqual(usage)
        if (usd !== null) expect(sum.usd).toBe(usd)
        else expect(sum.unpriced === 0).toBe(list.every(costsNothingOrIsKnown))
        expect(sum.estimated.calls > 0).toBe(estimated)
        expect([sum.lost.calls, sum.lost.tokens]).toEqual([lost.calls, lost.tokens])
        if (sum.lost.usd !== null && list.every(({ usage: { input, output } }) => input + output > 0)) {
          expect(sum.lost.usd).toBe(lost.usd)
        }
      }),
    )
  })

  test('AC3 the price of the day on which the call was made holds, whatever day it ended', () => {
    const late = { from: DAY / 2 - 10, took: 20 }
    expect(rowsOf(late, { from: DAY / 2, took: 50 }).map(({ usd }) => usd)).toEqual([0.00015, 0.00045])
    const dearer: PriceBook = { cost: () => 7 }
    expect(accountsFrom(journal([call]), dearer)[0]?.usd).toBe(7)
  })

  test('AC4 an unknown price is unknown, never nothing, and is counted', () => {
    const rows = rowsOf({}, { model: 'b/new' }, { model: 'b/new', how: 'error', usage: NO_USAGE })
    expect(rows.map(({ usd }) => usd)).toEqual([0.00015, null, 0])
    expect(sumAccounts(rows)).toMatchObject({ usd: null, known_usd: 0.00015, unpriced: 1, calls: 3 })
    expect(sumAccountsBy(rows, 'model').map(({ group, usd }) => [group, usd])).toEqual([
      ['a/old', 0.00015],
      ['b/new', null],
    ])
    expect(sumAccounts(rowsOf({ model: 'b/new', how: 'lost' })).lost.usd).toBeNull()
  })

  test('AC5 lost stands apart at its reservation, estimated is marked, in flight counts nowhere', () => {
    const rows = rowsOf({ how: 'lost' }, { how: 'open' }, { estimated: true })
    expect(rows.map(({ status, estimated }) => [status, estimated])).toEqual([
      ['lost', false],
      ['ended', true],
      ['open', false],
    ])
    expect(sumAccounts(rows)).toMatchObject({
      calls: 1,
      usage: call.usage,
      usd: 0.00015,
      estimated: { calls: 1, tokens: 110 },
      lost: { calls: 1, tokens: 1100, usd: 0.00015 },
      open: { calls: 1, tokens: 1100 },
    })
  })

  test('AC5 a loss whose price was not known then is priced as if all of it had been output', () => {
    const events = journal([{ ...call, model: 'b/new', how: 'lost' }])
    const later: PriceBook = { cost: (_, { input, output }) => input + 5 * output }
    expect(accountsFrom(events, later)[0]?.usd).toBe(5 * 1100)
  })

  test('AC6 sums by any key add up to the whole', () => {
    const keys: AccountKey[] = ['run', 'session', 'parent', 'agent', 'model', 'phase', 'day']
    fc.assert(
      fc.property(calls, fc.constantFrom(...keys), (list, key) => {
        const rows = accountsFrom(journal(list), prices)
        const [whole, parts] = [sumAccounts(rows), sumAccountsBy(rows, key)]
        const adds = (pick: (sum: typeof whole) => number) =>
          expect(parts.reduce((total, part) => total + pick(part), 0)).toBe(pick(whole))
        adds(({ calls: count }) => count)
        adds(({ usage }) => usage.input)
        adds(({ usage }) => usage.reasoning)
        adds(({ unpriced }) => unpriced)
        adds(({ lost }) => lost.tokens)
        adds(({ open }) => open.calls)
        expect(new Set(parts.map(({ group }) => group)).size).toBe(parts.length)
      }),
    )
  })

  test('AC7 what a fork brought along is marked', () => {
    const events = journal([call, { ...call, from: 100 }], 8)
    expect(accountsFrom(events, prices).map(({ inherited }) => inherited)).toEqual([true, false])
  })

  test('AC1 a call that ended and never began is counted, with nobody’s model', () => {
    const events = journal([call]).filter(({ type }) => type !== 'model:begin')
    expect(accountsFrom(events, prices)[0]).toMatchObject({ model: 'unknown', status: 'ended', usage: call.usage })
  })
})

function costsNothingOrIsKnown({ model, how, usage }: Call): boolean {
  return model !== 'b/new' || how === 'lost' || how === 'open' || usage.input + usage.output === 0
}
