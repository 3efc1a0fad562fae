import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createRoster } from '../engine/create-roster.ts'
import { withBuiltInAgents } from './built-in-agents.ts'
import type { FindAgentsOptions } from './find-agents.ts'
import { agentSources, findAgents } from './find-agents.ts'

let root: string
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'troupe-find-'))
})
afterEach(() => rm(root, { recursive: true, force: true }))

async function put(path: string, name: string, ...head: string[]): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true })
  const lines = [`name: ${name}`, `description: from ${path}`, ...head]
  await writeFile(join(root, path), `---\n${lines.join('\n')}\n---\nDo it.\n`)
}

const project = () => join(root, 'project')
const find = (more: Partial<FindAgentsOptions> = {}) =>
  findAgents({ project: project(), home: join(root, 'home'), builtIn: false, ...more })
const summary = async (more: Partial<FindAgentsOptions> = {}) => {
  const { agents, problems } = await find(more)
  return {
    found: agents.map(({ name, description }) => `${name} ${description.replace('from ', '')}`),
    warnings: problems.map(({ path, message }) => `${path.slice(root.length + 1)} ${message.replaceAll(root, '')}`),
  }
}

describe('the agent search path', () => {
  test('A14 the order is project, user, packages, built-in agents', async () => {
    await put('project/.troupe/agents/a.md', 'a')
    await put('project/.claude/agents/b.md', 'b')
    await put('project/.github/agents/c.agent.md', 'c')
    await put('project/.amplifier/agents/d.md', 'd')
    await put('home/.config/troupe/agents/e.md', 'e')
    await put('home/.claude/agents/f.md', 'f')
    await put('node_modules/@acme/crew/agents/g.md', 'g')
    await put('node_modules/other/agents/h.md', 'h')
    const { agents, problems } = await find({ packages: ['@acme/crew'], builtIn: true })
    expect(agents.map(({ name }) => name)).toEqual([
      ...['a', 'b', 'c', 'd', 'e', 'f', 'g'],
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
    expect(problems).toEqual([])
  })

  test('A14 the first agent of a name is used, the others are reported', async () => {
    await put('project/.troupe/agents/scout.md', 'scout')
    await put('project/.claude/agents/scout.md', 'scout')
    await put('home/.claude/agents/scout.md', 'scout')
    expect(await summary()).toEqual({
      found: ['scout project/.troupe/agents/scout.md'],
      warnings: [
        "project/.claude/agents/scout.md duplicate agent 'scout': the one in /project/.troupe/agents/scout.md is used",
        "home/.claude/agents/scout.md duplicate agent 'scout': the one in /project/.troupe/agents/scout.md is used",
      ],
    })
  })

  test('A14 a shadowed agent of a subfolder or package is available as collection:name', async () => {
    await put('project/.troupe/agents/scout.md', 'scout')
    await put('project/.troupe/agents/security/scout.md', 'scout')
    await put('project/.troupe/agents/security/guard.md', 'guard')
    await put('project/node_modules/crew/agents/scout.md', 'scout', 'agents: [security:guard, missing]')
    const { agents, problems } = await find({ packages: ['crew'] })
    expect(agents.map(({ name }) => name)).toEqual(['scout', 'guard', 'security:scout', 'crew:scout'])
    expect(problems.map(({ message }) => message)).toContainEqual(
      expect.stringContaining("this one is available as 'crew:scout'"),
    )
    expect(problems.map(({ message }) => message)).toContain("'agents' names unknown agents: 'missing'")
    expect(agents[3]?.agents).toEqual(['guard', 'missing'])
    const roster = createRoster(agents)
    expect(roster.get('security:scout').description).toContain('security/scout.md')
    expect(roster.get('security:guard')).toBe(roster.get('guard'))
    expect(roster.has('crew:scout')).toBe(true)
    expect(() => roster.get('crew:guard')).toThrow(/no agent 'crew:guard'/)
  })

  test('A14 a built-in agent replaced by a project is available as troupe:name', async () => {
    await put('project/.troupe/agents/architect.md', 'architect')
    const { agents } = await find({ builtIn: true })
    expect(agents[0]?.description).toContain('.troupe/agents')
    expect(agents.find(({ name }) => name === 'troupe:architect')?.temperature).toBe(0.7)
    const own = agents.filter(({ name }) => name === 'architect')
    const names = (await withBuiltInAgents(own)).flatMap(({ name, on_request }) => (on_request ? [] : [name]))
    expect(names).toEqual(['architect', 'troupe:architect', 'default', 'implementer', 'researcher', 'reviewer'])
  })

  test('P12 a file defines no agent with the qualified name of a built-in one, in whatever way', async () => {
    await put('project/.troupe/agents/own.md', 'troupe:architect')
    await put('project/.troupe/agents/fine.md', 'fine')
    await writeFile(
      join(project(), '.troupe/agents/crew.yaml'),
      'agents:\n  troupe:reviewer:\n    role: r\n    goal: g\n    backstory: b\n  scout:\n    role: r\n    goal: g\n',
    )
    await put('project/.troupe/agents/architect.md', 'architect')
    await put('project/.troupe/agents/troupe/architect.md', 'architect')
    const { agents, problems } = await find()
    expect(agents.map(({ name }) => name).toSorted()).toEqual(['architect', 'fine', 'scout'])
    const errors = problems
      .filter(({ level }) => level === 'error')
      .map(({ path, message }) => [basename(path), message])
    expect(errors.toSorted()).toEqual([
      ['crew.yaml', "the agent is not used: the name 'troupe:reviewer' is reserved for a built-in one"],
      ['own.md', "the agent is not used: the name 'troupe:architect' is reserved for a built-in one"],
    ])
    const roster = createRoster(await withBuiltInAgents(agents))
    expect(roster.get('troupe:architect').temperature).toBe(0.7)
  })

  test('A14 folders of the default search path may be missing; named folders and packages may not', async () => {
    expect(await summary()).toEqual({ found: [], warnings: [] })
    const error = { code: 'invalid_agent_file', responsible: 'operator' }
    await expect(find({ dirs: [join(root, 'gone')] })).rejects.toMatchObject(error)
    await expect(find({ packages: ['gone'] })).rejects.toMatchObject(error)
    await expect(find({ packages: ['../../etc'] })).rejects.toMatchObject(error)
  })

  test('A14 with dirs, only the named folders are searched', async () => {
    await put('project/.troupe/agents/a.md', 'a')
    await put('elsewhere/b.md', 'b')
    expect((await summary({ dirs: [join(root, 'elsewhere')], builtIn: true })).found).toEqual(['b elsewhere/b.md'])
  })

  test('A19 agent folders in subfolders of the project are not searched', async () => {
    await put('project/.claude/agents/mine.md', 'mine')
    const below = ['.troupe/agents/a.md', '.claude/agents/b.md', '.github/agents/c.agent.md', '.amplifier/agents/d.md']
    for (const path of below) await put(`project/sub/${path}`, 'stranger')
    await put('project/agents/e.md', 'stranger')
    expect(await summary()).toEqual({ found: ['mine project/.claude/agents/mine.md'], warnings: [] })
  })

  test('A19 a project inside an agent workspace gets a warning for each of its agent folders', async () => {
    await put('project/sub/.claude/agents/b.md', 'b')
    await put('project/sub/.troupe/agents/a.md', 'a')
    const sub = { project: join(project(), 'sub') }
    expect((await summary(sub)).warnings).toEqual([])
    await mkdir(join(project(), '.troupe'))
    const message = 'is inside the agent workspace /project: an agent may have written it; review it before use'
    const warnings = [`project/sub/.troupe/agents ${message}`, `project/sub/.claude/agents ${message}`]
    expect(await summary(sub)).toMatchObject({
      found: [expect.stringMatching('^a '), expect.stringMatching('^b ')],
      warnings,
    })
    expect((await summary({ ...sub, home: project() })).warnings).toEqual([])
    expect((await summary({ ...sub, dirs: [join(project(), 'sub')] })).warnings).toEqual([])
  })

  test('A14 when the project is the home folder, shared folders are searched once', async () => {
    const sources = await agentSources({ project: root, home: root, builtIn: false })
    expect(sources.map(({ folder }) => folder.slice(root.length))).toEqual([
      ...['/.troupe/agents', '/.claude/agents', '/.github/agents', '/.amplifier/agents'],
      ...['/.config/troupe/agents', '/.copilot/agents'],
    ])
  })
})
