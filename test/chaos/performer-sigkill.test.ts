import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { verifyJournal } from '../../src/audit/verify-journal.ts'
import { createTroupe } from '../../src/index.ts'
import type { PerformerAction, PerformerScript } from '../../src/testing/scripted-performer.ts'
import { scriptedPerformer } from '../../src/testing/scripted-performer.ts'
import { isAlive } from '../support/mcp-test-server.ts'
import { agent } from '../support/test-troupe.ts'

const folder = mkdtempSync(join(tmpdir(), 'troupe-performer-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const HOST = fileURLToPath(new URL('./performer-child.ts', import.meta.url))
const usage = { input: 100, output: 10, cache_read: 0, cache_write: 0, reasoning: 0 }
const begin: PerformerAction[] = [
  { do: 'report', update: { type: 'text', text: 'Begun.' } },
  { do: 'report', update: { type: 'usage', usage } },
  { do: 'report', update: { type: 'tool-start', id: 'a', tool: 'shell', input: { command: 'make' } } },
  { do: 'stall' },
]

/** Starts a run in a process of its own and kills that process once the agent has called its tool. */
async function killHost(store: string, script: PerformerScript): Promise<{ run_id: string; agentPid: number }> {
  const host = spawn(process.execPath, [HOST, store, JSON.stringify(script)], { stdio: ['ignore', 'pipe', 'inherit'] })
  let [run_id, agentPid] = ['', 0]
  for await (const line of createInterface(host.stdout)) {
    const message = JSON.parse(line)
    run_id ||= message.run_id ?? ''
    if (message.type !== 'tool:pre') continue
    agentPid = message.pid
    host.kill('SIGKILL')
  }
  if (host.exitCode === null && host.signalCode === null) await once(host, 'exit')
  return { run_id, agentPid }
}

async function resumeHere(store: string, run_id: string, script: PerformerScript) {
  const performer = scriptedPerformer(script)
  const agents = [agent('coder', { performer: 'external' })]
  const troupe = await createTroupe({ store, agents, performers: { external: performer } })
  const result = await (await troupe.resume(run_id)).result
  const events = await troupe.events(run_id).all()
  const replay = await troupe.replay(run_id)
  await troupe.close()
  expect(verifyJournal(events)).toEqual([])
  return { result, events, replay, turns: performer.turns }
}

test('PF8 when the host is killed, its agent ends, and another process continues the session of the agent', async () => {
  const store = join(folder, 'resumable')
  const { run_id, agentPid } = await killHost(store, { actions: [{ do: 'save', session: 'ext-7' }, ...begin] })
  await expect.poll(() => isAlive(agentPid)).toBe(false)
  const actions: PerformerAction[] = [{ do: 'finish', result: { stop: 'completed', text: 'Continued.' } }]
  const { result, events, replay, turns } = await resumeHere(store, run_id, { actions })
  expect(result).toMatchObject({ status: 'completed', usage: { calls: 1, input: 100, output: 10 } })
  expect(turns).toMatchObject([{ resume: 'ext-7', interrupted: true }])
  expect(events.filter(({ type }) => type === 'step:begin')).toHaveLength(1)
  expect(events.find(({ type }) => type === 'tool:error')?.data).toMatchObject({ detail: { code: 'outcome_unknown' } })
  expect(replay.differences).toEqual([])
})

test('PF9 when the host is killed and the agent has no session, its turn is reported as unknown and not repeated', async () => {
  const store = join(folder, 'unknown')
  const { run_id } = await killHost(store, { actions: begin })
  const { result, turns } = await resumeHere(store, run_id, { actions: [{ do: 'quit' }] })
  expect(result.error).toMatchObject({ code: 'outcome_unknown' })
  expect(result.usage).toMatchObject({ calls: 1, input: 100 })
  expect(turns).toEqual([])
})
