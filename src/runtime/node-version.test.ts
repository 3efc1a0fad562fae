import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { nodeVersionProblem } from './node-version.ts'

test('P30 versions of Node before the one in engines are too old', () => {
  const { engines } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  const oldest = String(engines.node).replace('>=', '')
  expect([oldest, '22.20.0', '22.21.1', '22.100.0', '24.0.0'].map(nodeVersionProblem)).toEqual(Array(5).fill(undefined))
  for (const version of ['18.20.1', '20.20.2', '22.3.0', '22.19.0']) {
    expect(nodeVersionProblem(version)).toBe(`Troupe needs Node ${oldest} or newer, and this is Node ${version}`)
  }
})

test('P30 a Node without the functions that came after version 20 loads the package, which then says what it needs', () => {
  const program = `
    delete Map.groupBy; delete Object.groupBy; delete Promise.withResolvers; delete Array.fromAsync
    for (const name of ['union', 'difference', 'isSubsetOf']) delete Set.prototype[name]
    Object.defineProperty(process.versions, 'node', { value: '20.20.2' })
    const { createTroupe } = await import('${new URL('../index.ts', import.meta.url).href}')
    await createTroupe({ store: 'memory' }).catch(({ code, message }) => console.log(code, message))`
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' })
  expect([stdout, stderr]).toEqual([expect.stringMatching(/^invalid_input Troupe needs Node .*20\.20\.2/), ''])
})
