import { expect, test } from 'vitest'
import type { TestServer } from '../../../test/support/http-harness.ts'
import { startTestServer } from '../../../test/support/http-harness.ts'
import { agent, modelFromRules } from '../../../test/support/test-troupe.ts'

/* Requests of a caller of another project, and requests that a browser or a proxy can be made to send: streams, ranges, methods, compression. */

const SECRET = 'the merger closes on Friday'
const model = modelFromRules(
  {
    when: { turn: 1 },
    reply: { toolCalls: [{ name: 'ArtifactWrite', input: { name: 'plan.md', content: SECRET } }] },
  },
  { reply: { text: 'Done.' } },
)
const agents = [agent('lead', { tools: ['ArtifactWrite'] })]

async function startServers() {
  const own = await startTestServer({ troupe: { agents, model, project: 'own' } })
  const { run_id } = await own.troupe.run('task', { agent: 'lead', instruction: SECRET })
  const foreign = await startTestServer({
    ...{ folder: own.folder, executes: false },
    troupe: { agents, model, project: 'foreign' },
  })
  return { own, foreign, run_id }
}

const MISSING = 'r_000000000000'

/** What a stream sends until it has sent something about the run. */
async function readStream({ server, token }: TestServer, path: string, until: RegExp): Promise<string> {
  const stop = new AbortController()
  const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream' }
  const response = await fetch(`http://127.0.0.1:${server.port}${path}`, { headers, signal: stop.signal })
  const decoder = new TextDecoder()
  let text = `${response.status}\n`
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true })
    if (until.test(text)) break
  }
  stop.abort()
  return text
}

test('HS12 the combined stream tells of a run of another project what it tells of one that does not exist; control: its own project', async () => {
  const { own, foreign, run_id } = await startServers()
  const watch = (id: string, seq = '') => readStream(foreign, `/api/watch?run=${id}${seq}`, /event: gone/)
  for (const seq of ['', '@1', '@999999']) {
    const shown = await watch(run_id, seq)
    expect(shown).not.toContain('merger')
    expect(shown.replaceAll(run_id, MISSING).replaceAll(/^id:.*$/gm, '')).toBe(
      (await watch(MISSING, seq)).replaceAll(/^id:.*$/gm, ''),
    )
  }
  expect(await readStream(own, `/api/watch?run=${run_id}`, /event: snapshot(.|\n)*\n\n/)).toContain('merger')
})

test('HS12 HS20 no range and no method gets at an artifact of another project; control: its own project', async () => {
  const { own, foreign, run_id } = await startServers()
  const path = `/api/runs/${run_id}/artifacts/plan.md`
  const send = (server: TestServer, method: string, range?: string) =>
    server.send(path, {
      method,
      headers: { authorization: `Bearer ${server.token}`, ...(range === undefined ? undefined : { range }) },
    })
  const ranges = [
    'bytes=0-4',
    'bytes=-5',
    'bytes=0-',
    'bytes=0-0,2-3',
    'bytes=9-1',
    'bytes=999999999999999-',
    'x=1',
    '',
  ]
  for (const range of ranges) {
    const refused = await send(foreign, 'GET', range)
    expect([range, refused.status, refused.headers['content-range'], refused.headers.etag]).toEqual([
      range,
      404,
      undefined,
      undefined,
    ])
    expect(refused.text).not.toContain('merger')
    const allowed = await send(own, 'GET', range)
    expect(allowed.status, range).toBe(200)
    expect(allowed.text, range).toContain('merger')
  }
  for (const method of ['HEAD', 'OPTIONS', 'TRACE', 'PROPFIND', 'PUT', 'DELETE', 'PATCH']) {
    const refused = await send(foreign, method)
    expect(refused.status, method).toBeGreaterThanOrEqual(400)
    expect(refused.text).not.toContain('merger')
    const allowed = await send(own, method)
    expect(allowed.text, method).not.toContain('merger')
    const cors = [...Object.keys(refused.headers), ...Object.keys(allowed.headers)].filter((name) =>
      name.startsWith('access-control'),
    )
    expect(cors, method).toEqual([])
  }
})

test('HS32 another site gets no compressed response of which it could measure the length; control: the page itself', async () => {
  const { own, run_id } = await startServers()
  const get = (headers: Record<string, string>) =>
    own.send(`/api/runs/${run_id}/events`, { headers: { 'accept-encoding': 'gzip', ...headers } })
  const authorization = `Bearer ${own.token}`
  const crossSite = await get({ authorization, origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' })
  expect([crossSite.status, crossSite.headers['content-encoding']]).toEqual([403, undefined])
  const session = await own.send('/api/session', {
    method: 'POST',
    headers: { authorization, 'x-troupe-request': '1', 'accept-encoding': 'gzip' },
    body: {},
  })
  expect([session.status, session.headers['content-encoding']]).toEqual([200, undefined])
  const [cookie = ''] = [session.headers['set-cookie'] ?? ''].flat()
  // A page of another origin can make a browser send the cookie, but not read the CSRF token that has to come with it.
  const withCookie = await get({ cookie: cookie.split(';')[0] ?? '' })
  expect([withCookie.status, withCookie.headers['content-encoding']]).toEqual([401, undefined])
  const compressed = await get({ authorization })
  expect([compressed.status, compressed.headers['content-encoding']]).toEqual([200, 'gzip'])
})
