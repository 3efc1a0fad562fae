import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, readdir, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { UIMessage } from 'ai'
import { DefaultChatTransport, readUIMessageStream } from 'ai'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { waitUntil } from '../support/http-harness.ts'
import { parseSse, takeSse } from '../support/sse-client.ts'

/*
 * The handler in real servers. Run with `npm run test:frameworks`: it needs the registry and about 700 MB in the temporary folder. Versions are
 * in package.json of this folder; Bun and Deno are packages, too.
 */

const OWN = fileURLToPath(new URL('.', import.meta.url))
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)

const env = {
  ...process.env,
  PATH: [dirname(process.execPath), process.env.PATH].join(delimiter),
  NEXT_TELEMETRY_DISABLED: '1',
  DENO_NO_UPDATE_CHECK: '1',
}

/** The application of Next.js. The handler is made with the first request: a build evaluates the module, too. */
const NEXT_FILES = {
  'app/agents/[[...path]]/route.ts': `
    import type { Handler } from 'troupe/server'
    import { create } from '../../../programs/troupe.mjs'
    const kept = globalThis as { handler?: Promise<Handler> }
    export async function GET(request: Request): Promise<Response> {
      kept.handler ??= create()
      return (await kept.handler)(request)
    }
    export const POST = GET`,
  'app/layout.tsx': `
    import type { ReactNode } from 'react'
    export default function Layout({ children }: { children: ReactNode }) {
      return <html lang="en"><body>{children}</body></html>
    }`,
  'app/page.tsx': 'export default function Page() { return <p>Home</p> }',
}

let folder = ''
beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'troupe-frameworks-')))
  await run('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: ROOT })
  const tarball = (await readdir(folder)).find((name) => name.endsWith('.tgz')) ?? ''
  for (const name of ['package.json', 'programs']) await cp(join(OWN, name), join(folder, name), { recursive: true })
  for (const [path, text] of Object.entries(NEXT_FILES)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), text)
  }
  await run('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error', `./${tarball}`], { cwd: folder, env })
})
afterAll(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return port
}

interface Started {
  url: string
  output(): string
}

async function start(
  program: string,
  args: readonly string[],
  options: { cwd?: string; env?: object } = {},
): Promise<Started> {
  const port = await freePort()
  const store = join(folder, `store-${port}`)
  const child = spawn(program, args, {
    cwd: options.cwd ?? folder,
    env: { ...env, PORT: String(port), HOSTNAME: '127.0.0.1', STORE: store, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(async () => {
    child.kill('SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
  const url = `http://127.0.0.1:${port}`
  await waitUntil(
    () =>
      fetch(url).then(
        () => true,
        () => child.exitCode !== null,
      ),
    'a server',
  )
  expect(child.exitCode, output).toBe(null)
  return { url, output: () => output }
}

const user = { 'x-user': 'ada' }

/** A chat turn with the transport of `useChat`, a stream, and a caller that nobody knows. */
async function checkApi({ url, output }: Started): Promise<void> {
  const api = `${url}/agents/api`
  expect((await fetch(`${api}/runs`)).status, output()).toBe(401)
  const transport = new DefaultChatTransport<UIMessage>({
    api: `${api}/ui-message-stream/task`,
    headers: { ...user, 'x-troupe-request': '1' },
  })
  const stream = await transport.sendMessages({
    chatId: 'c1',
    messageId: undefined,
    trigger: 'submit-message',
    abortSignal: undefined,
    messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Hello?' }] }],
  })
  let message: UIMessage | undefined
  for await (const state of readUIMessageStream({ stream })) message = state
  expect(message).toMatchObject({ metadata: { status: 'completed' } })
  expect(message?.parts).toContainEqual(expect.objectContaining({ type: 'text', text: 'Hello.' }))
  const left = new AbortController()
  const changes = await fetch(`${api}/changes`, { headers: user, signal: left.signal })
  expect(await takeSse(parseSse(changes.body as ReadableStream<Uint8Array>), 1)).toMatchObject([{ event: 'inbox' }])
  left.abort()
  const foreign = await fetch(`${api}/runs`, { headers: { ...user, origin: 'https://evil.example' } })
  expect(foreign.status).toBe(403)
}

async function checkPage({ url }: Started): Promise<void> {
  const page = await fetch(`${url}/agents/runs`)
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('src="/agents/app.js"')])
  expect((await fetch(`${url}/agents/app.js`)).headers.get('content-type')).toContain('javascript')
}

test.each([
  ['node:http', 'node'],
  ['Express, behind its body parser', 'express'],
  ['Hono, which removes the prefix', 'hono'],
])('HS37 HS41 a chat, a stream and the page in %s', async (_name, program) => {
  const server = await start(process.execPath, [`programs/${program}.mjs`])
  await checkApi(server)
  await checkPage(server)
})

test.each([
  ['Bun', 'node_modules/@oven/bun-linux-x64/bin/bun', ['programs/bun.mjs']],
  ['Deno', 'node_modules/@deno/linux-x64-glibc/deno', ['run', '-A', '--node-modules-dir=manual', 'programs/deno.mjs']],
])('HS37 HS40 a chat, a stream and the page in %s', async (_name, program, args) => {
  const server = await start(join(folder, program), args)
  await checkApi(server)
  await checkPage(server)
})

describe('Next.js', () => {
  const next = (...args: string[]) => [join(folder, 'node_modules/next/dist/bin/next'), ...args]
  const build = async (config: string) => {
    await writeFile(join(folder, 'next.config.mjs'), `export default ${config}\n`)
    await run(process.execPath, next('build'), { cwd: folder, env })
  }

  test('P32 HS37 a plain build has a chat, a stream and the page', async () => {
    await build('{}')
    const server = await start(process.execPath, next('start'))
    await checkApi(server)
    await checkPage(server)
  })

  test('P32 a standalone build that was moved has the API; the page needs the option that its error names', async () => {
    const moved = join(folder, '..', `${folder.split('/').at(-1)}-moved`)
    onTestFinished(() => rm(moved, { recursive: true, force: true, maxRetries: 5 }))
    const own = join(folder, 'node_modules/troupe')
    const startMoved = async (options: object) => {
      await rm(moved, { recursive: true, force: true })
      await cp(join(folder, '.next/standalone'), moved, { recursive: true })
      return start(process.execPath, ['server.js'], { cwd: moved, env: options })
    }
    await build(`{ output: 'standalone' }`)
    await rename(own, `${own}-away`)
    await checkApi(await startMoved({ PAGE: 'no' }))
    const refused = await startMoved({})
    expect((await fetch(`${refused.url}/agents/runs`)).status).toBe(500)
    await waitUntil(async () => refused.output().includes('serverExternalPackages'), 'the option')
    await rename(`${own}-away`, own)
    const guide = await readFile(join(ROOT, 'docs/guide/own-server.md'), 'utf8')
    const config = /export default (\{\s+output: 'standalone'[\s\S]*?\n\})/.exec(guide)?.[1] ?? ''
    await build(config)
    await rename(own, `${own}-away`)
    const server = await startMoved({})
    await checkApi(server)
    await checkPage(server)
    expect(await readdir(join(moved, 'node_modules'))).toEqual(expect.arrayContaining(['troupe', 'jsonrepair']))
    await rename(`${own}-away`, own)
  })
})
