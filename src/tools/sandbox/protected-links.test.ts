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
    const shut = at('work', 'sub', name, 'shut')
    if (name.includes('.replaced-') && existsSync(shut)) chmodSync(shut, 0o700)
  }
  rmSync(folder, { recursive: true, force: true })
})

const asideIn = (...names: string[]) => readdirSync(at(...names)).filter((name) => name.includes('.replaced-'))

function opened() {
  const workspace = openWorkspace(at('work'))
  return { links: new ProtectedLinks(workspace), git: join(workspace.realPath, 'sub', '.git') }
}

test('SB21 whatever was put in the place of a protected link, the link is there again', () => {
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
    const leave = links.beginCommand([git])
    replace()
    expect(leave()).toEqual([expect.stringContaining("'sub/.git' is protected, and a link to")])
    expect(readlinkSync(git)).toBe(at('real.git'))
  }
  expect(asideIn('work', 'sub').length).toBe(3)
})

test('SB21 a link that one command made does not count for another that begins meanwhile', () => {
  const { links, git } = opened()
  symlinkSync(at('real.git'), git)
  const first = links.beginCommand([git])
  rmSync(git)
  symlinkSync('evil', git)
  const second = links.beginCommand([git])
  first()
  rmSync(git)
  symlinkSync('worse', git)
  second()
  expect(readlinkSync(git)).toBe(at('real.git'))
})

test('SB21 what a person changed between two commands stays', () => {
  const { links, git } = opened()
  symlinkSync(at('real.git'), git)
  links.beginCommand([git])()
  rmSync(git)
  mkdirSync(git)
  expect(links.beginCommand([git])()).toEqual([])
  expect(existsSync(git)).toBe(true)
  expect(() => readlinkSync(git)).toThrow('EINVAL')
})

test('SB22 what stands in the place of a link is moved aside and told, with all that is in it', () => {
  const { links, git } = opened()
  symlinkSync(at('real.git'), git)
  const leave = links.beginCommand([git])
  rmSync(git)
  mkdirSync(git)
  writeFileSync(join(git, 'mine.md'), 'hours of work')
  const [note] = leave()
  const [aside = ''] = asideIn('work', 'sub')
  expect(note).toContain(`what stood there is now 'sub/${aside}'`)
  expect(readFileSync(at('work', 'sub', aside, 'mine.md'), 'utf8')).toBe('hours of work')
  expect(leave()).toEqual([])
})

test('SB21 a folder that became a link leads the repair nowhere', () => {
  const { links, git } = opened()
  symlinkSync(at('real.git'), git)
  const first = links.beginCommand([git])
  renameSync(at('work', 'sub'), at('work', 'away'))
  symlinkSync(at('other'), at('work', 'sub'))
  expect(first()).toEqual([])
  expect(existsSync(at('other', '.git', 'config'))).toBe(true)
  mkdirSync(at('work', 'inner', '.git'), { recursive: true })
  const second = links.beginCommand([git])
  rmSync(at('work', 'sub'))
  symlinkSync('inner', at('work', 'sub'))
  expect(second()).toEqual([expect.stringContaining(`'sub' is protected, and a link to '${at('other')}' again`)])
  expect(existsSync(at('work', 'inner', '.git'))).toBe(true)
})
