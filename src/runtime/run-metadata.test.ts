import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { chunkModel, patternFrom, textChunks, toolCallChunks } from '../../test/support/manual-doubles.ts'
import { memoryStore } from '../../test/support/memory-store.ts'
import { agent, createTestTroupe, taskCall } from '../../test/support/test-troupe.ts'
import type { RunMetadata } from '../kernel/run-metadata.ts'
import type { Hooks } from '../performers/hook.ts'
import { defineTool } from '../tools/define-tool.ts'

const go = { agent: 'lead', instruction: 'go' }
const metadata = { tags: ['nightly', 'customer:42'], context: { customer: 'c_42', plan: { seats: 3 } } }

/** `lead` delegates to `worker`, which calls the tool `note`. */
function delegatingTeam() {
  const seen: RunMetadata[] = []
  const note = defineTool({
    name: 'note',
    description: 'note',
    input: z.object({}),
    category: 'action',
    kind: 'act',
    execute(_input, { run }) {
      seen.push(run)
      return { success: true, output: 'noted' }
    },
  })
  const model = chunkModel(({ session }) => {
    if (session.turn > 1) return textChunks('done')
    return session.agent === 'lead' ? toolCallChunks(taskCall('worker', 'note it')) : toolCallChunks({ name: 'note' })
  })
  return { seen, model, options: { model, agents: [agent('lead'), agent('worker')], tools: [note] } }
}

function temporaryStore(): string {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-metadata-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

describe('tags', () => {
  test.each([
    ['memory', () => 'memory'],
    ['SQLite', temporaryStore],
  ])('MD1 runs are found by all their tags in a store in %s', async (_kind, store) => {
    const { options } = delegatingTeam()
    const { troupe } = await createTestTroupe({ ...options, store: store() })
    const both = await troupe.run('task', go, { tags: ['a', 'b', 'a'] })
    const one = await troupe.run('task', go, { tags: ['a'] })
    await troupe.run('task', go)
    const found = async (...tags: string[]) => (await troupe.runs({ tags }).all()).map(({ run_id }) => run_id)
    expect(await found('a')).toEqual([one.run_id, both.run_id])
    expect(await found('a', 'b')).toEqual([both.run_id])
    expect(await found('b', 'c')).toEqual([])
    expect(await found()).toHaveLength(3)
    expect((await troupe.runs().all()).map(({ tags }) => tags)).toEqual([[], ['a'], ['a', 'b']])
    await troupe.close()
  })

  test('MD1 a fork keeps tags and context', async () => {
    const { seen, options } = delegatingTeam()
    const { troupe } = await createTestTroupe(options)
    const { run_id } = await troupe.run('task', go, metadata)
    const fork = await (await troupe.fork(run_id, 1)).result
    expect((await troupe.runs({ tags: ['nightly'] }).all()).map((row) => row.run_id)).toEqual([fork.run_id, run_id])
    expect(seen).toEqual([metadata, metadata])
  })
})

describe('context', () => {
  test('MD2 tools and hooks of a sub-session get the tags and the context of the run', async () => {
    const { seen, options } = delegatingTeam()
    const hooked: unknown[] = []
    const guarded: unknown[] = []
    const hooks: Hooks[] = [
      {
        beforeTool: ({ agent: name, run }) => void hooked.push([name, run]),
        addContext: ({ agent: name, run }) => void hooked.push([name, run]),
        beforeModel: ({ agent: name, run }) => void guarded.push(['beforeModel', name, run]),
        beforeAnswer: ({ agent: name, run }) => void guarded.push(['beforeAnswer', name, run]),
      },
    ]
    const { troupe } = await createTestTroupe({ ...options, hooks })
    await troupe.run('task', go, metadata)
    expect(seen).toEqual([metadata])
    expect(hooked).toHaveLength(6)
    expect(hooked.every((call) => JSON.stringify(call).includes('c_42'))).toBe(true)
    expect(guarded).toEqual([
      ['beforeModel', 'lead', metadata],
      ['beforeModel', 'worker', metadata],
      ['beforeModel', 'worker', metadata],
      ['beforeAnswer', 'worker', metadata],
      ['beforeModel', 'lead', metadata],
      ['beforeAnswer', 'lead', metadata],
    ])
    expect(() => Object.assign(seen[0]?.context.plan as object, { seats: 4 })).toThrow(TypeError)
  })

  test('MD2 patterns get it, and a run without it has an empty one', async () => {
    const read = patternFrom('read', async (context) => context.metadata)
    const { troupe } = await createTestTroupe({ patterns: [read], model: chunkModel(() => textChunks('')) })
    expect((await troupe.run('read', {}, metadata)).output).toEqual(metadata)
    expect((await troupe.run('read', {})).output).toEqual({ tags: [], context: {} })
  })

  test('MD2 a run that is resumed by another troupe still has it', async () => {
    const store = memoryStore()
    const first = delegatingTeam()
    const ask = { permissions: { ask: ['note'] }, store }
    const { troupe } = await createTestTroupe({ ...first.options, ...ask })
    const waiting = await troupe.run('task', go, metadata)
    expect([waiting.status, first.seen]).toEqual(['waiting', []])
    const second = delegatingTeam()
    const other = await createTestTroupe({ ...second.options, ...ask })
    await (await other.troupe.answer(waiting.gates[0]?.gate_id ?? '', 'yes')).result
    expect(second.seen).toEqual([metadata])
  })

  test('MD3 no model request contains tags or context', async () => {
    const { model, options } = delegatingTeam()
    const { troupe } = await createTestTroupe(options)
    await troupe.run('task', go, metadata)
    expect(model.requests).toHaveLength(4)
    expect(JSON.stringify(model.requests)).not.toMatch(/c_42|nightly|customer/)
  })
})

describe('invalid tags and context', () => {
  const cyclic: Record<string, unknown> = {}
  cyclic.self = cyclic
  test.each([
    ['a tag that is empty', { tags: [''] }, 'invalid_input'],
    ['a tag with a line break', { tags: ['a\nb'] }, 'invalid_input'],
    ['a tag that is too long', { tags: ['x'.repeat(101)] }, 'invalid_input'],
    ['too many tags', { tags: Array.from({ length: 33 }, (_, n) => `t${n}`) }, 'invalid_input'],
    ['tags that are no list', { tags: 'nightly' }, 'invalid_input'],
    ['a context that is a list', { context: [1] }, 'invalid_input'],
    ['a function in the context', { context: { log: () => {} } }, 'invalid_input'],
    ['a date in the context', { context: { since: new Date(0) } }, 'invalid_input'],
    ['a cycle in the context', { context: cyclic }, 'invalid_input'],
    ['a context that is too large', { context: { text: 'x'.repeat(70_000) } }, 'too_large'],
  ])('MD4 %s is rejected before the run exists', async (_kind, options, code) => {
    const { troupe } = await createTestTroupe({ agents: [agent('lead')] })
    const [option] = Object.keys(options)
    await expect(troupe.run('task', go, options as never)).rejects.toMatchObject({
      code,
      message: expect.stringContaining(`\`${option}\``),
    })
    expect(await troupe.runs().all()).toEqual([])
  })
})
