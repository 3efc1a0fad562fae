import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/** A provider on loopback that keeps every request it gets. */
export interface RecordingModel {
  /** Environment variables for the process that uses it. */
  env: { TROUPE_COMPATIBLE_BASE_URL: string }
  name: string
  /** Bodies, as they came over the wire. */
  requests: string[]
}

/** Calls `Bash` with the command in the first turn of each conversation, and ends it with the second. */
export async function startRecordingModel(command: string): Promise<RecordingModel> {
  const requests: string[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString('utf8')
    requests.push(body)
    const isFirst = !body.includes('"role":"tool"')
    const call = {
      index: 0,
      id: 'c1',
      type: 'function',
      function: { name: 'Bash', arguments: JSON.stringify({ command }) },
    }
    const delta = isFirst ? { role: 'assistant', tool_calls: [call] } : { role: 'assistant', content: 'Done.' }
    const send = (fields: object) =>
      response.write(
        `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm', ...fields })}\n\n`,
      )
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    send({ choices: [{ index: 0, delta, finish_reason: null }] })
    send({ choices: [{ index: 0, delta: {}, finish_reason: isFirst ? 'tool_calls' : 'stop' }] })
    send({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } })
    response.end('data: [DONE]\n\n')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { env: { TROUPE_COMPATIBLE_BASE_URL: `http://127.0.0.1:${port}` }, name: 'compatible/recording', requests }
}
