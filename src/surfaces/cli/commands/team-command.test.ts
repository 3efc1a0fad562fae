import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { runCommand } from '../../../../test/support/command-run.ts'
import { displayWidth } from '../../../views/text-width.ts'

let folder: string
const before = process.cwd()

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'troupe-team-cli-')))
  await mkdir(join(folder, 'project'))
  process.chdir(join(folder, 'project'))
  vi.stubEnv('HOME', join(folder, 'home'))
  vi.stubEnv('USERPROFILE', join(folder, 'home'))
  vi.stubEnv('TROUPE_AGENTS', '')
  vi.stubEnv('LC_ALL', 'C.UTF-8')
})
afterEach(async () => {
  process.chdir(before)
  vi.unstubAllEnvs()
  await rm(folder, { recursive: true, force: true })
})

async function troupeAt(width: number, argv: readonly string[]) {
  const result = await runCommand(argv, width)
  return { ...result, json: () => JSON.parse(result.out.join('\n')) }
}

const team = (...argv: string[]) => troupeAt(60, ['team', ...argv])

const GATES = `name: Gates
agents:
  - name: writer
    role: Writes long and careful texts about everything that anyone could ever want to know
    outputs: { word_count: number }
  - name: reviewer
    uses: reviewer
context_variables: { min_words: 500 }
handoffs:
  - from_agent: writer
    to_agent: reviewer
    condition: draft is complete and word_count >= {{ min_words }}
  - from_agent: reviewer
    to_agent: user
    condition: approved
`

describe('troupe team check', () => {
  test('TF23 problems are reported with line, column and hint; only errors fail', async () => {
    await writeFile('t.yaml', GATES.replace('to_agent: reviewer', 'to_agent: reviwer'))
    const { code, out } = await team('check', 't.yaml')
    expect(code).toBe(1)
    expect(out).toEqual([
      '✗ t.yaml:11:15',
      "  no agent or group 'reviwer'; known: reviewer, writer,",
      '  user, previous_agent',
      "  hint: did you mean 'reviewer'?",
      '1 error',
    ])
    await writeFile('t.yaml', `${GATES}colour: red\n`)
    expect(await team('check', 't.yaml')).toMatchObject({ code: 0, out: expect.arrayContaining(['! t.yaml:16:1']) })
    expect(await team('check', 't.yaml', '--strict')).toMatchObject({ code: 1 })
    await writeFile('t.yaml', GATES)
    expect(await team('check', 't.yaml')).toMatchObject({ code: 0, out: ['Gates · 2 agents · no problems'] })
  })

  test('TF23 --json prints every problem, and uses is checked against the roster', async () => {
    await writeFile('t.yaml', GATES.replace('uses: reviewer', 'uses: reviewr'))
    const { code, json } = await team('check', 't.yaml', '--json')
    expect(code).toBe(1)
    expect(json()).toEqual({
      ...{ ok: false, team: null, agents: 0 },
      problems: [
        {
          severity: 'error',
          message: expect.stringMatching(/^no agent 'reviewr' in the roster; known: reviewer, /),
          path: 't.yaml',
          field: 'agents[1].uses',
          ...{ line: 7, column: 11 },
          hint: "did you mean 'reviewer'?",
        },
      ],
    })
  })

  test('TF23 a missing file and an unknown subcommand are reported', async () => {
    expect(await team('check', 'gone.yaml')).toMatchObject({
      code: 1,
      out: ['✗ gone.yaml:1:1', '  no such file', '1 error'],
    })
    expect(await team('chek', 't.yaml')).toMatchObject({
      code: 2,
      err: expect.arrayContaining(["hint: did you mean 'check'?"]),
    })
    expect(await team()).toMatchObject({
      code: 2,
      err: expect.arrayContaining([expect.stringMatching(/^known: check, graph, explain, schema/)]),
    })
  })
})

