import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openWorkspace } from '../files/workspace.ts'
import { ProtectedLinks } from './protected-links.ts'

let folder: string
const at = (...names: string[]) => join(folder, ...names)

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-links-'))
  mkdirSync(at('work', 'sub'), { recursive: true })
  mkdirSync(at('real.git'))
  mkdirSync(at('other', '.git'), { recursive: true })
  writeFileSync(at('other', '.git', 'config'), 'mine')
})
afterEach(() => {
  for (const name of readdirSync(at('work', 'sub'))) {
    if (name.includes('.replaced-')) chmodSync(at('work', 'sub', name, 'shut'), 0o700)
  }
  rmSync(folder, { recursive: true, force: true })
})

function opened() {
  const workspace = openWorkspace(at('work'))
  return { links: new ProtectedLinks(workspace), git: join(workspace.real, 'sub', '.git') }
}

test('SB21 whatever was put in the place of a protected link, the link is there again', async () => {
  const { links, git } = opened()
  symlinkSync(at('real.git'), git)
  const made = [
    () => {
      rmSync(git)
      mkdirSync(join(git, 'hooks'), { recursive: true })
    },
    () => {
      rmSync(git)
      symlinkSync('evil', git)
    },
    () => {
      rmSync(git)
      mkdirSync(join(git, 'shut', 'hooks'), { recursive: true })
      chmodSync(join(git, 'shut'), 0)
      chmodSync(at('work', 'sub'), 0o500)
    },
    () => rmSync(git),
    () => renameSync(git, at('work', 'away')),
  ]
  for (const replace of made) {
    links.enter([git])
    replace()
    await links.leave()
    expect(readlinkSync(git)).toBe(at('real.git'))
  }
})

test('SB21 a link that one command made does not count for another that begins meanwhile', async () => {
  const { links, git } = opened()
  symlinkSync(at('real.git'), git)
  links.enter([git])
  rmSync(git)
  symlinkSync('evil', git)
  links.enter([git])
  await links.leave()
  rmSync(git)
  symlinkSync('worse', git)
  await links.leave()
  expect(readlinkSync(git)).toBe(at('real.git'))
})

test('SB21 what a person changed between two commands stays', async () => {
  const { links, git } = opened()
  symlinkSync(at('real.git'), git)
  links.enter([git])
  await links.leave()
  rmSync(git)
  mkdirSync(git)
  links.enter([git])
  await links.leave()
  expect(existsSync(git)).toBe(true)
  expect(() => readlinkSync(git)).toThrow('EINVAL')
})

test('SB21 a folder that became a link leads the repair nowhere', async () => {
  const { links, git } = opened()
  symlinkSync(at('real.git'), git)
  links.enter([git])
  renameSync(at('work', 'sub'), at('work', 'away'))
  symlinkSync(at('other'), at('work', 'sub'))
  await links.leave()
  expect(existsSync(at('other', '.git', 'config'))).toBe(true)
  mkdirSync(at('work', 'inner', '.git'), { recursive: true })
  links.enter([git])
  rmSync(at('work', 'sub'))
  symlinkSync('inner', at('work', 'sub'))
  await links.leave()
  expect(existsSync(at('work', 'inner', '.git'))).toBe(true)
})
