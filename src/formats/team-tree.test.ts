import { mkdir, mkdtemp, readdir, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { readTeamTree } from './team-tree.ts'

let folder: string
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'troupe-teams-')))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

async function put(files: Record<string, string>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), text)
  }
}

async function read(path: string) {
  const { team, problems } = await readTeamTree(join(folder, path))
  const said = problems.map(
    ({ severity, path, line, column, message }) =>
      `${severity} ${path.slice(folder.length + 1)}:${line}:${column} ${message}`,
  )
  return { team, said }
}

const alone = (name: string) => `name: ${name}\nagents: [{ name: one }]\n`
const holding = (name: string, ...paths: string[]) =>
  `name: ${name}\nagents:\n${paths.map((path, index) => `  - { name: part_${index}, team: "${path}" }\n`).join('')}` +
  `handoffs:\n${paths.map((_, index) => `  - { from_agent: user, to_agent: part_${index}, condition: "topic ${index}" }\n`).join('')}`

describe('sub-teams', () => {
  test('TF11 sub-team files are read, seen from the file that names them, and stand in the place of their paths', async () => {
    await put({
      'top.yaml': holding('Top', 'parts/left.yaml', './parts/../right.yaml'),
      'parts/left.yaml': holding('Left', 'deep/er.yaml'),
      'parts/deep/er.yaml': alone('Deeper'),
      'right.yaml': alone('Right'),
    })
    const { team, said } = await read('top.yaml')
    expect(said).toEqual([])
    expect(team).toMatchObject({
      agents: [{ team: { name: 'Left', agents: [{ team: { name: 'Deeper' } }] } }, { team: { name: 'Right' } }],
    })
  })

  test('TF11 a team written in place may name files too', async () => {
    await put({
      'top.yaml': 'name: Top\nagents:\n  - name: a\n    team: { name: In, agents: [{ name: b, team: b.yaml }] }\n',
      'b.yaml': alone('B'),
    })
    expect((await read('top.yaml')).team).toMatchObject({ agents: [{ team: { agents: [{ team: { name: 'B' } }] } }] })
  })

  test('TF12 a team that contains itself is refused, and the way is shown', async () => {
    await put({ 'a.yaml': holding('A', 'b.yaml'), 'b.yaml': holding('B', 'c.yaml'), 'c.yaml': holding('C', 'b.yaml') })
    const { team, said } = await read('a.yaml')
    expect(team).toBeUndefined()
    expect(said).toContainEqual('error c.yaml:3:27 a team cannot contain itself: b.yaml → c.yaml → b.yaml')
    await put({ 'self.yaml': holding('Self', 'self.yaml') })
    expect((await read('self.yaml')).said).toEqual([
      'error self.yaml:3:27 a team cannot contain itself: self.yaml → self.yaml',
    ])
  })

  test('TF12 a link hides no circle', async () => {
    await put({ 'a.yaml': holding('A', 'link.yaml') })
    await symlink('a.yaml', join(folder, 'link.yaml'))
    expect((await read('a.yaml')).said).toEqual(['error a.yaml:3:27 a team cannot contain itself: a.yaml → a.yaml'])
  })

  test('TF13 nothing outside the folder of the first file is read', async () => {
    await put({
      'in/top.yaml': holding('Top', '../out.yaml', join(folder, 'out.yaml'), 'link.yaml', 'below/b.yaml'),
      'in/below/b.yaml': holding('B', '../fine.yaml'),
      'in/fine.yaml': alone('Fine'),
      'out.yaml': 'secret: [',
    })
    await symlink(join(folder, 'out.yaml'), join(folder, 'in/link.yaml'))
    const { said } = await read('in/top.yaml')
    expect(said).toEqual([
      "error in/top.yaml:3:27 '../out.yaml' is outside the folder of the team",
      expect.stringMatching(/^error in\/top\.yaml:4:27 '.*out\.yaml' is outside the folder of the team$/),
      "error in/top.yaml:5:27 'link.yaml' leads outside the folder of the team",
    ])
  })

  test('TF13 a file that is missing, or wrong, is told where it is named and where it is wrong', async () => {
    await put({
      'top.yaml': holding('Top', 'gone.yaml', 'bad.yaml', 'bad.yaml', 'folder'),
      'bad.yaml': 'name: Bad\nagents: []\n',
      'folder/x': '',
    })
    const { said } = await read('top.yaml')
    expect(said).toEqual([
      "error top.yaml:3:27 there is no team file 'gone.yaml'",
      'error bad.yaml:2:9 the team is empty',
      "error top.yaml:4:27 the team in 'bad.yaml' has errors",
      "error top.yaml:5:27 the team in 'bad.yaml' has errors",
      'error folder:1:1 is a folder, not a team file',
      "error top.yaml:6:27 the team in 'folder' has errors",
    ])
  })

  test('TF13 teams that multiply end at a limit', async () => {
    const files = Array.from({ length: 8 }, (_, at) => [
      `t${at}.yaml`,
      holding(`T${at}`, `t${at + 1}.yaml`, `t${at + 1}.yaml`),
    ])
    await put({ ...Object.fromEntries(files), 't8.yaml': alone('End') })
    expect((await read('t0.yaml')).said).toContainEqual(
      expect.stringMatching(/nested more than 8 deep|more than 100 sub-teams/),
    )
    await put({ 'wide.yaml': holding('Wide', ...Array(120).fill('one.yaml')), 'one.yaml': alone('One') })
    const { team, said } = await read('wide.yaml')
    expect(team).toBeUndefined()
    expect(said[0]).toMatch(/^error wide\.yaml:103:29 more than 100 sub-teams$/)
  })

  test('TF13 what is no team file is refused: nothing there, a folder, no text, too much', async () => {
    await put({ 'bytes.yaml': 'a\0b', 'huge.yaml': `name: T # ${'x'.repeat(1024 * 1024)}\n` })
    await writeFile(join(folder, 'latin.yaml'), Uint8Array.from([0x6e, 0x3a, 0x20, 0xe9]))
    expect((await read('none.yaml')).said).toEqual(['error none.yaml:1:1 there is no such file'])
    expect((await read('.')).said).toEqual([expect.stringContaining('is a folder')])
    expect((await read('bytes.yaml')).said).toEqual(['error bytes.yaml:1:1 is no text file'])
    expect((await read('huge.yaml')).said).toEqual(['error huge.yaml:1:1 is too large for a team file (1 MB)'])
    expect((await read('latin.yaml')).said).toEqual(['error latin.yaml:1:1 is not written in UTF-8'])
  })
})

describe('the examples', async () => {
  const files = (await readdir('examples/teams')).filter((name) => name.endsWith('.yaml'))

  test.each(files)('TF14 the example team %s has nothing wrong with it', async (file) => {
    const { team, problems } = await readTeamTree(join('examples/teams', file))
    expect(problems).toEqual([])
    expect(team?.agents.length).toBeGreaterThan(1)
  })

  test('TF14 there is an example for every team that the specification shows', () => {
    expect(files.length).toBeGreaterThanOrEqual(17)
  })
})