describe('troupe team graph', () => {
  test('TF24 the graph shows every agent and handoff and fits the terminal', async () => {
    await writeFile('t.yaml', GATES)
    const { out } = await team('graph', 't.yaml')
    expect(out).toEqual([
      'Gates',
      '▸ writer  Writes long and careful texts about everything th…',
      '    └─▶ reviewer  draft is complete and word_count >= {{ mi…',
      '  reviewer  uses reviewer',
      '    └─▶ user  approved',
      '  otherwise return to the user',
    ])
    for (const width of [24, 40, 80]) {
      const drawn = await troupeAt(width, ['team', 'graph', 't.yaml'])
      for (const line of drawn.out) expect(displayWidth(line)).toBeLessThanOrEqual(width)
    }
  })

  test('TF24 groups, nested teams, humans, any_agent rules and user rules are shown', async () => {
    await writeFile(
      'in.yaml',
      'name: Inner\nagents: [{ name: x }, { name: y }]\nhandoffs: [{ from_agent: x, to_agent: y }]\n',
    )
    await writeFile(
      't.yaml',
      `name: All
entry: g
agents: [{ name: a }, { name: b }, { name: s, team: in.yaml }, { name: p, kind: human, role: decides }]
groups: [{ name: g, kind: parallel, members: [a, b], then: s }]
after_work_behavior: terminate
handoffs:
  - { from_agent: any_agent, to_agent: p, condition: error detected, priority: 9, approve: true }
  - { from_agent: user, to_agent: s, condition: more is wanted }
  - { from_agent: s, to_agent: p, condition: settled }
`,
    )
    vi.stubEnv('LC_ALL', 'C')
    expect((await team('graph', 't.yaml')).out).toEqual([
      'All',
      '  user',
      '    `-> s  more is wanted',
      '> g  parallel: a, b',
      '      a',
      '      b',
      '    `-> s',
      '  s  team Inner',
      '    > x',
      '        `-> y',
      '      y',
      '      otherwise return to the user',
      '    `-> p  settled',
      '  p  human · decides',
      '  any agent',
      '    `-> p  [9] (needs approval) error detected',
      '  otherwise the run ends',
    ])
    vi.stubEnv('LC_ALL', 'C.UTF-8')
    expect((await team('graph', 't.yaml')).out[3]).toBe('▸ g  parallel: a, b')
    expect((await team('graph', 't.yaml', '--mermaid')).out[0]).toBe('flowchart TD')
    expect((await team('graph', 't.yaml', '--json')).json()).toMatchObject({
      ...{ name: 'All', entry: 'g', after_work: 'terminate' },
      nodes: expect.arrayContaining([
        expect.objectContaining({ name: 's', team: expect.objectContaining({ name: 'Inner' }) }),
      ]),
    })
  })

  test('TF24 a team with errors is rejected; one with warnings is drawn with a note', async () => {
    await writeFile('t.yaml', GATES.replace('to_agent: reviewer', 'to_agent: reviwer'))
    const refused = await team('graph', 't.yaml', '--json')
    expect(refused).toMatchObject({ code: 1 })
    expect(refused.json().error).toMatchObject({
      code: 'invalid_team_file',
      message: expect.stringMatching(/^the team file has errors at t\.yaml:11:15: no agent or group 'reviwer'/),
    })
    await writeFile('t.yaml', `${GATES}colour: red\n`)
    expect(await team('graph', 't.yaml')).toMatchObject({
      code: 0,
      err: ['1 warning: npx --no troupe team check t.yaml'],
    })
  })
})

