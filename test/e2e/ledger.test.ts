import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { AccountRow, Event, RunRow } from '../../src/index.ts'
import { accountsFrom, isEvent, loadPrices, sumAccounts, sumAccountsBy } from '../../src/index.ts'
import type { ReportedRequest } from './ledger-fixture.ts'
import {
  EXPECTED_CALLS,
  ledgerFixtures,
  openLedgerTroupe,
  readReports,
  reportedUsage,
  runToEnd,
  sumReports,
  WORKERS,
} from './ledger-fixture.ts'
import type { MockProvider } from './mock-provider.ts'
import { startMockProvider } from './mock-provider.ts'

const CHILD = fileURLToPath(new URL('./ledger-child.ts', import.meta.url))
/** Three in a row that got nothing done would have the run put aside. */
const KILLS = 2

let double: MockProvider
beforeAll(async () => {
  double = await startMockProvider()
})
afterAll(() => double.stop())
beforeEach(() => double.setFixtures(ledgerFixtures()))

function newStore(): string {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-ledger-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'troupe.db')
}

/** The run of the thirty as a store tells it afterwards. */
async function readLedger(store: string): Promise<{ run: RunRow; events: Event[]; rows: AccountRow[] }> {
  const troupe = await openLedgerTroupe(double.url, store)
  const [run] = await troupe.runs()
  if (!run) throw new Error('there is no run')
  const events = await troupe.events(run.run_id)
  await troupe.close()
  return { run, events, rows: accountsFrom(events, await loadPrices()) }
}

describe('the ledger and the provider', () => {
  test('AC14 thirty agents, rate limits, failures, a resume: the ledger is what the double reported', async () => {
    const store = newStore()
    const first = await openLedgerTroupe(double.url, store)
    let ended = 0
    const interrupted = await runToEnd(first, (event) => {
      if (isEvent(event, 'model:end')) ended += 1
      if (ended === 20) void first.drain()
    })
    expect(interrupted.status).toBe('pending')
    await first.close()
    const second = await openLedgerTroupe(double.url, store)
    expect(await runToEnd(second)).toMatchObject({ status: 'completed', error: null })
    await second.close()

    const { run, rows } = await readLedger(store)
    const reports = await readReports(double)
    const { calls, input, output, lost, estimated } = run.usage
    expect({ calls, input, output }).toEqual(sumReports(reports))
    expect({ lost: lost.calls, estimated }).toEqual({ lost: 0, estimated: false })
    expect(reports.filter(({ status }) => status === 200).length).toBe(EXPECTED_CALLS)
    expect([429, 500].map((code) => reports.filter(({ status }) => status === code).length)).toEqual([6, 4])

    const agents = sumAccountsBy(rows, 'agent')
    expect(agents.length).toBe(WORKERS + 1)
    for (const { group, calls: made, usage } of agents) {
      const own = sumReports(reports.filter(({ agent }) => agent === group))
      expect({ calls: made, input: usage.input, output: usage.output }, group).toEqual(own)
    }
    expect(sumAccounts(rows).usage).toMatchObject({ input, output })
    expect(sumAccountsBy(rows, 'model').map(({ group }) => group).length).toBe(5)
  })

  test('AC15 killed several times, ledger and lost cover the double, and what completed is there exactly', async () => {
    const store = newStore()
    for (let kill = 1; kill <= KILLS; kill++) await killAt(store, kill * 13)
    expect(await runToEndHere(store)).toEqual({ status: 'completed', error: null })

    const { run, rows } = await readLedger(store)
    const reports = await readReports(double)
    const seen = sumReports(reports)
    const { calls, input, output, lost } = run.usage
    expect(lost.calls).toBeGreaterThan(0)
    expect(calls + lost.calls).toBeGreaterThanOrEqual(seen.calls)
    expect(input + output + lost.tokens).toBeGreaterThanOrEqual(seen.input + seen.output)

    const ended = rows.filter(({ status }) => status === 'ended')
    expect(ended.length).toBe(EXPECTED_CALLS)
    for (const row of ended) {
      const { input: asked, output: said } = row.usage
      expect({ input: asked, output: said }, row.key).toEqual(reportedUsage(indexOf(row.agent), turnOf(row)))
    }
    expect(uncoveredRequests(rows, reports)).toEqual([])
  })
})

/** Where the double saw more requests for a call than the ledger knows of attempts. */
function uncoveredRequests(rows: readonly AccountRow[], reports: readonly ReportedRequest[]): string[] {
  const known = Map.groupBy(rows, (row) => `${row.agent} ${turnOf(row)}`)
  const seen = Map.groupBy(reports, ({ agent, turn }) => `${agent} ${turn}`)
  return [...seen].flatMap(([call, requests]) => {
    const attempts = known.get(call) ?? []
    return requests.length <= attempts.length ? [] : `${call}: ${requests.length} requests, ${attempts.length} attempts`
  })
}

function indexOf(agent: string): number {
  return agent === 'lead' ? -1 : Number(agent.slice('part-'.length))
}

function turnOf({ key }: AccountRow): number {
  return Number(/turn\/(\d+)\/model$/.exec(key)?.[1])
}

function child(store: string) {
  const started = spawn(process.execPath, [CHILD, double.url, store], { stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  let complained = ''
  started.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString()
  })
  started.stderr.on('data', (chunk: Buffer) => {
    complained += chunk.toString()
  })
  const exit = once(started, 'close')
  return { exit, kill: () => started.kill('SIGKILL'), said: () => said, complained: () => complained, started }
}

/** Lets a process work until the double has seen so many requests, and kills it in the middle of them. */
async function killAt(store: string, requests: number): Promise<void> {
  const working = child(store)
  while ((await double.requests()).length < requests && working.started.exitCode === null) await pause(5)
  working.kill()
  const [code, signal] = await working.exit
  // On a very fast machine it may have got to its end first.
  expect(code === 0 || signal === 'SIGKILL', working.complained()).toBe(true)
}

async function runToEndHere(store: string): Promise<unknown> {
  const working = child(store)
  await working.exit
  expect(working.complained()).toBe('')
  return JSON.parse(working.said())
}
