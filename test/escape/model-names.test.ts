import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import type { TroupeOptions } from '../../src/index.ts'
import { isEvent } from '../../src/kernel/event.ts'
import { countEachTest, recordAttempts } from '../support/attempt-count.ts'
import { agent, createTestTroupe, functionModel, lastMessageText, runToEnd } from '../support/test-troupe.ts'

beforeEach(countEachTest('models'))

/* A model that names a model: it would read any file as a script, and reach servers of this machine. */

function createScript(): string {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-model-names-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'script.json')
  writeFileSync(file, JSON.stringify({ rules: [{ reply: { text: 'read from the host' } }] }))
  return file
}

/** An agent delegates once with this input and then repeats what it got. */
async function delegateWith(input: object, { tool = 'task', ...options }: { tool?: string } & TroupeOptions = {}) {
  const model = functionModel((request) =>
    request.session.agent === 'lead' && request.session.turn === 1
      ? { calls: [{ name: tool, input }] }
      : { text: request.session.agent === 'lead' ? lastMessageText(request) : 'ordinary answer' },
  )
  const lead = agent('lead', { tools: ['task', 'collaborate'] })
  const agents = [lead, agent('helper'), agent('special', { model: 'general' })]
  const { troupe, task } = await createTestTroupe({ model, agents, ...options })
  const result = await task('lead', 'go')
  const events = await troupe.events(result.run_id).all()
  return {
    troupe,
    text: (result.output as { response: string }).response,
    errors: events.flatMap((event) => (isEvent(event, 'tool:error') ? event.data.error : [])),
  }
}

test('U39 a model cannot name a script file as the model of a task', async () => {
  const file = createScript()
  const { text, errors } = await delegateWith({ agent: 'helper', instruction: 'go', model: `scripted:${file}` })
  expect(text).not.toContain('read from the host')
  expect(errors.join()).toContain('none of the configured models')
})

test('U39 a model cannot do so while a cassette is recorded, and the replay refuses the same', async () => {
  const file = createScript()
  const cassette = join(dirname(file), 'cassette.jsonl')
  const input = { agent: 'helper', instruction: 'go', model: `scripted:${file}` }
  for (const options of [{ cassette: { record: cassette } }, { cassette: { replay: cassette } }]) {
    const { troupe, text, errors } = await delegateWith(input, options)
    expect(text).not.toContain('read from the host')
    expect(errors.join()).toContain('none of the configured models')
    await troupe.close()
  }
})

test('U39 control: a program may use the same script as model', async () => {
  const { troupe } = await createTestTroupe({ model: functionModel(() => ({ text: 'x' })), agents: [agent('lead')] })
  const model = `scripted:${createScript()}`
  const result = await runToEnd(troupe, 'task', { agent: 'lead', instruction: 'go', model })
  expect((result.output as { response: string }).response).toBe('read from the host')
})

test('U39 a model cannot reach a local server that nobody set up, also through lists, inline agents and nested fields', async () => {
  const requests: string[] = []
  const server = createServer((request, response) => {
    requests.push(request.url ?? '')
    response.end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  vi.stubEnv('OLLAMA_BASE_URL', '')
  onTestFinished(() => void vi.unstubAllEnvs())
  const names = ['ollama/llama3', `compatible:http://127.0.0.1:${port}/v1`, 'general,ollama/llama3', 'nobody/x']
  for (const model of names) {
    const { errors } = await delegateWith({ agent: 'helper', instruction: 'go', model })
    expect(errors.join(), model).toContain('none of the configured models')
  }
  const agents = [
    { name: 'a', role: 'a', config: { model: 'ollama/llama3' } },
    { name: 'b', role: 'b' },
  ]
  const { errors } = await delegateWith({ task: 'go', agents }, { tool: 'collaborate' })
  expect(errors.join()).toContain('none of the configured models')
  expect(requests).toEqual([])
})

test('U39 a model cannot build such a name from the parts of `providers`, nor for the coordinator', async () => {
  const file = createScript()
  const parts = [
    { module: `,scripted:${file},x`, config: { model: 'haiku' } },
    { module: 'provider-ollama', config: { model: 'general' } },
  ]
  for (const provider of parts) {
    const named = { providers: [provider] }
    const agents = [
      { name: 'a', role: 'a', config: named },
      { name: 'b', role: 'b' },
    ]
    const plain = agents.map(({ name, role }) => ({ name, role }))
    const calls = [
      { task: 'go', agents },
      { task: 'go', agents: plain, coordinator_config: named },
    ]
    for (const input of calls) {
      const { errors, text } = await delegateWith(input, { tool: 'collaborate' })
      expect(errors.join(), JSON.stringify(input)).toContain('none of the configured models')
      expect(text).not.toContain('read from the host')
    }
  }
})

test('U39 roles, the default model and models of agents can be named', async (context) => {
  recordAttempts(context, 'models', { attempts: 0 })
  for (const model of ['general', 'fast', 'sonnet']) {
    const { errors, text } = await delegateWith({ agent: 'helper', instruction: 'go', model })
    expect(errors, model).toEqual([])
    expect(text).toContain('ordinary answer')
  }
})
