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
  const result = await readTeamTree(join(folder, path))
  const problems = result.problems.map(
    ({ severity, path, line, column, message }) =>
      `${severity} ${path.slice(folder.length + 1)}:${line}:${column} ${message}`,
  )
  return { team: result.team, problems }
}

const singleAgent = (name: string) => `name: ${name}\nagents: [{ name: one }]\n`
const withSubTeams = (name: string, ...paths: string[]) =>
  `name: ${name}\nagents:\n${paths.map((path, index) => `  - { name: part_${index}, team: "${path}" }\n`).join('')}` +
  `handoffs:\n${paths.map((_, index) => `  - { from_agent: user, to_agent: part_${index}, condition: "topic ${index}" }\n`).join('')}`

describe('sub-teams', () => {
  test('TF11 sub-team paths are relative to the file that names them and are replaced by their teams', async () => {
    await put({
      'top.yaml': withSubTeams('Top', 'parts/left.yaml', './parts/../right.yaml'),
      'parts/left.yaml': withSubTeams('Left', 'deep/er.yaml'),
      'parts/deep/er.yaml': singleAgent('Deeper'),
      'right.yaml': singleAgent('Right'),
    })
    const { team, problems } = await read('top.yaml')
    expect(problems).toEqual([])
    expect(team).toMatchObject({
      agents: [{ team: { name: 'Left', agents: [{ team: { name: 'Deeper' } }] } }, { team: { name: 'Right' } }],
    })
  })

  test('TF11 an inline team may name files too', async () => {
    await put({
      'top.yaml': 'name: Top\nagents:\n  - name: a\n    team: { name: In, agents: [{ name: b, team: b.yaml }] }\n',
      'b.yaml': singleAgent('B'),
    })
    expect((await read('top.yaml')).team).toMatchObject({ agents: [{ team: { agents: [{ team: { name: 'B' } }] } }] })
  })

  test('TF12 a team that contains itself is rejected with the cycle', async () => {
    await put({
      'a.yaml': withSubTeams('A', 'b.yaml'),
      'b.yaml': withSubTeams('B', 'c.yaml'),
      'c.yaml': withSubTeams('C', 'b.yaml'),
    })
    const { team, problems } = await read('a.yaml')
    expect(team).toBeUndefined()
    expect(problems).toContainEqual('error c.yaml:3:27 a team cannot contain itself: b.yaml → c.yaml → b.yaml')
    await put({ 'self.yaml': withSubTeams('Self', 'self.yaml') })
    expect((await read('self.yaml')).problems).toEqual([
      'error self.yaml:3:27 a team cannot contain itself: self.yaml → self.yaml',
    ])
  })

  test('TF12 a cycle through a symlink is found', async () => {
    await put({ 'a.yaml': withSubTeams('A', 'link.yaml') })
    await symlink('a.yaml', join(folder, 'link.yaml'))
    expect((await read('a.yaml')).problems).toEqual(['error a.yaml:3:27 a team cannot contain itself: a.yaml → a.yaml'])
  })

  test('TF13 files outside the folder of the root file are not read (path traversal)', async () => {
    await put({
      'in/top.yaml': withSubTeams('Top', '../out.yaml', join(folder, 'out.yaml'), 'link.yaml', 'below/b.yaml'),
      'in/below/b.yaml': withSubTeams('B', '../fine.yaml'),
      'in/fine.yaml': singleAgent('Fine'),
      'out.yaml': 'secret: [',
    })
    await symlink(join(folder, 'out.yaml'), join(folder, 'in/link.yaml'))
    const { problems } = await read('in/top.yaml')
    expect(problems).toEqual([
      "error in/top.yaml:3:27 '../out.yaml' is outside the folder of the team",
      expect.stringMatching(/^error in\/top\.yaml:4:27 '.*out\.yaml' is outside the folder of the team$/),
      "error in/top.yaml:5:27 'link.yaml' resolves to a file outside the folder of the team",
    ])
  })

  test('TF13 a missing or invalid sub-team is reported where it is named and where it is invalid', async () => {
    await put({
      'top.yaml': withSubTeams('Top', 'gone.yaml', 'bad.yaml', 'bad.yaml', 'folder'),
      'bad.yaml': 'name: Bad\nagents: []\n',
      'folder/x': '',
    })
    const { problems } = await read('top.yaml')
    expect(problems).toEqual([
      "error top.yaml:3:27 no team file 'gone.yaml'",
      'error bad.yaml:2:9 the team is empty',
      "error top.yaml:4:27 the team in 'bad.yaml' has errors",
      "error top.yaml:5:27 the team in 'bad.yaml' has errors",
      'error folder:1:1 is a folder, not a team file',
      "error top.yaml:6:27 the team in 'folder' has errors",
    ])
  })

  test('TF13 exponentially growing teams end at a limit', async () => {
    const files = Array.from({ length: 8 }, (_, level) => [
      `t${level}.yaml`,
      withSubTeams(`T${level}`, `t${level + 1}.yaml`, `t${level + 1}.yaml`),
    ])
    await put({ ...Object.fromEntries(files), 't8.yaml': singleAgent('End') })
    expect((await read('t0.yaml')).problems).toContainEqual(
      expect.stringMatching(/nested more than 8 levels deep|more than 100 sub-teams/),
    )
    await put({ 'wide.yaml': withSubTeams('Wide', ...Array(120).fill('one.yaml')), 'one.yaml': singleAgent('One') })
    const { team, problems } = await read('wide.yaml')
    expect(team).toBeUndefined()
    expect(problems[0]).toMatch(/^error wide\.yaml:103:29 more than 100 sub-teams$/)
  })

  test('TF13 a missing file, a folder, a binary file and a huge file are rejected', async () => {
    await put({ 'bytes.yaml': 'a\0b', 'huge.yaml': `name: T # ${'x'.repeat(1024 * 1024)}\n` })
    await writeFile(join(folder, 'latin.yaml'), Uint8Array.from([0x6e, 0x3a, 0x20, 0xe9]))
    expect((await read('none.yaml')).problems).toEqual(['error none.yaml:1:1 no such file'])
    expect((await read('.')).problems).toEqual([expect.stringContaining('is a folder')])
    expect((await read('bytes.yaml')).problems).toEqual(['error bytes.yaml:1:1 is not a text file'])
    expect((await read('huge.yaml')).problems).toEqual([
      'error huge.yaml:1:1 is larger than 1 MB, the limit for a team file',
    ])
    expect((await read('latin.yaml')).problems).toEqual(['error latin.yaml:1:1 is not valid UTF-8'])
  })
})

describe('example teams', async () => {
  const files = (await readdir('examples/teams')).filter((name) => name.endsWith('.yaml'))

  test.each(files)('the example team %s has no problems', async (file) => {
    const { team, problems } = await readTeamTree(join('examples/teams', file))
    expect(problems).toEqual([])
    expect(team?.agents.length).toBeGreaterThan(1)
  })

  test('every team of the specification has an example', () => {
    expect(files.length).toBeGreaterThanOrEqual(17)
  })
})
