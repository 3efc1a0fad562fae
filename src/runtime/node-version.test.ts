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
