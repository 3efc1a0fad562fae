import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { createTroupe } from 'troupe'
import { createRunServer } from './server.ts'

// Streams a run to a browser. With PORT set, the server keeps running; without it, the program is its own client and ends.
const script = fileURLToPath(new URL('../01-task/script.json', import.meta.url))
const troupe = await createTroupe({ store: 'memory', model: `scripted:${script}` })
const server = createRunServer(troupe)
await new Promise<void>((resolve) => server.listen(Number(process.env.PORT ?? 0), '127.0.0.1', resolve))
const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
console.log(`listening on ${address}`)

if (process.env.PORT === undefined) {
  const started = await fetch(`${address}/runs`, { method: 'POST', body: 'How should we cache sessions?' })
  const { run_id } = (await started.json()) as { run_id: string }
  const all = await (await fetch(`${address}/runs/${run_id}/events`)).text()
  const ids = [...all.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id))
  assert.match(all, /"type":"run:end"/)

  // A browser that was disconnected after the third event continues with the fourth.
  const headers = { 'last-event-id': String(ids[2]) }
  const rest = await (await fetch(`${address}/runs/${run_id}/events`, { headers })).text()
  assert.match(rest, new RegExp(`^id: ${ids[3]}\n`))
  server.close()
} else {
  await new Promise((resolve) => process.once('SIGINT', resolve))
  server.close()
}
await troupe.close()
