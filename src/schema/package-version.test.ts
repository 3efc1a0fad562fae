import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { PACKAGE_VERSION } from './package-version.ts'

test('PACKAGE_VERSION is the version of package.json', () => {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  expect(PACKAGE_VERSION).toBe(version)
})
