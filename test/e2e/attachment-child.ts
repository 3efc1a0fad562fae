import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createTroupe } from '../../src/index.ts'
import { functionModel } from '../support/test-troupe.ts'

/*
 * `attachment-child.ts FOLDER PATTERN VICTIM` runs or resumes a run whose message carries the files in `attachments.json`. The files that a
 * request has are appended to `seen`. The process kills itself when the agent VICTIM is about to be asked.
 */
const [folder = '', pattern = '', victim = ''] = process.argv.slice(2)
const attachments = JSON.parse(readFileSync(join(folder, 'attachments.json'), 'utf8')) as never

const model = functionModel(({ session: { agent }, messages }) => {
  if (agent === victim) process.kill(process.pid, 'SIGKILL')
  appendFileSync(join(folder, 'seen'), `${JSON.stringify({ agent, content: messages[0]?.content })}\n`)
  return { text: `${agent} is done.` }
})
const agents = ['first', 'second'].map((name) => ({ name, description: name, instructions: `You are ${name}.` }))
const inputs: Record<string, object> = {
  task: { agent: 'first', instruction: 'What is this?' },
  team: {
    team: {
      name: 'Pair',
      agents: agents.map(({ name }) => ({ name })),
      handoffs: [{ from_agent: 'first', to_agent: 'second' }],
      after_work_behavior: 'terminate',
    },
    message: 'What is this?',
  },
}
const troupe = await createTroupe({ store: join(folder, 'store'), model, agents, embedder: false })
const idFile = join(folder, 'run')
const handle = existsSync(idFile)
  ? await troupe.resume(readFileSync(idFile, 'utf8'))
  : await troupe.stream(pattern, { ...inputs[pattern], attachments })
writeFileSync(idFile, handle.run_id)
const { status } = await handle.result
await troupe.close()
process.stdout.write(status)
