import { expect, test } from 'vitest'
import { z } from 'zod'
import { agent, lastInput, playing, stage } from '../../test/stage.ts'
import { defineTool, isEvent } from '../index.ts'

const done: string[] = []
const shell = defineTool({
  name: 'Bash',
  description: 'runs a command',
  kind: 'act',
  category: 'action',
  input: z.object({ command: z.string() }),
  subject: ({ command }) => command,
  execute({ command }) {
    done.push(command)
    return { success: true, output: `ran ${command}` }
  },
})

/** Runs these commands one after the other, in the given session, and repeats the last answer. */
function running(...commands: string[]) {
  return playing((request) => {
    if (request.session.agent === 'lead' && request.session.turn === 1) {
      return { calls: [{ name: 'task', input: { agent: 'worker', instruction: 'go' } }] }
    }
    if (request.session.agent === 'lead') return { text: lastInput(request) }
    const command = commands[request.session.turn - 1]
    return command === undefined ? { text: lastInput(request) } : { calls: [{ name: 'Bash', input: { command } }] }
  })
}

async function runs(commands: string[], permissions: object, name = 'worker', worker = {}) {
  done.length = 0
  const model = running(...commands)
  const agents = [agent('lead'), agent('worker', worker)]
  const { troupe, task } = await stage({ model, agents, tools: [shell], permissions })
  return { model, troupe, result: await task(name, 'go') }
}

test('PM8 what is to be asked for becomes a question, also from below; allowed, the call is made', async () => {
  const { troupe, result } = await runs(['npm test'], { ask: ['Bash'] }, 'lead')
  expect(result.status).toBe('waiting')
  expect(result.gates[0]).toMatchObject({ question: 'May worker call Bash(npm test)?', asked_by: 'worker' })
  expect(done).toEqual([])
  const ended = await (await troupe.answer(result.gates[0]?.gate_id ?? '', 'allow')).result
  expect(ended.status).toBe('completed')
  expect(done).toEqual(['npm test'])
})

test('PM9 a denial is final for the call, and the model reads the reason', async () => {
  const { troupe, result } = await runs(['rm x'], { ask: ['Bash'] })
  const ended = await (await troupe.answer(result.gates[0]?.gate_id ?? '', 'not while I watch')).result
  expect(done).toEqual([])
  expect((ended.output as { response: string }).response).toMatch(/denied.*a person said no: not while I watch/)
  const refused = (await troupe.events(ended.run_id)).filter((event) => isEvent(event, 'tool:error'))
  expect(refused).toHaveLength(1)
})

test('PM10 always grants exactly this for the run, a rule grants what it says; a new run asks again', async () => {
  const { troupe, result } = await runs(['npm test', 'npm test', 'npm run lint', 'npm run build'], { ask: ['Bash'] })
  const second = await (await troupe.answer(result.gates[0]?.gate_id ?? '', 'always')).result
  expect(second.gates.map((gate) => gate.question)).toEqual(['May worker call Bash(npm run lint)?'])
  const third = await (await troupe.answer(second.gates[0]?.gate_id ?? '', 'Bash(npm run:*)')).result
  expect(third.status).toBe('completed')
  expect(done).toEqual(['npm test', 'npm test', 'npm run lint', 'npm run build'])
  const later = await troupe.run('task', { agent: 'worker', instruction: 'go' })
  expect(later.status).toBe('waiting')
})

test('PM11 a rule of the run or of the agent’s file denies with the list of what is allowed', async () => {
  const allow = ['Bash(npm test:*)']
  const { result } = await runs(['rm x'], {}, 'worker', { permissions: { allow } })
  expect(done).toEqual([])
  expect((result.output as { response: string }).response).toContain('allowed: Bash(npm test:*)')
  await runs(['npm test'], { deny: ['Bash(npm:*)'] }, 'worker', { permissions: { allow } })
  expect(done).toEqual([])
})

test('PM12 a rule for another tool is not an answer, and nothing but a clear yes lets a call pass', async () => {
  for (const said of ['Write(x)', 'allowed?', 'Bash', '']) {
    const { troupe, result } = await runs(['ls'], { ask: ['Bash'] })
    await (await troupe.answer(result.gates[0]?.gate_id ?? '', said)).result
    expect([said, done.length]).toEqual([said, said === 'Bash' ? 1 : 0])
  }
})
