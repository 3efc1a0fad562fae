import { createInterface } from 'node:readline'
import type { PerformerAction } from '../../src/testing/scripted-performer.ts'

/*
 * An external agent as a process: it reads and writes one JSON object per line, and carries out the actions it is given on its
 * command line. It ends when its input ends, as a well-behaved agent does when its host dies.
 */

const actions = JSON.parse(process.argv[2] ?? '[]') as PerformerAction[]
const replies = createInterface(process.stdin)
const send = (message: object) => process.stdout.write(`${JSON.stringify(message)}\n`)
const waiting = new Map<string, (message: { allow: boolean; reason?: string }) => void>()

replies.on('close', () => process.exit(0))
replies.on('line', (line) => {
  const message = JSON.parse(line)
  if (message.type === 'turn') void performActions()
  else waiting.get(message.id)?.(message)
})

function request(message: { id: string; type: string; [field: string]: unknown }) {
  send(message)
  return new Promise<{ allow: boolean; reason?: string }>((resolve) => waiting.set(message.id, resolve))
}

async function performActions(): Promise<void> {
  for (const [index, action] of actions.entries()) {
    const id = String(index)
    if (action.do === 'report') send({ type: 'update', update: action.update })
    else if (action.do === 'save') await request({ id, type: 'session', session: action.session })
    else if (action.do === 'finish') send({ type: 'result', result: action.result })
    else if (action.do === 'throw') send({ type: 'error', message: action.message })
    else if (action.do === 'quit') process.exit(0)
    else if (action.do === 'stall') return
    else {
      const { allow, reason } = await request({ id, type: 'permission', call: action.call })
      send({ type: 'update', update: { type: 'text', text: allow ? 'allowed' : `denied: ${reason}` } })
    }
  }
}
