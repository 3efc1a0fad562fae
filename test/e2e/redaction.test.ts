import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { z } from 'zod'
import type { TroupeOptions } from '../../src/index.ts'
import { createTroupe, defineTool } from '../../src/index.ts'
import { agent } from '../support/test-troupe.ts'
import type { MockProvider } from './mock-provider.ts'
import { startMockProvider, startRecordingProxy } from './mock-provider.ts'
import { loadModelAt, PROTOCOLS } from './provider-harness.ts'

const SECRETS = ['ghp_0123456789abcdefghijABCDEFGHIJ012345', 'AKIAIOSFODNN7EXAMPLE', 'hunter2hunter2', 'env-only-value']
const [GITHUB, AWS, PASSWORD, FROM_ENV] = SECRETS

let mock: MockProvider
let folder: string
beforeAll(async () => {
  mock = await startMockProvider()
  folder = mkdtempSync(join(tmpdir(), 'troupe-redaction-'))
  vi.stubEnv('SERVICE_TOKEN', FROM_ENV)
})
afterAll(async () => {
  vi.unstubAllEnvs()
  await mock.stop()
  rmSync(folder, { recursive: true, force: true })
})

const leak = defineTool({
  name: 'leak',
  description: 'Returns a configuration.',
  input: z.object({ how: z.enum(['text', 'object', 'error']) }),
  kind: 'read',
  category: 'perception',
  execute: ({ how }) => {
    const text = `GH=${GITHUB}\nid ${AWS}\nDB_PASSWORD=${PASSWORD}\nuses ${FROM_ENV} twice: ${FROM_ENV}`
    if (how === 'error') return { success: false, error: `cannot parse: ${text}`, output: text }
    return { success: true, output: how === 'text' ? text : { lines: [text], password: PASSWORD, port: 5432 } }
  },
})

/** Every byte of the store: the database, its log, and whatever lies beside them. */
function storeBytes(store: string): string {
  return readdirSync(store, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
    .join('\n')
}

async function runTwice(store: string, options: Partial<TroupeOptions> = {}) {
  const protocol = PROTOCOLS['OpenAI chat']
  if (!protocol) throw new Error('the protocol is missing')
  const calls = ['text', 'object', 'error'].map((how) => ({ name: 'leak', arguments: JSON.stringify({ how }) }))
  await mock.setFixtures([
    { match: { userMessage: 'look', hasToolResult: false }, response: { toolCalls: calls } },
    { match: { userMessage: 'look', hasToolResult: true }, response: { content: 'I have seen it.' } },
    { match: { userMessage: 'and now' }, response: { content: 'Still there.' } },
  ])
  const proxy = await startRecordingProxy(mock)
  const model = await loadModelAt(protocol, proxy.url)
  const open = () => createTroupe({ store, model, agents: [agent('lead')], tools: [leak], ...options })
  const first = await open()
  const { run_id, error } = await first.run('task', { agent: 'lead', instruction: 'look' })
  expect(error).toBeNull()
  const events = await first.events(run_id).all()
  const [session] = await first.sessions({ run_id }).all()
  await first.close()
  const second = await open()
  await second.run('task', { session_id: session?.session_id, instruction: 'and now' })
  await second.close()
  await proxy.close()
  return { bodies: proxy.bodies as { messages: unknown[] }[], events }
}

test('RD1 RD2 secrets of tool results are neither sent to the model nor stored, and a resumed session equals the live one', async () => {
  const store = join(folder, 'redacted')
  const { bodies, events } = await runTwice(store)
  const [, live, resumed] = bodies
  const wire = JSON.stringify(bodies)
  for (const secret of SECRETS) {
    expect(wire).not.toContain(secret)
    expect(JSON.stringify(events)).not.toContain(secret)
    expect(storeBytes(store)).not.toContain(secret)
  }
  for (const kind of ['github-token', 'aws-key', 'secret', 'environment']) expect(wire).toContain(`[redacted: ${kind}]`)
  expect(wire).toContain('5432')
  expect(resumed?.messages.slice(0, live?.messages.length)).toEqual(live?.messages)
})

test('RD4 with `redact: false` results stay as they are: the same search finds the secrets', async () => {
  const store = join(folder, 'plain')
  const { bodies } = await runTwice(store, { redact: false })
  for (const secret of SECRETS) {
    expect(JSON.stringify(bodies)).toContain(secret)
    expect(storeBytes(store)).toContain(secret)
  }
})
