import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { runCommand } from '../../../../test/support/command-run.ts'
import { schemaErrors } from '../../../../test/support/session-file-schema.ts'
import type { RunExport } from '../../../views/page-export/run-export.ts'
import { valueFromPool } from '../../../views/page-export/value-pool.ts'

let folder: string
const before = process.cwd()

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'troupe export ü-')))
  process.chdir(folder)
  vi.stubEnv('HOME', folder)
  vi.stubEnv('USERPROFILE', folder)
  const rules = [
    {
      when: { agent: 'architect', turn: 1 },
      reply: { toolCalls: [{ name: 'task', input: { agent: 'reviewer', instruction: 'check' } }] },
    },
    { reply: { text: 'All good.' } },
  ]
  await writeFile('script.json', JSON.stringify({ rules }))
})
afterEach(async () => {
  process.chdir(before)
  vi.unstubAllEnvs()
  await rm(folder, { recursive: true, force: true })
})

async function troupe(...argv: string[]) {
  const { code, out, err } = await runCommand(argv)
  return { code, out: out.join('\n'), err: err.join('\n') }
}

const start = () =>
  troupe('run', 'task', '--agent', 'architect', '--instruction', 'Review it.', '--model', 'scripted:script.json')

test('SF13 a run is exported to a file or to standard output, and the file is valid', async () => {
  const run = await start()
  expect(run.code, run.err).toBe(0)
  const written = await troupe('export', '--format', 'session', '--output', 'a file.json')
  expect(written.code, written.err).toBe(0)
  expect(written.err).toMatch(/^\S+: 1 sub-session, 1 tool call and 2 messages written to a file\.json$/m)
  const session = JSON.parse(await readFile('a file.json', 'utf8'))
  expect(schemaErrors(session)).toEqual([])
  expect(session.collaboration.participants.map(({ agent_id }: { agent_id: string }) => agent_id)).toEqual([
    'architect',
    'reviewer',
  ])
  expect(JSON.parse((await troupe('export', session.session_id)).out)).toEqual(session)
  expect(await troupe('validate', 'a file.json')).toMatchObject({
    code: 0,
    out: 'a file.json is a valid MultiAgentSession',
  })
})

test('SF13 problems of a file have their paths, and wrong input is explained', async () => {
  await writeFile('wrong.json', '{"session_id":"s","tool_calls":[{"call_id":1}]}')
  const wrong = await troupe('validate', 'wrong.json')
  expect(wrong.code).toBe(1)
  expect(wrong.out).toContain('tool_calls[0].call_id: ')
  expect(wrong.out).toContain('user_prompt: is missing')
  expect(wrong.out).toMatch(/^\d+ problems in wrong\.json$/m)
  const { ok, problems } = JSON.parse((await troupe('validate', 'wrong.json', '--json')).out)
  expect([ok, problems.length > 3]).toEqual([false, true])
  await writeFile('text.json', 'not json')
  expect(await troupe('validate', 'text.json')).toMatchObject({ code: 2, err: expect.stringContaining('is not JSON') })
  expect(await troupe('validate', 'none.json')).toMatchObject({ code: 2, err: expect.stringContaining('none.json') })
  expect((await troupe('export', '--format', 'csv')).code).toBe(2)
  await start()
  const missing = await troupe('export', '--output', 'no/such/folder.json')
  expect(missing).toMatchObject({
    code: 2,
    err: expect.stringContaining('--output no/such/folder.json cannot be written'),
  })
})

test('SF15 a transcript with a sub-agent in its folder is exported, and other files are refused with what to do', async () => {
  const line = (type: string, content: unknown, more: object = {}) =>
    JSON.stringify({ type, sessionId: 's1', timestamp: '2026-01-01T00:00:00Z', message: { content }, ...more })
  const call = { type: 'tool_use', id: 'c1', name: 'Task', input: { prompt: 'Look.' } }
  const result = { type: 'tool_result', tool_use_id: 'c1', content: 'Seen.' }
  const lines = [line('user', 'Go.'), line('assistant', [call]), line('user', [result]), line('assistant', 'Done.')]
  await writeFile('s1.jsonl', `${lines.join('\n')}\n{"half a line`)
  await mkdir('s1/subagents', { recursive: true })
  const side = { isSidechain: true, agentId: 'a1' }
  await writeFile(
    's1/subagents/agent-a1.jsonl',
    `${line('user', 'Look.', side)}\n${line('assistant', 'Seen.', side)}\n`,
  )
  const exported = await troupe('export', 's1.jsonl', '--output', 's.json')
  expect(exported.err).toMatch(/^s1\.jsonl: 1 sub-session, 1 tool call and 2 messages written to s\.json$/m)
  expect(await troupe('validate', 's.json')).toMatchObject({ code: 0 })
  expect(await troupe('export', 'none.jsonl')).toMatchObject({ code: 2, err: expect.stringMatching(/is no file/) })
  expect(await troupe('export', 's1.jsonl', '--format', 'html')).toMatchObject({ code: 2 })
})

test('WR18 a run is exported as a page with everything that it shows, without secrets and with long texts cut', async () => {
  const long = `${'x'.repeat(40_000)}-end`
  const rules = [
    { when: { turn: 1 }, reply: { text: long, toolCalls: [{ name: 'Read', input: { file_path: 'script.json' } }] } },
    { reply: { text: '</script><script>alert(1)</script>' } },
  ]
  await writeFile('script.json', JSON.stringify({ rules }))
  const secret = `ghp_${'a1B2'.repeat(9)}`
  const run = await troupe(
    'run',
    'task',
    '--agent',
    'architect',
    '--instruction',
    `Use ${secret}.`,
    '--model',
    'scripted:script.json',
  )
  expect(run.code, run.err).toBe(0)
  const written = await troupe('export', '--format', 'html', '--output', 'a page.html')
  expect(written.err.replace(/\s+/g, ' ')).toMatch(
    /: a page of \d+ KB that opens without a server written to a page\.html/,
  )
  const html = await readFile('a page.html', 'utf8')
  const packed = /<script id="troupe-export"[^>]*>([^<]*)<\/script>/.exec(html)?.[1] ?? ''
  const text = gunzipSync(Buffer.from(packed, 'base64')).toString()
  const data = valueFromPool(JSON.parse(text)) as RunExport
  expect(data.timeline.turns).toHaveLength(2)
  const [call] = data.timeline.calls
  expect(data.details[`call:${call?.id}`]?.title).toContain('Read')
  for (const { id } of data.timeline.turns) expect(data.details[`turn:${id}`]?.sections.length).toBeGreaterThan(0)
  expect(data.events.at(-1)?.type).toBe('run:end')
  expect(text).not.toContain(secret)
  expect(text).not.toContain('-end')
  expect(text).toMatch(/\[cut: 32768 of 40004 characters are in this export; sha256 [0-9a-f]{64}\]/)
  expect(html).toMatch(/content="default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+'/)
})
