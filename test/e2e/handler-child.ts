import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createTroupe } from '../../src/index.ts'
import { createHandler } from '../../src/surfaces/http/create-handler.ts'
import { toNodeListener } from '../../src/surfaces/http/node-listener.ts'
import { agent, functionModel } from '../support/test-troupe.ts'

/* A server with a handler: `handler-child.ts STORE`. Its model answers in the second process only. */
const [store = ''] = process.argv.slice(2)
const model = functionModel(async () => {
  if (!process.env.SECOND) await new Promise((resolve) => setTimeout(resolve, 600_000))
  return { text: `done by ${process.pid}` }
})
const troupe = await createTroupe({ config: false, store, model, agents: [agent('lead')], embedder: false })
const handler = createHandler(troupe, { authenticate: () => ({ name: 'ada', scopes: ['read', 'run'] }) })
const server = createServer(toNodeListener(handler))
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port))
void troupe.work()
