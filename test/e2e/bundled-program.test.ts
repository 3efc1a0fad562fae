import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { expect, onTestFinished, test } from 'vitest'

const source = (path: string) => fileURLToPath(new URL(`../../src/${path}`, import.meta.url))

const PROGRAM = `
import { createTroupe } from 'troupe'
import { loadPrices } from 'troupe/models'
import { scriptedModel } from 'troupe/testing'

const model = scriptedModel({ rules: [{ reply: { text: 'Bundled.' } }] })
const troupe = await createTroupe({ store: 'store', model })
const { status, output, usage } = await troupe.run('task', { instruction: 'hi' })
const prices = await loadPrices()
const usd = prices.cost('anthropic/claude-haiku-4-5', { ...usage, reasoning: 0, input: 1_000_000 }, Date.now())
console.log(JSON.stringify({ status, response: output.response, agent: output.agent, isPriced: usd > 0 }))
await troupe.close()
`

test('P32 a program bundled into one file starts in another folder, with the built-in agents and prices', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-bundle-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
  const entry = join(folder, 'program.ts')
  await writeFile(entry, PROGRAM)
  const build = await rolldown({
    input: entry,
    platform: 'node',
    resolve: {
      alias: {
        'troupe/testing': source('testing/index.ts'),
        'troupe/models': source('entries/models.ts'),
        troupe: source('index.ts'),
      },
    },
    onLog: () => {},
  })
  const file = join(folder, 'bundle', 'program.mjs')
  await build.write({ file, format: 'esm', codeSplitting: false })
  const { stdout, stderr, status } = spawnSync(process.execPath, [file], { cwd: folder, encoding: 'utf8' })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(JSON.parse(stdout)).toEqual({ status: 'completed', response: 'Bundled.', agent: 'default', isPriced: true })
})
