import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { runCommand } from '../../../../test/support/command-run.ts'
import { displayWidth } from '../../../views/text-width.ts'

let folder: string
const before = process.cwd()

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'troupe-agents-cli-')))
  await mkdir(join(folder, 'project'))
  process.chdir(join(folder, 'project'))
  vi.stubEnv('HOME', join(folder, 'home'))
  vi.stubEnv('USERPROFILE', join(folder, 'home'))
  vi.stubEnv('TROUPE_AGENTS', '')
})
afterEach(async () => {
  process.chdir(before)
  vi.unstubAllEnvs()
  await rm(folder, { recursive: true, force: true })
})

async function troupe(...argv: string[]) {
  const result = await runCommand(argv, 60)
  return { ...result, json: () => JSON.parse(result.out.join('\n')) }
}

async function put(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, text)
}

const agent = (name: string, ...head: string[]) =>
  `---\nname: ${name}\ndescription: ${'words '.repeat(60)}\n${head.join('\n')}\n---\nDo it.\n`

describe('troupe agents', () => {
  test('A17 --json prints each agent with origin and problems, and all problems', async () => {
    await put('.troupe/agents/scout.md', agent('scout', 'tools: Read, Nothing', 'model: fast'))
    await put('.claude/agents/open.md', '---\nname: open\n')
    const { code, json } = await troupe('agents', '--json')
    const { agents, problems } = json()
    expect(code).toBe(0)
    const path = join(process.cwd(), '.troupe', 'agents', 'scout.md')
    const warning = { level: 'warning', path, line: 4, message: "unknown tool 'Nothing' is ignored", agent: 'scout' }
    expect(agents[0]).toMatchObject({
      ...{ name: 'scout', tools: ['Read'], model: 'fast' },
      ...{ origin: { path, dialect: 'claude-code' }, problems: [warning] },
    })
    expect(agents.at(-1)).toMatchObject({ name: 'tester', model: null, problems: [] })
    expect(agents.find((each: { name: string }) => each.name === 'default').tools).toBeNull()
    expect(problems).toEqual([
      warning,
      {
        level: 'error',
        path: expect.stringMatching(/open\.md$/),
        line: 1,
        message: expect.stringContaining('not closed'),
        hint: 'close it with a line that contains only ---',
      },
    ])
  })

  test('A17 --dir lists only the agents of that folder', async () => {
    await put('.troupe/agents/scout.md', agent('scout'))
    await put('other/deep/guard.md', agent('guard'))
    const { agents } = (await troupe('agents', '--dir', 'other', '--json')).json()
    expect(agents).toMatchObject([{ name: 'guard', origin: { path: 'other/deep/guard.md', collection: 'deep' } }])
    const own = (await troupe('agents', '--agents', 'other', '--json')).json()
    expect(own.agents.map(({ name }: { name: string }) => name)).toEqual([
      'guard',
      ...[
        'architect',
        'backend_developer',
        'default',
        'developer',
        'devops_engineer',
        'documenter',
        'frontend_developer',
      ],
      ...['implementer', 'optimizer', 'project_manager', 'qa_engineer', 'researcher', 'reviewer', 'security'],
      ...['security_expert', 'tester'],
    ])
  })

  test('A17 check fails on errors, not on warnings, and shows their location', async () => {
    await put('a/warned.md', agent('warned', 'tools: Nothing'))
    const warned = await troupe('agents', 'check', '--dir', 'a')
    expect(warned.code).toBe(0)
    expect(warned.out).toEqual(['! a/warned.md:4', "  unknown tool 'Nothing' is ignored", '1 agent · 1 warning'])
    await put('a/broken.md', '---\nname: open\n')
    const broken = await troupe('agents', 'check', '--dir', 'a')
    expect(broken.code).toBe(1)
    expect(broken.out).toContain('✗ a/broken.md:1')
    expect(broken.out.at(-1)).toBe('1 agent · 1 error · 1 warning')
    const json = await troupe('agents', 'check', '--dir', 'a', '--json')
    expect([json.code, json.json().ok]).toEqual([1, false])
  })

  test('A17 L20 check and doctor show the hint of an invalid agent file', async () => {
    await put('.troupe/agents/broken.md', agent('broken', 'permissions: all'))
    const hint = '`permissions` must be a map: {allow: […], ask: […], deny: […]}'
    const checked = await troupe('agents', 'check')
    expect(checked.out.join('\n')).toContain("'permissions' is invalid\n  hint: `permissions` must be a map")
    expect((await troupe('agents', 'check', '--json')).json().problems).toMatchObject([{ level: 'error', hint }])
    const { checks } = (await troupe('doctor', '--json')).json()
    expect(checks).toContainEqual(expect.objectContaining({ name: 'agents', status: 'warning', hint }))
  })

  test('A17 a missing folder and an unknown subcommand are reported', async () => {
    const missing = await troupe('agents', '--dir', 'gone')
    expect(missing.code).toBe(1)
    expect(missing.err.join(' ')).toContain('cannot read agents from gone')
    const unknown = await troupe('agents', 'chek')
    expect(unknown.code).toBe(2)
    expect(unknown.err.join(' ')).toContain("unknown subcommand 'agents chek'")
  })

  test('A17 the list fits into 60 columns, long descriptions are truncated, and control characters are removed', async () => {
    await put('.troupe/agents/scout.md', agent(`"${'长名字'.repeat(20)}"`, `tools: ${'Read, '.repeat(30)}"\\u001b[2J"`))
    const { out, err } = await troupe('agents')
    for (const line of [...out, ...err]) expect(displayWidth(line)).toBeLessThanOrEqual(60)
    expect(out.slice(0, 4).at(-1)).toMatch(/…$/)
    expect([...out, ...err].join('')).not.toContain('\u001b')
  })
})

