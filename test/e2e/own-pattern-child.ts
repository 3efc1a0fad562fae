import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createTroupe } from 'troupe'
import { review } from '../../examples/04-pattern/review.ts'
import { functionModel, lastMessageText } from '../support/test-troupe.ts'

/*
 * `own-pattern-child.ts FOLDER PATTERN VICTIM` runs or resumes a run with a user's pattern, directly or as a tool. Requests are paid when
 * the model receives them, in the file `paid`. The process kills itself when the agent VICTIM is about to be asked.
 */
const [folder = '', pattern = '', victim = ''] = process.argv.slice(2)
const reviewers = ['editor', 'lawyer', 'engineer']
const input = { text: 'We never lose data.', reviewers, needed: 3 }

const model = functionModel((request) => {
  const { agent, turn } = request.session
  if (agent === victim && turn === 1) process.kill(process.pid, 'SIGKILL')
  appendFileSync(join(folder, 'paid'), `${agent} ${turn}\n`)
  if (agent !== 'author') return { text: JSON.stringify({ approve: agent !== 'editor', reason: `so says ${agent}` }) }
  return turn === 1 ? { calls: [{ name: 'second_opinion', input }] } : { text: lastMessageText(request) }
})
const agents = ['author', ...reviewers].map((name) => ({ name, description: name, instructions: `You are ${name}.` }))
await using troupe = await createTroupe({ store: join(folder, 'store'), model, agents, patterns: [review] })

const idFile = join(folder, 'run')
const handle = existsSync(idFile)
  ? await troupe.resume(readFileSync(idFile, 'utf8'))
  : await troupe.stream(pattern, pattern === 'review' ? input : { agent: 'author', instruction: 'Publish it.' })
writeFileSync(idFile, handle.run_id)
const { status, output } = await handle.result
process.stdout.write(JSON.stringify({ status, output }))
