import { expect, test } from 'vitest'
import { agent, createTestTroupe, functionModel } from '../../../test/support/test-troupe.ts'
import type { Artifact } from '../../kernel/artifact.ts'
import type { Context } from '../../kernel/context.ts'
import { artifactRead } from './artifact-tools.ts'

test('R1 each ArtifactWrite call creates a new version of the named artifact', async () => {
  const write = (content: string) => ({ name: 'ArtifactWrite', input: { name: 'design/api.md', content } })
  const steps = [write('one'), write('two'), { name: 'ArtifactWrite', input: { name: '../x', content: '' } }]
  const model = functionModel(({ session }) => {
    const step = steps[session.turn - 1]
    return step ? { calls: [step] } : { text: 'done' }
  })
  const agents = [agent('writer', { tools: ['ArtifactWrite'] })]
  const { troupe, task } = await createTestTroupe({ model, agents })
  const { run_id } = await task('writer', 'Write.')
  const events = await troupe.events(run_id).all()
  const written = events.filter(({ type }) => type === 'artifact:write').map(({ data }) => data as Artifact)
  expect(written.map(({ name, version, by }) => [name, version, by])).toEqual([
    ['design/api.md', 1, 'writer'],
    ['design/api.md', 2, 'writer'],
  ])
  expect(events.filter(({ type }) => type === 'tool:error')).toHaveLength(1)
  await troupe.close()
})

/** A context that stores these versions of the artifact `report`. */
function contextWithVersions(contents: readonly string[]): Context {
  const all = contents.map((content, index): Artifact => {
    const fields = { key: '', name: 'report', media_type: 'text/plain', checksum: '', by: 'writer' }
    return { ...fields, version: index + 1, size: content.length, content }
  })
  const context = {
    readArtifact: async (_key: string, { name, version = all.length }: { name: string; version?: number }) =>
      all.find((artifact) => artifact.name === name && artifact.version === version),
    artifacts: async () =>
      all.map(({ name, version, checksum, by, content }) => ({ name, version, checksum, by, size: content.length })),
  }
  return context as unknown as Context
}

const read = (context: Context, input: { name?: string; version?: number; offset?: number }) =>
  artifactRead.execute(context, input as never)

test('TO57 ArtifactRead returns the newest version, an older one, or one page of it', async () => {
  const context = contextWithVersions(['old', `new ${'x'.repeat(60_000)}`])
  expect((await read(context, { name: 'report', version: 1 })).output).toMatchObject({ version: 1, content: 'old' })
  const newest = (await read(context, { name: 'report' })).output as { content: string; more: string }
  expect([newest.content.length, newest.more]).toEqual([50_000, 'continue with offset 50000 of 60004'])
  const rest = (await read(context, { name: 'report', offset: 50_000 })).output as { content: string; more?: string }
  expect([rest.content.length, rest.more]).toEqual([10_004, undefined])
})

test('R3 an unknown name or version is an error that lists the known ones', async () => {
  const context = contextWithVersions(['old', 'new'])
  await expect(read(context, { name: 'raport' })).rejects.toThrow("no artifact 'raport'; known: report")
  await expect(read(context, { name: 'report', version: 7 })).rejects.toThrow('report (version 1), report (version 2)')
})

test('R3 without a name, agents see what their siblings have written, the newest first, and at most 200 names', async () => {
  const write = (name: string, content: string) => ({ name: 'ArtifactWrite', input: { name, content } })
  const model = functionModel(({ session }) => {
    if (session.agent === 'writer')
      return session.turn === 1
        ? { calls: [write('findings/a', 'one'), write('findings/b', 'four'), write('findings/a', 'seven')] }
        : { text: 'done' }
    return session.turn === 1 ? { calls: [{ name: 'ArtifactRead', input: {} }] } : { text: 'read' }
  })
  const agents = [agent('writer', { tools: ['ArtifactWrite'] }), agent('reader', { tools: ['ArtifactRead'] })]
  const { troupe } = await createTestTroupe({ model, agents })
  const specialists = [{ name: 'writer' }, { name: 'reader' }]
  const { run_id } = await troupe.run('collaborate', { task: 'Look.', agents: specialists, mode: 'sequential' })
  const events = await troupe.events(run_id).all()
  const listed = events.find(
    ({ type, data }) => type === 'tool:post' && (data as { tool: string }).tool === 'ArtifactRead',
  )
  expect(listed?.data).toHaveProperty('output', {
    artifacts: [
      { name: 'findings/a', version: 2, by: 'writer', size: 5 },
      { name: 'findings/b', version: 1, by: 'writer', size: 4 },
    ],
  })
  await troupe.close()
  const many = {
    artifacts: async () =>
      Array.from({ length: 203 }, (_, index) => ({ name: `a${index}`, version: 1, checksum: '', size: 1, by: 'w' })),
  }
  const { output } = await read(many as unknown as Context, {})
  expect(output).toMatchObject({ artifacts: { length: 200, 0: { name: 'a202' } }, more: '3 older ones are not listed' })
})
