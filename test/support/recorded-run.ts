import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, vi } from 'vitest'
import { z } from 'zod'
import type { TroupeOptions } from '../../src/index.ts'
import { defineTool } from '../../src/index.ts'
import type { CassetteEntry } from '../../src/models/cassette.ts'
import { agents, createTestTroupe } from './test-troupe.ts'

/** A temporary folder per test with a cassette file in it. */
export interface CassetteFixture {
  readonly folder: string
  readonly file: string
  lines(): Record<string, unknown>[]
  entries(): CassetteEntry[]
}

export function cassetteFixture(): CassetteFixture {
  let folder = ''
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'troupe-cassette-'))
  })
  afterEach(() => {
    vi.restoreAllMocks()
    rmSync(folder, { recursive: true, force: true })
  })
  const fixture: CassetteFixture = {
    get folder() {
      return folder
    },
    get file() {
      return join(folder, 'run.jsonl')
    },
    lines: () =>
      readFileSync(fixture.file, 'utf8')
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line)),
    entries: () => fixture.lines().filter((line) => 'chunks' in line) as unknown as CassetteEntry[],
  }
  return fixture
}

export const echo = defineTool({
  name: 'echo',
  description: 'Repeats the text.',
  kind: 'read',
  category: 'perception',
  input: z.object({ text: z.string() }),
  execute: ({ text }) => ({ success: true, output: text }),
})
/** Script with parallel delegation, a resumed session, a retried failure, a tool call and a human question. */
export const rules = [
  {
    when: { agent: 'lead', turn: 1 },
    reply: {
      text: 'Delegating twice.',
      toolCalls: [
        { name: 'task', input: { agent: 'coder', instruction: 'write' } },
        { name: 'task', input: { agent: 'critic', instruction: 'write' } },
      ],
    },
  },
  {
    when: { agent: 'lead', turn: 2 },
    reply: { toolCalls: [{ name: 'task', input: { session_id: '{{session_id:coder}}', instruction: 'continue' } }] },
  },
  {
    when: { agent: 'lead', turn: 3 },
    reply: { toolCalls: [{ name: 'ask_user', input: { question: 'ship {{session_id:coder}}?' } }] },
  },
  { when: { agent: 'lead' }, reply: { text: 'Shipped what {{session_id:coder}} wrote.' } },
  { when: { agent: 'coder', turn: 1 }, times: 1, reply: { error: { status: 503, message: 'busy' } } },
  { when: { agent: 'coder', turn: 1 }, reply: { toolCalls: [{ name: 'echo', input: { text: 'hello' } }] } },
  {
    when: { agent: 'coder', says: 'continue' },
    reply: { text: 'Continued, with more text than fits into one chunk.' },
  },
  { when: { agent: 'coder' }, reply: { text: 'Written.' } },
  { when: { agent: 'critic' }, reply: { text: 'Looks fine to me.' } },
]
export const retryPolicy = {
  ready: () => undefined,
  next: ({ model, error }: { model: string; error: { retry: boolean } }) =>
    error.retry ? { model, delay_ms: 3 } : undefined,
}

export async function runToEnd(options: TroupeOptions) {
  const { troupe, task } = await createTestTroupe({
    agents,
    tools: [echo],
    engine: { retryPolicy },
    ...options,
  })
  const parked = await task('lead', 'go')
  expect(parked.status, JSON.stringify(parked.error)).toBe('waiting')
  const result = await (await troupe.answer(parked.gates[0]?.gate_id ?? '', 'yes', { by: 'ann' })).result
  const events = await troupe.events(result.run_id).all()
  await troupe.close()
  return { result, events }
}
