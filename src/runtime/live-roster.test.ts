import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { createTestTroupe, functionModel, lastMessageText } from '../../test/support/test-troupe.ts'
import type { ModelRequest } from '../kernel/model.ts'
import { defineTool } from '../kernel/tool.ts'

const agentFile = (name: string, text: string) => `---\nname: ${name}\ndescription: Made for ${text}.\n---\n\n${text}\n`

async function folderWithLead(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-agents-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, 'lead.md'), agentFile('lead', 'leading'))
  return folder
}

/** Writes agent files during the run, as a person in an editor would. */
function writeFileTool(folder: string, files: Readonly<Record<string, string>>) {
  return defineTool({
    name: 'wait_for_person',
    description: 'Waits.',
    kind: 'idempotent',
    category: 'interaction',
    input: z.object({}),
    async execute() {
      for (const [name, text] of Object.entries(files)) await writeFile(join(folder, `${name}.md`), text)
      return { success: true }
    },
  })
}

const taskSchema = ({ tools }: ModelRequest) => JSON.stringify(tools.find(({ name }) => name === 'task'))

test('P42 an agent file that is added during a run is listed in the next turn, and can be delegated to', async () => {
  const folder = await folderWithLead()
  const model = functionModel((request) => {
    if (request.session.agent !== 'lead') return { text: `I am ${request.system}` }
    const calls = [
      { name: 'wait_for_person', input: {} },
      { name: 'task', input: { agent: 'prober', instruction: 'Test it.' } },
    ]
    const call = calls[request.session.turn - 1]
    return call ? { calls: [call] } : { text: lastMessageText(request) }
  })
  const tool = writeFileTool(folder, { prober: agentFile('prober', 'testing'), lead: agentFile('lead', 'changed') })
  const { task } = await createTestTroupe({ model, agents: [folder], tools: [tool] })
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
  const model = functionModel(({ session }) =>
    session.turn === 1 ? { calls: [{ name: 'wait_for_person', input: {} }] } : { text: 'done' },
  )
  const tool = writeFileTool(folder, { broken: '---\nname: [\n---\n' })
  const { task } = await createTestTroupe({ model, agents: [folder], tools: [tool] })
  expect((await task('lead', 'go')).status).toBe('completed')
  await rm(folder, { recursive: true })
  expect((await task('lead', 'go')).status).toBe('completed')
  await new Promise(setImmediate)
  expect(warnings.join('\n')).toContain('cannot read agents')
})
