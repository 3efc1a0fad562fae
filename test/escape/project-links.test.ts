import { mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { createCliFixture } from '../e2e/cli-fixture.ts'
import { countEachTest } from '../support/attempt-count.ts'

beforeEach(countEachTest('files'))

/* A cloned repository brings links in place of the folders that commands write to. */

async function createClone() {
  const cli = await createCliFixture()
  const outside = await mkdtemp(join(tmpdir(), 'troupe-outside-'))
  onTestFinished(() => rm(outside, { recursive: true, force: true }))
  const env = { HOME: join(outside, '..', 'nonexistent-home') }
  const target = join(outside, 'target')
  mkdirSync(target)
  const link = (name: string) => symlinkSync(target, join(cli.folder, name))
  return { ...cli, target, link, command: (...argv: string[]) => cli.troupeWith({ env }, ...argv) }
}

test('L96 `init` does not write agent files through a link', async () => {
  const { folder, target, link, command } = await createClone()
  mkdirSync(join(folder, '.troupe'))
  link('.troupe/agents')
  const result = await command('init')
  expect(result).toMatchObject({ code: 2 })
  expect(result.err).toContain('.troupe/agents is a link')
  expect(readdirSync(target)).toEqual([])
  rmSync(join(folder, '.troupe'), { recursive: true })
  link('.troupe')
  expect((await command('init')).code).toBe(2)
  expect(readdirSync(target)).toEqual([])
})

test('L96 `run --detach` does not write its log through a link', async () => {
  const { folder, target, link, script, command } = await createClone()
  mkdirSync(join(folder, '.troupe'))
  link('.troupe/logs')
  const model = await script('script.json', [{ reply: { text: 'Done.' } }])
  const result = await command('run', 'task', 'go', '--detach', '--no-tools', '--model', model)
  expect(result.code).not.toBe(0)
  expect(result.err.replaceAll(/\s+/g, ' ')).toContain('.troupe/logs is a link')
  expect(readdirSync(target)).toEqual([])
})

test('L96 a folder in place of the configuration is not taken for a trusted one', async () => {
  const { folder, script, command } = await createClone()
  mkdirSync(join(folder, 'troupe.config.js'))
  const model = await script('script.json', [{ reply: { text: 'Done.' } }])
  const result = await command('run', 'task', 'go', '--no-tools', '--model', model)
  expect(result.code).toBe(2)
  expect(result.err).toContain('troupe.config.js is not trusted')
})
