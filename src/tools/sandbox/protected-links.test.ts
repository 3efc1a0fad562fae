import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
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
const inFolder = (...names: string[]) => join(folder, ...names)

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-links-'))
  mkdirSync(inFolder('work', 'sub'), { recursive: true })
  mkdirSync(inFolder('real.git'))
  mkdirSync(inFolder('other', '.git'), { recursive: true })
  writeFileSync(inFolder('other', '.git', 'config'), 'mine')
})
afterEach(() => {
  for (const name of readdirSync(inFolder('work', 'sub'))) {
    const locked = inFolder('work', 'sub', name, 'locked')
    if (name.includes('.replaced-') && existsSync(locked)) chmodSync(locked, 0o700)
  }
  rmSync(folder, { recursive: true, force: true })
})

const quarantinedIn = (...names: string[]) =>
  readdirSync(inFolder(...names)).filter((name) => name.includes('.replaced-'))

function openLinks() {
  const workspace = openWorkspace(inFolder('work'))
  return { links: new ProtectedLinks(workspace), git: join(workspace.realPath, 'sub', '.git') }
}

test('SB21 a replaced symlink to a protected path is restored', () => {
  const { links, git } = openLinks()
  symlinkSync(inFolder('real.git'), git)
  const replacements = [
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
      mkdirSync(join(git, 'locked', 'hooks'), { recursive: true })
      chmodSync(join(git, 'locked'), 0)
      chmodSync(inFolder('work', 'sub'), 0o500)
    },
    () => rmSync(git),
    () => renameSync(git, inFolder('work', 'away')),
  ]
  for (const replace of replacements) {
    const endCommand = links.beginCommand([git])
    replace()
    expect(endCommand()).toEqual([expect.stringContaining("'sub/.git' is protected and was restored as a symlink to")])
    expect(readlinkSync(git)).toBe(inFolder('real.git'))
  }
  expect(quarantinedIn('work', 'sub').length).toBe(3)
})

test('SB21 a symlink that one command created is not recorded for a concurrent command', () => {
  const { links, git } = openLinks()
  symlinkSync(inFolder('real.git'), git)
  const first = links.beginCommand([git])
  rmSync(git)
  symlinkSync('evil', git)
  const second = links.beginCommand([git])
  first()
  rmSync(git)
  symlinkSync('worse', git)
  second()
  expect(readlinkSync(git)).toBe(inFolder('real.git'))
})

test('SB21 changes that a person made between two commands are kept', () => {
  const { links, git } = openLinks()
  symlinkSync(inFolder('real.git'), git)
  links.beginCommand([git])()
  rmSync(git)
  mkdirSync(git)
  expect(links.beginCommand([git])()).toEqual([])
  expect(existsSync(git)).toBe(true)
  expect(() => readlinkSync(git)).toThrow('EINVAL')
})

test('SB22 what replaced a symlink is renamed and reported, with its content', () => {
  const { links, git } = openLinks()
  symlinkSync(inFolder('real.git'), git)
  const endCommand = links.beginCommand([git])
  rmSync(git)
  mkdirSync(git)
  writeFileSync(join(git, 'mine.md'), 'hours of work')
  const [note] = endCommand()
  const [newName = ''] = quarantinedIn('work', 'sub')
  expect(note).toContain(`its replacement was renamed to 'sub/${newName}'`)
  expect(readFileSync(inFolder('work', 'sub', newName, 'mine.md'), 'utf8')).toBe('hours of work')
  expect(endCommand()).toEqual([])
})

test('SB21 a folder that became a symlink does not redirect the repair', () => {
  const { links, git } = openLinks()
  symlinkSync(inFolder('real.git'), git)
  const first = links.beginCommand([git])
  renameSync(inFolder('work', 'sub'), inFolder('work', 'away'))
  symlinkSync(inFolder('other'), inFolder('work', 'sub'))
  expect(first()).toEqual([])
  expect(existsSync(inFolder('other', '.git', 'config'))).toBe(true)
  mkdirSync(inFolder('work', 'inner', '.git'), { recursive: true })
  const second = links.beginCommand([git])
  rmSync(inFolder('work', 'sub'))
  symlinkSync('inner', inFolder('work', 'sub'))
  expect(second()).toEqual([
    expect.stringContaining(`'sub' is protected and was restored as a symlink to '${inFolder('other')}'`),
  ])
  expect(existsSync(inFolder('work', 'inner', '.git'))).toBe(true)
})
