import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { PAGE, startTestServer } from '../../../test/support/http-harness.ts'
import { agent, modelFromRules } from '../../../test/support/test-troupe.ts'
import { definePattern } from '../../entries/patterns.ts'
import { createTroupe, TroupeError } from '../../index.ts'
import { fitsArtifact } from '../../kernel/session/artifacts.ts'
import { errorResponseFrom, withoutPaths } from './checks/error-response.ts'
import type { ArtifactItem, ArtifactPreview } from './contract.ts'

const SIZE = 8 * 1024 * 1024

/** Writes artifacts of any size, without a model. */
const writer = definePattern({
  name: 'writer',
  version: 1,
  description: 'Writes artifacts.',
  category: 'task_management',
  input: { type: 'object' },
  output: { type: 'object' },
  async execute(context) {
    await context.writeArtifact('big', { name: 'big.txt', content: `é${'x'.repeat(SIZE)}` })
    await context.writeArtifact('page', {
      name: 'a/"page" ü.html',
      content: '<script>alert(1)</script>',
      media_type: 'text/html',
    })
    return { success: true, output: {} }
  },
})

describe('artifacts', () => {
  test('HS20 artifacts are listed, downloaded as attachments and shown up to 200 KB, also large ones', async () => {
    const server = await startTestServer({ troupe: { patterns: [writer] } })
    const { run_id } = await server.troupe.run('writer', {})
    const items = (await server.call(`/api/runs/${run_id}/artifacts`)).json as ArtifactItem[]
    expect(items.map(({ name, size }) => [name, size])).toContainEqual(['big.txt', SIZE + 2])
    const big = await server.call(`/api/runs/${run_id}/artifacts/big.txt?version=1`)
    expect([big.status, big.text.length]).toEqual([200, SIZE + 1])
    const preview = (await server.call(`/api/runs/${run_id}/artifacts/big.txt/preview`)).json as ArtifactPreview
    expect(preview).toMatchObject({ name: 'big.txt', is_cut: true, size: SIZE + 2 })
    expect(Buffer.byteLength(preview.text)).toBe(200 * 1024)
    const name = encodeURIComponent('a/"page" ü.html')
    const page = await server.call(`/api/runs/${run_id}/artifacts/${name}`)
    expect(page.text).toBe('<script>alert(1)</script>')
    expect(page.headers).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-disposition': `attachment; filename="_page___.html"; filename*=UTF-8''%22page%22%20%C3%BC.html`,
      'x-content-type-options': 'nosniff',
    })
    const short = (await server.call(`/api/runs/${run_id}/artifacts/${name}/preview`)).json as ArtifactPreview
    expect(short).toMatchObject({ text: '<script>alert(1)</script>', is_cut: false })
    for (const missing of ['nothing', 'big.txt?version=9', '..%2f..%2fetc%2fpasswd'])
      expect((await server.call(`/api/runs/${run_id}/artifacts/${missing}`)).status).toBe(404)
  })
})

describe('large artifacts', () => {
  test('HS20 an artifact is sent as a whole, also when a part of it is asked for', async () => {
    const server = await startTestServer({ troupe: { patterns: [writer] } })
    const { run_id } = await server.troupe.run('writer', {})
    for (const range of [undefined, 'bytes=0-2', 'bytes=8388610-', 'lines=1']) {
      const whole = await server.send(`/api/runs/${run_id}/artifacts/big.txt`, {
        headers: { authorization: `Bearer ${server.token}`, ...(range === undefined ? undefined : { range }) },
      })
      expect([whole.status, whole.headers['content-length']]).toEqual([200, String(SIZE + 2)])
      expect(whole.headers['accept-ranges']).toBeUndefined()
      expect(Buffer.byteLength(whole.text)).toBe(SIZE + 2)
    }
  })

  test('R4 HS20 an artifact of 50 MB is refused where it is written; the run goes on, and the page shows the error', async () => {
    const huge = definePattern({
      name: 'huge',
      version: 1,
      description: 'Writes an artifact of 50 MB.',
      category: 'task_management',
      input: { type: 'object' },
      output: { type: 'object' },
      async execute(context) {
        await context.writeArtifact('a', { name: 'dump.txt', content: 'x'.repeat(50 * 1024 * 1024) })
        return { success: true, output: {} }
      },
    })
    const server = await startTestServer({
      troupe: {
        agents: [agent('lead', { tools: ['huge'] })],
        patterns: [huge],
        model: modelFromRules(
          { when: { turn: 1 }, reply: { toolCalls: [{ name: 'huge', input: {} }] } },
          { when: { turn: 2 }, reply: { text: 'I keep it in a file.' } },
        ),
      },
    })
    const { run_id, status } = await server.troupe.run('task', { agent: 'lead', instruction: 'Dump.' })
    expect(status).toBe('completed')
    const events = await server.troupe.events(run_id).all()
    const failed = events.find(({ type }) => type === 'tool:error')
    const { key = '' } = (failed?.data ?? {}) as { key?: string }
    const detail = await server.call(`/api/runs/${run_id}/detail?kind=call&id=${encodeURIComponent(key)}`)
    expect(detail.text).toContain("artifact 'dump.txt' has 50 MB; at most 24 MB can be stored")
    expect(detail.text.length).toBeLessThan(100_000)
    expect((await server.call(`/api/runs/${run_id}/artifacts`)).json).toEqual([])
  })

  test('R4 the limit counts the content as the journal stores it', () => {
    expect(fitsArtifact('x'.repeat(20 * 1024 * 1024))).toBe(true)
    expect(fitsArtifact('\u0001'.repeat(5 * 1024 * 1024))).toBe(false)
  })
})

