import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { TestServer } from '../../../test/support/http-harness.ts'
import { startTestServer } from '../../../test/support/http-harness.ts'
import { agent, modelFromRules } from '../../../test/support/test-troupe.ts'
import { apiRoutes } from './routes/api-routes.ts'

/* Malformed requests: 1,500 in CI, 10,000 with TROUPE_STRESS=1. */
const REQUESTS = process.env.TROUPE_STRESS === '1' ? 10_000 : 1500

const model = modelFromRules({
  when: { turn: 1 },
  reply: { toolCalls: [{ name: 'ask_user', input: { question: 'Go on?' } }] },
})

/** Every row of every table of the store. */
function dumpStore(folder: string): string {
  const database = new DatabaseSync(join(folder, 'store', 'troupe.db'), { readOnly: true })
  try {
    const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").all()
    return JSON.stringify(
      tables.map(({ name }) => [name, database.prepare(`SELECT * FROM "${String(name)}" ORDER BY 1`).all()]),
      (_key, value) =>
        value instanceof Uint8Array
          ? Buffer.from(value).toString('hex')
          : typeof value === 'bigint'
            ? String(value)
            : value,
    )
  } finally {
    database.close()
  }
}

const oddText = fc.oneof(
  fc.string({ maxLength: 30 }),
  fc.constantFrom(
    '',
    '..',
    '%00',
    '%',
    '%2e%2e%2f',
    '__proto__',
    'constructor',
    'null',
    '-1',
    '0',
    '1e999',
    '9'.repeat(400),
    'ü\u202e',
    '\ud800',
  ),
)
const oddJson = fc.oneof(
  // `{}` cancels a run.
  fc.json({ maxDepth: 4 }).filter((text) => text !== '{}'),
  fc
    .jsonValue({ maxDepth: 3 })
    .map((value) => JSON.stringify({ input: value, answer: value, hash: value, seq: value, do: value })),
  fc.constantFrom(
    '',
    '{',
    '[',
    '{"input":',
    'null',
    '[]',
    '"x"',
    '1',
    '{"__proto__":{"x":1}}',
    '{"seq":1e400}',
    '['.repeat(70),
  ),
  fc.constantFrom(
    '{"input":{"agent":"lead"}}',
    '{"input":{"instruction":5}}',
    '{"seq":0}',
    '{"do":"say"}',
    '{"answer":"x","hash":""}',
  ),
)
const METHODS = ['GET', 'POST', 'DELETE', 'PUT', 'PATCH', 'HEAD', 'OPTIONS', 'PROPFIND']

function oddRequest(known: Record<string, string>) {
  const parameter = (name: string) => fc.oneof(fc.constant(known[name] ?? 'x'), oddText.map(encodeOdd))
  const path = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...apiRoutes).chain((route) => fillPath(route.path, parameter)) },
    { weight: 1, arbitrary: oddText.map((text) => `/api/${encodeOdd(text)}`) },
    { weight: 1, arbitrary: oddText.map((text) => `/${encodeOdd(text)}`) },
  )
  const names = [
    'limit',
    'cursor',
    'status',
    'tag',
    'text',
    'ids',
    'kind',
    'id',
    'seq',
    'after',
    'by',
    'since',
    'version',
    'x',
  ]
  const query = fc.array(fc.tuple(fc.constantFrom(...names), oddText.map(encodeOdd)), { maxLength: 3 })
  return fc.record({
    method: fc.constantFrom(...METHODS),
    path,
    query: query.map((pairs) => pairs.map(([name, value]) => `${name}=${value}`).join('&')),
    body: oddJson,
    type: fc.constantFrom('application/json', 'application/json', 'application/json', 'text/plain', ''),
    auth: fc.constantFrom('token', 'token', 'token', 'token', 'wrong', 'none'),
    header: fc.constantFrom('1', '1', '1', '0', ''),
    extra: fc.constantFrom(
      {},
      { origin: 'https://evil.example' },
      { accept: 'text/event-stream' },
      { 'last-event-id': 'x' },
      { cookie: 'a=b; __Host-troupe-1=' },
      { range: 'bytes=5-1' },
    ),
  })
}

function fillPath(path: string, parameter: (name: string) => fc.Arbitrary<string>): fc.Arbitrary<string> {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name)
  return fc
    .tuple(...names.map(parameter))
    .map((values) => values.reduce((filled, value, index) => filled.replace(`:${names[index]}`, () => value), path))
}

/** Characters that a request line cannot have are encoded; the rest stays as odd as it is. */
function encodeOdd(text: string): string {
  return text.toWellFormed().replace(/[^\w.%~!$&'()*+,;=:@-]/gu, (char) => encodeURIComponent(char))
}

/** Requests that would be valid are no part of this test: they change the store, as they should. */
const isEffective = (status: number, method: string) => status < 300 && !['GET', 'HEAD'].includes(method)

async function startWithQuestion(): Promise<{ server: TestServer; known: Record<string, string>; folder: string }> {
  const first = await startTestServer({ troupe: { agents: [agent('lead')], model } })
  const { run_id, gates } = await first.troupe.run('task', { agent: 'lead', instruction: 'x' })
  await first.call('/api/reports')
  await first.stop()
  const server = await startTestServer({
    folder: first.folder,
    troupe: { agents: [agent('lead')], model },
  })
  await server.call('/api/reports')
  return {
    server,
    known: { run_id, gate_id: gates[0]?.gate_id ?? '', pattern: 'task', name: 'plan.md' },
    folder: first.folder,
  }
}

test('HS15 malformed requests get no 5xx and no stack trace, and change nothing', { timeout: 600_000 }, async () => {
  const { server, known, folder } = await startWithQuestion()
  const before = dumpStore(folder)
  const statuses = new Map<number, number>()
  const headers = { token: `Bearer ${server.token}`, wrong: `Bearer ${'x'.repeat(43)}`, none: undefined }
  const samples = fc.sample(oddRequest(known), { numRuns: REQUESTS, seed: 16 })
  for (const { method, path, query, body, type, auth, header, extra } of samples) {
    const sent = await server.send(`${path}${query === '' ? '' : `?${query}`}`, {
      method,
      headers: {
        ...(headers[auth] === undefined ? {} : { authorization: headers[auth] }),
        ...(type === '' ? {} : { 'content-type': type }),
        ...(header === '' ? {} : { 'x-troupe-request': header }),
        ...extra,
      },
      ...(['GET', 'HEAD'].includes(method) ? {} : { body }),
    })
    statuses.set(sent.status, (statuses.get(sent.status) ?? 0) + 1)
    const request = `${method} ${path}?${query} ${body}`
    expect([request, sent.status < 500]).toEqual([request, true])
    // A journal may contain anything.
    const isLeak = sent.status >= 400 && /\n\s+at |node_modules|\.ts:\d/.test(sent.text)
    expect([request, isLeak]).toEqual([request, false])
    // The page may have logged in again: that is no row of the store.
    if (!path.startsWith('/api/session')) expect([request, isEffective(sent.status, method)]).toEqual([request, false])
  }
  expect(server.errors).toEqual([])
  expect(dumpStore(folder)).toBe(before)
  // The requests reach all checks, not only the first one.
  for (const status of [200, 400, 401, 403, 404, 405, 415]) expect(statuses.get(status) ?? 0).toBeGreaterThan(0)
  // A valid request does change it.
  expect((await server.call(`/api/runs/${known.run_id}/cancel`, {})).status).toBe(200)
  expect(dumpStore(folder)).not.toBe(before)
})
