import { describe, expect, test } from 'vitest'
import type { CliFixture } from './cli-fixture.ts'
import { createCliFixture } from './cli-fixture.ts'
import { replyRule } from './team-script.ts'

/* Sub-teams, roles and compression, from the team file to the stored run. */

const runArguments = (model: string, team: string, ...more: string[]) => [
  ...['run', 'team', 'Report on Mars.', '--team', team, '--model', model, ...more],
]

async function showRun(cli: CliFixture): Promise<{ route: string[]; output: Record<string, unknown> }> {
  return JSON.parse((await cli.troupe('show', '--json')).out)
}

async function checkJournal(cli: CliFixture): Promise<unknown> {
  return JSON.parse((await cli.troupe('verify', 'r_', '--json')).out)
}

describe('team features on the command line', () => {
  test('TM13 a sub-team gets the request, works, and hands back to the parent team', async () => {
    const cli = await createCliFixture()
    await cli.write(
      'teams/inner.yaml',
      `name: Inner
agents: [{ name: finder }, { name: counter, outputs: { sources: number } }]
handoffs: [{ from_agent: finder, to_agent: counter }]
`,
    )
    await cli.write(
      'teams/outer.yaml',
      `name: Outer
agents:
  - { name: lead }
  - { name: research, team: inner.yaml, outputs: { sources: number } }
  - { name: writer }
handoffs:
  - { from_agent: lead, to_agent: research }
  - { from_agent: research, to_agent: writer, condition: sources >= 3 }
after_work_behavior: terminate
`,
    )
    const finderRequest = { agent: 'finder', heard: '"from":"user","text":"Report on Mars."' }
    const model = await cli.script('s.json', [
      replyRule('lead', 'Look for sources.'),
      { when: finderRequest, reply: { text: 'Found.' } },
      replyRule('counter', 'Three.', { sets: { sources: 3 } }),
      { when: { agent: 'writer', heard: '"from":"research",.*Three' }, reply: { text: 'Mars is red.' } },
    ])
    const done = await cli.troupe(...runArguments(model, 'teams/outer.yaml', '--no-tools'))
    expect(done).toMatchObject({ code: 0, out: 'Mars is red.\n' })
    expect(done.err).toMatch(/Outer {2}lead starts/)
    expect(done.err).toMatch(/ {2}Inner {2}finder starts/)
    expect(done.err).toMatch(/ {2}counter → back/)
    expect(done.err).toMatch(/research → writer {2}sources >= 3/)
    expect(done.err).toMatch(/route: lead → research → writer/)
    expect(await showRun(cli)).toMatchObject({
      ...{ route: ['lead', 'research', 'writer'], output: { variables: { sources: 3 } } },
    })
    expect(await checkJournal(cli)).toMatchObject({ findings: [] })
  })

  test('TM13 a sub-team reads the artifacts of another sub-team', async () => {
    const cli = await createCliFixture()
    await cli.write('research.yaml', 'name: Research\nagents: [{ name: finder, tools: [ArtifactWrite] }]\n')
    await cli.write('production.yaml', 'name: Production\nagents: [{ name: maker, tools: [ArtifactRead] }]\n')
    await cli.write(
      'company.yaml',
      `name: Company
agents: [{ name: research, team: research.yaml }, { name: production, team: production.yaml }]
handoffs: [{ from_agent: research, to_agent: production }]
after_work_behavior: terminate
`,
    )
    const write = { name: 'ArtifactWrite', input: { name: 'notes', content: 'Two moons.' } }
    const read = { name: 'ArtifactRead', input: { name: 'notes' } }
    const model = await cli.script('s.json', [
      { when: { agent: 'finder', turn: 1 }, reply: { toolCalls: [write] } },
      replyRule('finder', 'It is in the notes.'),
      { when: { agent: 'maker', turn: 1, heard: 'notes@1' }, reply: { toolCalls: [read] } },
      { when: { agent: 'maker', turn: 2, says: 'Two moons' }, reply: { text: 'Mars has two moons.' } },
    ])
    const done = await cli.troupe(...runArguments(model, 'company.yaml'))
    expect(done).toMatchObject({ code: 0, out: 'Mars has two moons.\n' })
    expect(done.err).toMatch(/research → production/)
    const { output, route } = await showRun(cli)
    expect(route).toEqual(['research', 'production'])
    expect(output).toMatchObject({ artifacts: ['notes@1'], handoffs: [{ to: 'production' }, { to: null }] })
    expect(await checkJournal(cli)).toMatchObject({ findings: [] })
  })

  test('TM14 roles are filled from the roster by the similarity that the installed embedder finds; a role without a match is rejected', async () => {
    const cli = await createCliFixture()
    const agent = (name: string, description: string, instructions: string) =>
      cli.write(`.troupe/agents/${name}.md`, `---\nname: ${name}\ndescription: ${description}\n---\n${instructions}\n`)
    await agent('stargazer', 'Observes planets', 'Look up.')
    await agent('poet', 'Writes verses', 'Rhyme.')
    const teamWithRole = (role: string) => `name: Formed
form: { roles: [{ name: watcher, role: ${role} }, { name: singer, role: writes verses }] }
handoffs: [{ from_agent: watcher, to_agent: singer }]
after_work_behavior: terminate
`
    await cli.write('formed.yaml', teamWithRole('observing planets'))
    const model = await cli.script('s.json', [
      { when: { agent: 'watcher', says: 'Look up' }, reply: { text: 'It is red.' } },
      { when: { agent: 'singer', says: 'Rhyme' }, reply: { text: 'Mars is red.' } },
    ])
    const done = await cli.troupeWith(
      { env: { COLUMNS: '160' } },
      ...runArguments(model, 'formed.yaml', '--no-tools', '--trust-project'),
    )
    expect(done).toMatchObject({ code: 0, out: 'Mars is red.\n' })
    expect(done.err).toMatch(/watcher is stargazer \(similarity 0\.\d\d\); singer is poet \(similarity 0\.\d\d\)/)
    await cli.write('no-match.yaml', teamWithRole('flies aeroplanes'))
    const refused = await cli.troupe(...runArguments(model, 'no-match.yaml', '--no-tools', '--trust-project'))
    expect(refused.code).toBe(2)
    expect(refused.err).toMatch(/no agent of the roster fits the role 'flies aeroplanes' \(watcher\)[\s\S]*stargazer/)
  })

  test('TM20 a long conversation is compressed; the request, decisions and artifacts are kept, and the history is complete', async () => {
    const cli = await createCliFixture()
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'keeper', 'closer']
    await cli.write('long.yaml', {
      ...{ name: 'Long', agents: names.map((name) => ({ name, tools: name === 'a' ? ['ArtifactWrite'] : [] })) },
      handoffs: names.slice(1).map((to_agent, n) => ({ from_agent: names[n], to_agent })),
      ...{ limits: { context_tokens: 150 }, after_work_behavior: 'terminate' },
    })
    const write = { name: 'ArtifactWrite', input: { name: 'map', content: 'of Mars' } }
    const kept = '"summary":"In short: red\\.","decisions":\\["1: a → b: .*"artifacts":\\["map@1"\\]'
    const model = await cli.script('s.json', [
      { when: { agent: 'a', turn: 1 }, reply: { toolCalls: [write] } },
      { when: { agent: 'summarizer' }, reply: { text: 'In short: red.' } },
      { when: { agent: 'keeper', heard: '"text":"Report on Mars\\."' }, reply: { text: 'The request is there.' } },
      { when: { agent: 'closer', heard: kept }, reply: { text: 'Everything is kept.' } },
      ...names.slice(0, -2).map((name) => replyRule(name, `${name} adds ${'much text '.repeat(20)}`)),
    ])
    const done = await cli.troupe(...runArguments(model, 'long.yaml'))
    expect(done).toMatchObject({ code: 0, out: 'Everything is kept.\n' })
    expect(done.err).toMatch(/summarised \d+ older messages/)
    const { output } = await showRun(cli)
    expect((output.history as unknown[]).length).toBe(1 + names.length)
    expect(JSON.stringify(output.history)).toContain('The request is there.')
    expect(await checkJournal(cli)).toMatchObject({ findings: [] })
  })
})