describe('troupe team schema', () => {
  test('TF25 the published schema equals the output of the command', async () => {
    const { code, json } = await team('schema')
    const published = JSON.parse(await readFile(join(before, 'schemas/team.schema.json'), 'utf8'))
    expect(code).toBe(0)
    const renew = 'npm run -s troupe -- team schema > schemas/team.schema.json, then npm run format'
    expect(published, renew).toEqual(json())
    const packed = JSON.parse(await readFile(join(before, 'package.json'), 'utf8')) as { files: string[] }
    expect(packed.files).toContain('schemas')
  })

  test('TF25 the schema accepts valid teams and rejects invalid ones', async () => {
    const { out } = await team('schema')
    // zod does not compile patterns with the unicode flag, as the standard requires.
    const plain = JSON.parse(out.join('\n'), (key, value) => (key === 'pattern' ? undefined : value))
    const schema = z.fromJSONSchema(plain)
    const agents = [{ name: 'a', team: { name: 'In', agents: [{ name: 'b' }] } }]
    expect(schema.safeParse({ name: 'T', agents }).success).toBe(true)
    for (const wrong of [
      {},
      { name: 'T', agnts: [] },
      { name: 'T', agents: [{}] },
      { name: 'T', limits: { max_rounds: 0 } },
    ]) {
      expect(schema.safeParse(wrong).success).toBe(false)
    }
  })
})

describe('troupe team explain', () => {
  test('TF26 --json prints decision and rules only', async () => {
    await writeFile('t.yaml', GATES)
    const args = ['explain', 't.yaml', '--from', 'writer', '--set', 'word_count=700', '--json']
    const rule = (value: true | 'unknown', reason: string) => ({
      ...{ from: 'writer', to: 'reviewer', priority: 1, holds: value },
      parts: [
        { text: 'draft is complete', kind: 'semantic', value, reason },
        {
          ...{ text: 'word_count >= {{ min_words }}', kind: 'exact', value: true },
          reason: 'word_count is 700, min_words is 500',
        },
      ],
    })
    expect((await team(...args, '--assume', 'draft is complete')).json()).toEqual({
      decision: { to: 'reviewer', by: 'verdict' },
      rules: [rule(true, 'assumed')],
    })
    const unread = 'condition met: draft is complete, word_count = 9999, hand over to reviewer'
    expect((await team(...args, '--response', unread)).json()).toEqual({
      decision: { to: null, by: 'undecided' },
      rules: [rule('unknown', 'not judged yet')],
    })
    expect((await team(...args, '--deny', 'draft is complete')).json().decision).toEqual({
      to: 'user',
      by: 'after_work',
    })
  })

  test('TF26 each rule and condition is marked, and open conditions show how to decide them', async () => {
    await writeFile('t.yaml', GATES)
    const { code, out } = await team('explain', 't.yaml', '--from', 'writer', '--set', 'word_count=700')
    expect(code).toBe(0)
    expect(out).toEqual([
      '? writer → reviewer  priority 1',
      '   ?~ draft is complete: not judged yet',
      '   ✓= word_count >= {{ min_words }}: word_count is 700,',
      '      min_words is 500',
      '',
      'decision: undecided',
      '  decide with --assume or --deny "draft is complete"',
    ])
    const few = await team('explain', 't.yaml', '--from', 'writer', '--set', 'word_count=7')
    expect(few.out.slice(-2)).toEqual([
      'decision: user (after_work)',
      '  no rule holds; after_work_behavior is return_to_user',
    ])
  })

  test('TF26 --response is shown above the rules', async () => {
    await writeFile('t.yaml', GATES)
    const result = await team('explain', 't.yaml', '--from', 'writer', '--response', 'Done:\nall of it')
    expect(result.out.slice(0, 2)).toEqual(['writer says: Done: all of it', '? writer → reviewer  priority 1'])
  })

  test('TF26 unknown agents, variables and conditions are rejected', async () => {
    await writeFile('t.yaml', GATES)
    const from = ['explain', 't.yaml', '--from']
    expect(await team('explain', 't.yaml')).toMatchObject({ code: 2 })
    expect(await team(...from, 'writr')).toMatchObject({
      code: 2,
      err: expect.arrayContaining(["hint: did you mean 'writer'?"]),
    })
    expect(await team(...from, 'writer', '--set', 'word_count=x')).toMatchObject({ code: 2 })
    expect(await team(...from, 'writer', '--assume', 'draft is complet')).toMatchObject({
      ...{ code: 2, err: expect.arrayContaining(["hint: did you mean 'draft is complete'?"]) },
    })
  })
})
