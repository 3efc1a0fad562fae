import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/* A model on loopback that says nothing until the test lets it: for what has to happen while an agent is at work. */

export interface PendingTurn {
  /** Words as they are; the test decides where they break off. */
  write(text: string): void
  end(): void
  /** The whole answer: an object where conditions or variables are asked for, else plain words. */
  answer(say: string, more?: { holds?: boolean[]; sets?: Record<string, unknown> }): void
}

export interface ManualModel {
  /** For the environment of the process that asks it. */
  env: NodeJS.ProcessEnv
  name: string
  /** The next turn of this agent, as soon as it is asked for. */
  nextTurn(agent: string): Promise<PendingTurn>
}

interface TurnQueue {
  asked: PendingTurn[]
  wanted: ((turn: PendingTurn) => void)[]
}

export async function startManualModel(): Promise<ManualModel> {
  const agents = new Map<string, TurnQueue>()
  const of = (agent: string) => {
    const known = agents.get(agent) ?? { asked: [], wanted: [] }
    agents.set(agent, known)
    return known
  }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const [agent, turn] = pendingTurn(lastMessageText(Buffer.concat(chunks).toString('utf8')), response)
      const { asked, wanted } = of(agent)
      const next = wanted.shift()
      if (next) next(turn)
      else asked.push(turn)
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
    name: 'compatible/held',
    nextTurn(agent) {
      const { asked, wanted } = of(agent)
      const ready = asked.shift()
      return ready ? Promise.resolve(ready) : new Promise((resolve) => void wanted.push(resolve))
    },
  }
}

function lastMessageText(body: string): string {
  const { messages } = JSON.parse(body) as { messages: { content: string | { text?: string }[] }[] }
  const content = messages.at(-1)?.content ?? ''
  return typeof content === 'string' ? content : content.map(({ text = '' }) => text).join('')
}

function pendingTurn(asked: string, response: ServerResponse): [agent: string, turn: PendingTurn] {
  const [, agent = 'router'] = /^You are ([\w-]+)/m.exec(asked) ?? []
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.flushHeaders()
  const send = (rest: object) => {
    const chunk = { id: 'held', object: 'chat.completion.chunk', created: 1, model: 'held', ...rest }
    response.write(`data: ${JSON.stringify(chunk)}\n\n`)
  }
  const turn: PendingTurn = {
    write: (content) => send({ choices: [{ index: 0, delta: { role: 'assistant', content }, finish_reason: null }] }),
    end() {
      send({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })
      send({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } })
      response.end('data: [DONE]\n\n')
    },
    answer(say, { holds = [], sets = {} } = {}) {
      const verdicts = holds.map((each, index) => ({ condition: index + 1, holds: each }))
      const variables = Object.entries(sets).map(([name, value]) => ({ name, value }))
      const plain = holds.length === 0 && variables.length === 0
      turn.write(plain ? say : JSON.stringify({ response: say, verdicts, variables, next: null }))
      turn.end()
    },
  }
  return [agent, turn]
}
