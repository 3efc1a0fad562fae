import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createTestTroupe, functionModel, lastMessageText } from '../../test/support/test-troupe.ts'
import type { ModelRequest } from '../kernel/model.ts'

const agentFile = (name: string, text: string) => `---\nname: ${name}\ndescription: Made for ${text}.\n---\n\n${text}\n`

async function folderWithLead(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-agents-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, 'lead.md'), agentFile('lead', 'leading'))
  return folder
}

const taskSchema = ({ tools }: ModelRequest) => JSON.stringify(tools.find(({ name }) => name === 'task'))

test('P42 an agent file that was added since is listed in the next run, and can be delegated to', async () => {
  const folder = await folderWithLead()
  const delegation = { name: 'task', input: { agent: 'prober', instruction: 'Test it.' } }
  const model = functionModel((request) => {
    if (request.session.agent !== 'lead') return { text: `I am ${request.system}` }
    const isDelegating = request.session.turn === 1 && taskSchema(request).includes('prober')
    return isDelegating ? { calls: [delegation] } : { text: lastMessageText(request) }
  })
  const { task } = await createTestTroupe({ model, agents: [folder] })
  await task('lead', 'go')
  await writeFile(join(folder, 'prober.md'), agentFile('prober', 'testing'))
  await writeFile(join(folder, 'lead.md'), agentFile('lead', 'changed'))
  const { output } = await task('lead', 'go')
  expect(taskSchema(model.requests[0] as ModelRequest)).not.toContain('prober')
  expect(taskSchema(model.requests[1] as ModelRequest)).toContain('Made for testing')
  expect((output as { response: string }).response).toContain('I am testing')
  expect(
    model.requests.filter(({ session }) => session.agent === 'lead').every(({ system }) => system === 'leading'),
  ).toBe(true)
})

test('P42 a folder that vanishes, and a broken file, leave the known agents as they are', async () => {
  const folder = await folderWithLead()
  const warnings: string[] = []
  const onWarning = ({ message }: Error) => warnings.push(message)
  process.on('warning', onWarning)
  onTestFinished(() => void process.off('warning', onWarning))
  const model = functionModel(() => ({ text: 'done' }))
  const { task } = await createTestTroupe({ model, agents: [folder] })
  await writeFile(join(folder, 'broken.md'), '---\nname: [\n---\n')
  expect((await task('lead', 'go')).status).toBe('completed')
  await rm(folder, { recursive: true })
  expect((await task('lead', 'go')).status).toBe('completed')
  await new Promise(setImmediate)
  expect(warnings.join('\n')).toContain('cannot read agents')
})
