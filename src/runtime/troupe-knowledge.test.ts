import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { agent, functionModel } from '../../test/support/test-troupe.ts'
import { definePattern } from '../entries/patterns.ts'
import { createTroupe } from '../index.ts'
import * as z from '../schema/zod.ts'
import { wordEmbedder } from '../testing/word-embedder.ts'

/** Learns its input, and returns what it finds. */
const learn = definePattern({
  name: 'learn',
  version: 1,
  description: 'Learns a sentence.',
  category: 'task_management',
  input: z.object({ text: z.string() }),
  output: z.array(z.object({ text: z.string() })).optional(),
  execute: async (context, { text }) => {
    const at = await context.now('now')
    const document = { id: context.run_id, kind: 'agent_collaboration' as const, text, data: { text }, at }
    await context.step('learn', async (signal) => {
      await context.knowledge?.add([document], signal)
      return null
    })
    const found = await context.step('search', async (signal) =>
      context.knowledge?.search({ text, kind: 'agent_collaboration', now: at }, signal),
    )
    return { success: true, output: found?.map((match) => match.document.data as { text: string }) }
  },
})

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-knowledge-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

async function openTroupe(store: string, project = 'p') {
  const model = functionModel(() => ({ text: 'done' }))
  const options = { store, project, model, agents: [agent('lead')], patterns: [learn], embedder: wordEmbedder() }
  const troupe = await createTroupe({ config: false, ...options })
  onTestFinished(() => troupe.close())
  return troupe
}

test('KN11 what runs learned stays when they are deleted, and KN4 only their project sees it', async () => {
  const store = temporaryFolder()
  const troupe = await openTroupe(store)
  const first = await troupe.run('learn', { text: 'pagination starts with one' })
  expect(first.output).toEqual([{ text: 'pagination starts with one' }])
  await troupe.deleteRuns([first.run_id])
  const kept = await troupe.knowledge.search({ text: 'pagination', kind: 'agent_collaboration' })
  expect(kept.map(({ document }) => document.id)).toEqual([first.run_id])
  const elsewhere = await openTroupe(store, 'q')
  expect((await elsewhere.run('learn', { text: 'pagination elsewhere' })).output).toEqual([
    { text: 'pagination elsewhere' },
  ])
})

test('KN21 programs add files, search, list, forget and index again', async () => {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'notes.md'), '# Notes\nThe cache is cold after a deployment.')
  const { knowledge } = await openTroupe(folder)
  expect(await knowledge.addFiles([join(folder, 'notes.md')], { root: folder })).toMatchObject({
    added: [{ path: 'notes.md', parts: 1 }],
  })
  const [match] = await knowledge.search({ text: 'cold cache', kind: 'document' })
  expect(match).toMatchObject({ document: { tags: { path: 'notes.md' } }, method: 'embedding' })
  expect(await knowledge.reindex()).toEqual({ documents: 0, embedder: 'words' })
  expect(await knowledge.forget({ tags: { path: 'notes.md' } })).toBe(1)
  expect(await knowledge.list('document')).toEqual([])
})
