import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/* An HTTP model on loopback that responds only when the test says so: for actions during an agent's turn. */

export interface PendingTurn {
  /** Streams a text delta. */
  write(text: string): void
  end(): void
  /** Sends the whole response: structured output if verdicts or variables are given, else text. */
  answer(text: string, more?: { holds?: boolean[]; sets?: Record<string, unknown> }): void
}

export interface ManualModel {
  /** Environment variables for the process that uses it. */
  env: NodeJS.ProcessEnv
  name: string
  /** Resolves with the next turn of an agent when its request arrives. */
  nextTurn(agent: string): Promise<PendingTurn>
}

interface TurnQueue {
  turns: PendingTurn[]
  waiters: ((turn: PendingTurn) => void)[]
}

export async function startManualModel(): Promise<ManualModel> {
  const queues = new Map<string, TurnQueue>()
  const findQueue = (agent: string) => {
    const queue = queues.get(agent) ?? { turns: [], waiters: [] }
    queues.set(agent, queue)
    return queue
  }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const [agent, turn] = pendingTurn(lastMessageText(Buffer.concat(chunks).toString('utf8')), response)
      const { turns, waiters } = findQueue(agent)
      const waiter = waiters.shift()
      if (waiter) waiter(turn)
      else turns.push(turn)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    env: { TROUPE_COMPATIBLE_BASE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}` },
    name: 'compatible/manual',
    nextTurn(agent) {
      const { turns, waiters } = findQueue(agent)
      const ready = turns.shift()
      return ready ? Promise.resolve(ready) : new Promise((resolve) => void waiters.push(resolve))
    },
  }
}

function lastMessageText(body: string): string {
  const { messages } = JSON.parse(body) as { messages: { content: string | { text?: string }[] }[] }
  const content = messages.at(-1)?.content ?? ''
  return typeof content === 'string' ? content : content.map(({ text = '' }) => text).join('')
}

function pendingTurn(message: string, response: ServerResponse): [agent: string, turn: PendingTurn] {
  const [, agent = 'router'] = /^You are ([\w-]+)/m.exec(message) ?? []
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.flushHeaders()
  const send = (fields: object) => {
    const chunk = { id: 'manual', object: 'chat.completion.chunk', created: 1, model: 'manual', ...fields }
    response.write(`data: ${JSON.stringify(chunk)}\n\n`)
  }
  const turn: PendingTurn = {
    write: (content) => send({ choices: [{ index: 0, delta: { role: 'assistant', content }, finish_reason: null }] }),
    end() {
      send({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })
      send({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } })
      response.end('data: [DONE]\n\n')
    },
    answer(text, { holds = [], sets = {} } = {}) {
      const verdicts = holds.map((verdict, index) => ({ condition: index + 1, holds: verdict }))
      const variables = Object.entries(sets).map(([name, value]) => ({ name, value }))
      const isText = holds.length === 0 && variables.length === 0
      turn.write(isText ? text : JSON.stringify({ response: text, verdicts, variables, next: null }))
      turn.end()
    },
  }
  return [agent, turn]
}
