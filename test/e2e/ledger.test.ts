import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { AccountRow } from '../../src/entries/inspect.ts'
import { accountsFrom, sumAccounts, sumAccountsBy } from '../../src/entries/inspect.ts'
import { loadPrices } from '../../src/entries/models.ts'
import type { Event, RunRow } from '../../src/index.ts'
import { isEvent } from '../../src/index.ts'
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
/** Three crashes without progress would quarantine the run. */
const KILLS = 2

let mock: MockProvider
beforeAll(async () => {
  mock = await startMockProvider()
})
afterAll(() => mock.stop())
beforeEach(() => mock.setFixtures(ledgerFixtures()))

function createStorePath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-ledger-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'troupe.db')
}

/** Reads the run, its events and its accounts from the store. */
async function readLedger(store: string): Promise<{ run: RunRow; events: Event[]; rows: AccountRow[] }> {
  const troupe = await openLedgerTroupe(mock.url, store)
  const [run] = await troupe.runs().all()
  if (!run) throw new Error('no run in the store')
  const events = await troupe.events(run.run_id).all()
  await troupe.close()
  return { run, events, rows: accountsFrom(events, await loadPrices()) }
}

describe('recorded usage and the usage reported by the provider', () => {
  test('B4 with thirty agents, rate limits, failures and a resume, the recorded usage equals the reported usage', async () => {
    const store = createStorePath()
    const first = await openLedgerTroupe(mock.url, store)
    let ended = 0
    const interrupted = await runToEnd(first, (event) => {
      if (isEvent(event, 'model:end')) ended += 1
      if (ended === 20) void first.drain()
    })
    expect(interrupted.status).toBe('pending')
    await first.close()
    const second = await openLedgerTroupe(mock.url, store)
    expect(await runToEnd(second)).toMatchObject({ status: 'completed', error: null })
    await second.close()

    const { run, rows } = await readLedger(store)
    const reports = await readReports(mock)
    const { calls, input, output, lost, estimated } = run.usage
    expect({ calls, input, output }).toEqual(sumReports(reports))
    expect({ lost: lost.calls, estimated }).toEqual({ lost: 0, estimated: false })
    expect(reports.filter(({ status }) => status === 200).length).toBe(EXPECTED_CALLS)
    expect([429, 500].map((code) => reports.filter(({ status }) => status === code).length)).toEqual([6, 4])

    const agents = sumAccountsBy(rows, 'agent')
    expect(agents.length).toBe(WORKERS + 1)
    for (const { group, calls: requests, usage } of agents) {
      const own = sumReports(reports.filter(({ agent }) => agent === group))
      expect({ calls: requests, input: usage.input, output: usage.output }, group).toEqual(own)
    }
    expect(sumAccounts(rows).usage).toMatchObject({ input, output })
    expect(sumAccountsBy(rows, 'model').map(({ group }) => group).length).toBe(5)
  })

  test('X3 after several kills, recorded and lost usage cover the reported usage, and completed requests are exact', async () => {
    const store = createStorePath()
    for (let kill = 1; kill <= KILLS; kill++) await killAfter(store, kill * 13)
    expect(await runChildToEnd(store)).toEqual({ status: 'completed', error: null })

    const { run, rows } = await readLedger(store)
    const reports = await readReports(mock)
    const reported = sumReports(reports)
    const { calls, input, output, lost } = run.usage
    expect(lost.calls).toBeGreaterThan(0)
    expect(calls + lost.calls).toBeGreaterThanOrEqual(reported.calls)
    expect(input + output + lost.tokens).toBeGreaterThanOrEqual(reported.input + reported.output)

    const ended = rows.filter(({ status }) => status === 'ended')
    expect(ended.length).toBe(EXPECTED_CALLS)
    for (const row of ended) {
      const { input: inputTokens, output: outputTokens } = row.usage
      expect({ input: inputTokens, output: outputTokens }, row.key).toEqual(
        reportedUsage(agentIndex(row.agent), turnNumber(row)),
      )
    }
    expect(uncoveredRequests(rows, reports)).toEqual([])
  })
})

/** Turns for which the mock received more requests than the journal has attempts. */
function uncoveredRequests(rows: readonly AccountRow[], reports: readonly ReportedRequest[]): string[] {
  const recorded = Map.groupBy(rows, (row) => `${row.agent} ${turnNumber(row)}`)
  const received = Map.groupBy(reports, ({ agent, turn }) => `${agent} ${turn}`)
  return [...received].flatMap(([turn, requests]) => {
    const attempts = recorded.get(turn) ?? []
    return requests.length <= attempts.length ? [] : `${turn}: ${requests.length} requests, ${attempts.length} attempts`
  })
}

function agentIndex(agent: string): number {
  return agent === 'lead' ? -1 : Number(agent.slice('part-'.length))
}

function turnNumber({ key }: AccountRow): number {
  return Number(/turn\/(\d+)\/model$/.exec(key)?.[1])
}

function startChild(store: string) {
  const child = spawn(process.execPath, [CHILD, mock.url, store], { stdio: ['ignore', 'pipe', 'pipe'] })
  let out = ''
  let err = ''
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk.toString()
  })
  child.stderr.on('data', (chunk: Buffer) => {
    err += chunk.toString()
  })
  const exit = once(child, 'close')
  return { exit, kill: () => child.kill('SIGKILL'), out: () => out, err: () => err, process: child }
}

/** Kills a process when the mock has received this many requests. */
async function killAfter(store: string, requests: number): Promise<void> {
  const child = startChild(store)
  while ((await mock.requests()).length < requests && child.process.exitCode === null) await pause(5)
  child.kill()
  const [code, signal] = await child.exit
  // On a very fast machine the child may have finished before.
  expect(code === 0 || signal === 'SIGKILL', child.err()).toBe(true)
}

async function runChildToEnd(store: string): Promise<unknown> {
  const child = startChild(store)
  await child.exit
  expect(child.err()).toBe('')
  return JSON.parse(child.out())
}