describe('errors', () => {
  test('HS15 errors have no paths, stacks or ids of other runs', async () => {
    const server = await startTestServer({ troupe: { agents: [agent('lead')] } })
    const { run_id } = await server.troupe.run('task', { agent: 'lead', instruction: 'x' })
    const unknown = await server.call('/api/runs/r_1')
    expect(unknown.json).toEqual({ error: { code: 'not_found', message: 'there is no such run' } })
    expect(unknown.text).not.toContain(run_id)
    expect(withoutPaths('cannot open /home/ada/.troupe/store.db: ENOENT, see C:\\Users\\ada\\x.txt')).toBe(
      'cannot open …/store.db: ENOENT, see …/x.txt',
    )
    expect(withoutPaths('use 1/2 of and/or https://example.com/a/b')).toBe('use 1/2 of and/or https://example.com/a/b')
    const hidden = errorResponseFrom(
      new TroupeError('store_corrupt', '/home/ada/.troupe is damaged', { hint: 'repair /home/ada' }),
    )
    expect(hidden).toMatchObject({ status: 503, isUnexpected: true })
    expect(JSON.stringify(hidden.body)).not.toMatch(/home|ada/)
    const crash = errorResponseFrom(new TypeError('x is undefined'))
    expect([crash.status, JSON.stringify(crash.body)]).toEqual([500, expect.not.stringContaining('undefined')])
  })

  test('HS15 an unexpected error is told to the operator, not to the caller', async () => {
    const failing = new Error('cannot read /srv/secret/page')
    const server = await startTestServer({
      page: () => {
        throw failing
      },
    })
    const response = await server.send('/')
    expect([response.status, response.json]).toEqual([500, { error: expect.objectContaining({ code: 'internal' }) }])
    expect(response.text).not.toContain('secret')
    expect(server.errors).toEqual([failing])
  })

  test('HS15 a method that a route does not take is 405, an unknown route 404', async () => {
    const server = await startTestServer()
    expect((await server.call('/api/runs', {})).json).toMatchObject({
      error: { code: 'method_not_allowed', hint: 'use GET' },
    })
    expect((await server.call('/api/nothing', {})).json).toMatchObject({ error: { code: 'not_found' } })
    expect((await server.send('/', { method: 'POST', body: {} })).status).toBe(404)
  })

  test('HS16 a run that was deleted meanwhile is not found', async () => {
    const server = await startTestServer()
    const { run_id } = await server.troupe.run('task', { agent: 'lead', instruction: 'x' })
    expect((await server.call(`/api/runs/${run_id}`)).status).toBe(200)
    const other = await createTroupe({ config: false, store: join(server.folder, 'store') })
    await other.deleteRuns([run_id])
    await other.close()
    for (const path of ['', '/result', '/events', '/panels'])
      expect((await server.call(`/api/runs/${run_id}${path}`)).status).toBe(404)
    await rm(join(server.folder, 'nothing'), { force: true })
  })
})

describe('the page', () => {
  test('HS23 every place of the page is the same document, and files that it does not have are 404', async () => {
    const server = await startTestServer()
    for (const path of ['/', '/index.html', '/runs', '/runs/r_1/plan?at=call:x', '/inbox/g_1', '/metrics', '/apiary'])
      expect((await server.send(path)).text).toBe(PAGE['index.html'])
    expect((await server.send('/app.js')).text).toBe(PAGE['app.js'])
    for (const path of ['/../package.json', '/%2e%2e/package.json', '/app.js.map', '/__proto__.js'])
      expect((await server.send(path)).status).toBe(404)
  })
})
