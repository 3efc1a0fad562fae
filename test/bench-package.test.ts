import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

test('packages of the scenario set have at most a quarter of the tokens of the history, and hold far more planted facts than the last messages', () => {
  const output = execFileSync(process.execPath, ['bench/package.ts', '--words', '--seeds', '1'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  const row = (name: string) =>
    (new RegExp(`^${name}(.*)$`, 'm').exec(output)?.[1] ?? '').match(/[\d.]+(?= %)/g)?.map(Number)
  const [tuning = 0, , heldOut = 0, , largest = 100] = row('package, words only') ?? []
  const [, , heldOutOfLast = 100] = row('last messages, same budget') ?? []
  expect(largest).toBeLessThanOrEqual(25)
  expect(tuning).toBeGreaterThan(70)
  expect(heldOut).toBeGreaterThan(heldOutOfLast + 50)
})

test('a judge rates how relevant packages are and how helpful the answers', () => {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-judge-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const verdict = { relevance: 4, helpfulness: 2, reason: 'It names no field.' }
  const rules = [
    { when: { agent: 'specialist' }, reply: { object: { answer: 'It depends.' } } },
    { when: { agent: 'judge', says: 'It depends' }, reply: { text: `So: ${JSON.stringify(verdict)}` } },
  ]
  const script = join(folder, 'script.json')
  writeFileSync(script, JSON.stringify({ rules, otherwise: 'error' }))
  const argv = ['bench/consult-quality.ts', '--model', `scripted:${script}`, '--sample', '2']
  const output = execFileSync(process.execPath, argv, { cwd: ROOT, encoding: 'utf8' })
  expect(output).toMatch(/user-fields +relevance 4 {2}helpfulness 2 {2}It names no field\./)
  expect(output).toContain('2 of 2 judged: relevance 4.00, helpfulness 2.00')
})
