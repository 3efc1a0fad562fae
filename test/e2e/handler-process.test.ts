import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { UIMessage } from 'ai'
import { DefaultChatTransport, readUIMessageStream } from 'ai'
import { expect, onTestFinished, test } from 'vitest'

const CHILD = fileURLToPath(new URL('./handler-child.ts', import.meta.url))

async function startServer(store: string, env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [CHILD, store], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  })
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  onTestFinished(kill)
  const [port] = await once(child.stdout, 'data')
  const api = `http://127.0.0.1:${Number(port)}/api/ui-message-stream`
  const transport = new DefaultChatTransport<UIMessage>({
    api: `${api}/task`,
    headers: { 'x-troupe-request': '1' },
    body: { input: { agent: 'lead' } },
    prepareReconnectToStreamRequest: ({ id }) => ({ api: `${api}/runs/${id}` }),
  })
  return { pid: child.pid, kill, transport }
}

test('HS39 a run survives a client that leaves and a kill of the server; the chat that reconnects gets the whole message', async () => {
  const store = await mkdtemp(join(tmpdir(), 'troupe-handler-'))
  onTestFinished(() => rm(store, { recursive: true, force: true, maxRetries: 5 }))
  const first = await startServer(join(store, 'runs'))
  const left = new AbortController()
  const stream = await first.transport.sendMessages({
    chatId: 'c1',
    messageId: undefined,
    trigger: 'submit-message',
    abortSignal: left.signal,
    messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Build it.' }] }],
  })
  const reader = stream.getReader()
  const { value: start } = await reader.read()
  const run_id = start?.type === 'start' ? (start.messageId ?? '') : ''
  expect(run_id).toMatch(/^r_/)
  left.abort()
  await first.kill()
  const second = await startServer(join(store, 'runs'), { SECOND: '1' })
  const again = await second.transport.reconnectToStream({ chatId: run_id })
  if (!again) throw new Error('no stream')
  let message: UIMessage | undefined
  for await (const state of readUIMessageStream({ stream: again })) message = state
  expect(message).toMatchObject({ id: run_id, metadata: { status: 'completed' } })
  expect(message?.parts).toContainEqual(expect.objectContaining({ type: 'text', text: `done by ${second.pid}` }))
})