describe('troupe init', () => {
  test('A18 example agents are written, load without problems, and next steps are printed', async () => {
    const { code, out } = await troupe('init')
    expect(code).toBe(0)
    const written = ['explorer', 'builder', 'critic'].map((name) => `wrote .troupe/agents/${name}.md`)
    expect(out.slice(0, 4)).toEqual(['wrote troupe.config.ts', ...written])
    expect(out).toContain('  npx --no troupe agents check')
    for (const line of out) expect(displayWidth(line)).toBeLessThanOrEqual(60)
    const { agents, problems } = (await troupe('agents', '--json')).json()
    expect(problems).toEqual([])
    expect(agents.slice(0, 3).map(({ name }: { name: string }) => name)).toEqual(['builder', 'critic', 'explorer'])
    expect(agents[0].permissions.allow).toContain('Bash(npm test:*)')
  })

  test('A18 a project with Next.js or Hono gets a handler, others only a first program; what exists is kept', async () => {
    await put('ask.mts', 'mine')
    await put('src/app/page.tsx', '')
    await put('package.json', JSON.stringify({ dependencies: { next: '16.4.6' } }))
    const { out } = await troupe('init')
    expect(out).toEqual(expect.arrayContaining(['kept ask.mts', 'wrote src/app/agents/[[...path]]/route.ts']))
    expect(await readFile('src/app/agents/[[...path]]/route.ts', 'utf8')).toMatch(/export \{ handler as GET/)
    await rm('troupe.config.ts')
    await put('package.json', JSON.stringify({ dependencies: { hono: '4.0.0' } }))
    expect((await troupe('init')).out).toContain('wrote src/agents-handler.ts')
    await rm('troupe.config.ts')
    await put('package.json', 'not JSON')
    const { written } = (await troupe('init', '--json')).json()
    expect(written).toEqual(['troupe.config.ts'])
  })

  test('A18 existing files are never overwritten; with both kinds nothing is written', async () => {
    await put('.troupe/agents/critic.md', 'mine')
    const first = ['wrote troupe.config.ts', 'wrote ask.mts', 'kept .troupe/agents/critic.md']
    expect((await troupe('init')).out.slice(0, 3)).toEqual(first)
    const { code, err } = await troupe('init')
    expect(code).toBe(2)
    expect(err.join(' ').replaceAll(/\s+/g, ' ')).toContain('written: troupe.config.ts, .troupe/agents/critic.md')
    expect(await readFile('.troupe/agents/critic.md', 'utf8')).toBe('mine')
    await expect(readFile('.troupe/agents/builder.md')).rejects.toMatchObject({ code: 'ENOENT' })
  })

  test('A18 the configuration beside one of another kind is not written', async () => {
    await put('troupe.config.yaml', 'model: fast\n')
    expect((await troupe('init')).out).toContain('kept troupe.config.yaml')
    await expect(readFile('troupe.config.ts')).rejects.toMatchObject({ code: 'ENOENT' })
  })

  test('A18 --json lists the written files', async () => {
    const { json } = await troupe('init', '--json')
    expect(json()).toMatchObject({ written: expect.arrayContaining(['.troupe/agents/builder.md']) })
  })
})
