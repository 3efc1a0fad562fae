import { expect, test } from 'vitest'
import {
  chunkModel,
  chunksByTurn,
  eventData,
  patternFrom,
  textChunks,
  toolCallChunks,
} from '../../../test/support/manual-doubles.ts'
import { agent, createTestTroupe, runToEnd } from '../../../test/support/test-troupe.ts'
import type { Context } from '../context.ts'
import { sha256 } from '../hash.ts'

const model = chunkModel(() => [])

test('R1 writing an artifact gives it the next version of its name, a checksum and a size', async () => {
  const writer = patternFrom('writer', async (context) => [
    await context.writeArtifact('a', { name: 'plan', content: 'Füße' }),
    await context.writeArtifact('b', { name: 'plan', content: 'two' }),
    await context.writeArtifact('c', { name: 'notes', content: '', media_type: 'text/markdown' }),
  ])
  const { troupe } = await createTestTroupe({ model, patterns: [writer] })
  const { run_id, output } = await troupe.run('writer', {})
  expect(output).toEqual([
    { name: 'plan', version: 1, checksum: sha256('Füße'), size: 6 },
    { name: 'plan', version: 2, checksum: sha256('two'), size: 3 },
    { name: 'notes', version: 1, checksum: sha256(''), size: 0 },
  ])
  expect(await troupe.getArtifact(run_id, 'plan')).toMatchObject({ version: 2, content: 'two', by: 'pattern' })
  expect(await troupe.getArtifact(run_id, 'plan', 1)).toMatchObject({ content: 'Füße', media_type: 'text/plain' })
  expect((await troupe.artifacts(run_id).all()).map(({ name, version }) => `${name} ${version}`)).toEqual([
    'plan 1',
    'plan 2',
    'notes 1',
  ])
})

test('R2 a resumed run writes no version twice and keeps counting', async () => {
  let broken = true
  const work = async (context: Context) => {
    const one = await context.writeArtifact('a', { name: 'plan', content: broken ? 'first' : 'changed code' })
    await context.step('flaky', () => {
      if (broken) throw new Error('not yet')
    })
    return [one, await context.writeArtifact('b', { name: 'plan', content: 'second' })]
  }
  const { troupe } = await createTestTroupe({ model, patterns: [patternFrom('writer', work)] })
  const { run_id } = await runToEnd(troupe, 'writer' as string, {})
  broken = false
  const { output } = await (await troupe.resume(run_id)).result
  expect(output).toMatchObject([
    { version: 1, checksum: sha256('first') },
    { version: 2, checksum: sha256('second') },
  ])
  expect(eventData(await troupe.events(run_id).all(), 'artifact:write')).toHaveLength(2)
})

test('R1 an artifact names the agent that wrote it', async () => {
  const writer = patternFrom('writer', (context) => context.writeArtifact('a', { name: 'plan', content: 'x' }))
  const { troupe, task } = await createTestTroupe({
    model: chunkModel(chunksByTurn(toolCallChunks({ name: 'writer' }), textChunks('done'))),
    agents: [agent('author')],
    patterns: [writer],
  })
  const { run_id } = await task('author', 'go')
  expect(await troupe.getArtifact(run_id, 'plan')).toMatchObject({ by: 'author' })
})
