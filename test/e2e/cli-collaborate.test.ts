import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import type { Script } from '../../src/models/script.ts'
import { displayWidth } from '../../src/views/text-width.ts'
import { requireSandbox } from '../support/require-program.ts'
import type { CliFixture } from './cli-fixture.ts'
import { createCliFixture } from './cli-fixture.ts'

const EXAMPLES = fileURLToPath(new URL('../../examples/02-collaborate/', import.meta.url))

function example(name: string): string[] {
  return ['run', 'collaborate', '--input', `${EXAMPLES}${name}.yaml`, '--model', `scripted:${EXAMPLES}${name}.json`]
}

/** The answer of the coordinator in the example's script. */
function scriptedAnswer(name: string): string {
  const { rules } = JSON.parse(readFileSync(`${EXAMPLES}${name}.json`, 'utf8')) as Script
  return rules.at(-1)?.reply.text ?? ''
}

function contributionRule(agent: string, recommendation: string, more: { confidence?: number; delayMs?: number } = {}) {
  const { confidence = 0.7, delayMs } = more
  const object = { response: `${agent} says so.`, recommendation, confidence }
  return { when: { agent }, reply: { object, ...(delayMs === undefined ? undefined : { delayMs }) } }
}

async function prepareRun(cli: CliFixture, rules: Script['rules'], input: object): Promise<string[]> {
  const model = await cli.script('s.json', rules)
  const names = rules.flatMap(({ when }) => (when?.agent === 'coordinator' ? [] : (when?.agent ?? [])))
  const agents = [...new Set(names)].map((name) => ({ name, role: `${name} role` }))
  const categories = ['wait', 'go']
  await cli.write('in.json', { task: 'Should it wait?', agents, synthesis: 'vote', categories, ...input })
  return ['run', 'collaborate', '--input', 'in.json', '--model', model]
}

describe('collaboration examples', () => {
  test('L29 L30 L32 a review prints progress and positions on stderr and only the answer on stdout', async () => {
    const cli = await createCliFixture()
    const done = await cli.troupe(...example('review'))
    expect(done).toMatchObject({ code: 0, out: `${scriptedAnswer('review')}\n` })
    expect(done.err).toMatch(/Specialists +parallel: security-reviewer, quality-reviewer,\s+test-reviewer\n/)
    expect(done.err).toMatch(/security-reviewer {2}starts {2}security\n/)
    expect(done.err).toMatch(/security-reviewer {2}✓ 95 % sure: request changes/)
    expect(done.err).toMatch(/the coordinator writes the answer/)
    expect(done.err).toMatch(
      /\n\nagreement {2}67 %\n[^✓]*\n✓ █+░+ +74 % {2}request changes\n +security-reviewer 95 %, test-reviewer 80 %\n/,
    )
    expect(done.err).toMatch(/agreement: 67 % · votes: 3 ·.*consensus: yes/s)
    const shown = await cli.troupe('show')
    expect(shown.out).toMatch(/✓ quality-reviewer .*\n {2}code-quality\n {2}→ 60 % sure: approve\n/)
    expect(shown.out).toMatch(/\n\nagreement {2}67 %\n[^✓]*\n✓ █+░+ +74 %/)
    const checked = await cli.troupe('verify', 'r_', '--json')
    expect(JSON.parse(checked.out)).toMatchObject({ findings: [] })
  })

  test('L29 L30 in a sequential debate equal recommendations form one position', async () => {
    const cli = await createCliFixture()
    const done = await cli.troupe(...example('debate'))
    expect(done).toMatchObject({ code: 0, out: `${scriptedAnswer('debate')}\n` })
    expect(done.err).toMatch(/Specialists +sequential: microservices-advocate, monolith-advocate,\s+pragmatist\n/)
    expect(done.err).toMatch(/73 % {2}Build a modular monolith\n +monolith-advocate 85 %, pragmatist 80 %\n/)
    expect(done.err).toMatch(
      /27 % {2}Use microservices\n +microservices-advocate 60 %\nMinority report.*\n {2}Use microservices\n {2}- Eight people/,
    )
  })

  test('L29 L30 divided work is listed by subtask, without agreement', async () => {
    const cli = await createCliFixture()
    const done = await cli.troupe(...example('product'))
    expect(done).toMatchObject({ code: 0, out: `${scriptedAnswer('product')}\n` })
    expect(done.err).toMatch(/coordinator {2}starts {2}divides the work/)
    expect(done.err).toMatch(/backend-specialist {2}starts {2}Design the API/)
    expect(done.err).toMatch(/subtasks\n.*Parts of the work\n✓ backend-specialist {2}Design the API.*\n {2}90 % sure/s)
    expect(done.err).not.toMatch(/agreement/)
  })

  test('L32 --json prints the complete output, and show --json the same', async () => {
    requireSandbox()
    const cli = await createCliFixture()
    const done = await cli.troupe(...example('review'), '--json')
    expect(done).toMatchObject({ code: 0, err: '' })
    const { output, run_id } = JSON.parse(done.out)
    expect(Object.keys(output)).toEqual(['result', 'decided', 'contributions', 'consensus', 'metadata'])
    expect(output.consensus).toMatchObject({ supporting: ['security', 'testing'], dissenting: ['code-quality'] })
    const shown = JSON.parse((await cli.troupe('show', run_id, '--json')).out)
    expect(shown.output).toEqual(output)
  })

  test('L4 L31 no line is too wide at any width or in ASCII; --quiet hides the positions', async () => {
    requireSandbox()
    const cli = await createCliFixture()
    const narrow = await cli.troupeWith({ env: { COLUMNS: '30', LC_ALL: 'C' } }, ...example('review'))
    for (const line of narrow.err.split('\n')) expect(displayWidth(line)).toBeLessThanOrEqual(30)
    expect(narrow.err).toMatch(/\* #+\.+ +74 %\n {2}request changes\n/)
    const quiet = await cli.troupe(...example('review'), '--quiet')
    expect(quiet).toMatchObject({ code: 0, err: '' })
  })
})

describe('collaboration outcomes', () => {
  test('L29 L30 a decided vote calls no further specialists and says so', async () => {
    const cli = await createCliFixture()
    const rules = ['ann', 'bob', 'cid'].map((name) => contributionRule(name, 'wait', { confidence: 0.9 }))
    const run = await prepareRun(cli, rules, { vote: { wave: 2 } })
    const done = await cli.troupe(...run)
    expect(done.code).toBe(0)
    expect(done.out).toMatch(/^# wait\n/)
    expect(done.err).toMatch(/counts the votes; not called: cid/)
    expect(done.err).toMatch(/requests saved: 1 · because: the result could no longer change · not asked: cid/)
  })

  test('L1 L30 when all specialists fail, the exit code is 1, each error is shown and stdout is empty', async () => {
    const cli = await createCliFixture()
    const broken = (agent: string) => ({ when: { agent }, reply: { error: { status: 401, message: `no ${agent}` } } })
    const done = await cli.troupe(...(await prepareRun(cli, [broken('ann'), broken('bob')], {})))
    expect(done).toMatchObject({ code: 1, out: '' })
    expect(done.err).toMatch(/ann {2}✗ failed {2}model_failed: the model returned 401: no ann/)
    expect(done.err).toMatch(/bob\s+\(no\s+response:\s+model_failed:\s+the\s+model\s+returned\s+401:\s+no\s+bob/)
    expect(done.err).toMatch(/^error: all 2 agents failed/m)
  })

  test('L1 L33 invalid input is rejected with exit 2 before any model request', async () => {
    const cli = await createCliFixture()
    const model = await cli.script('s.json', [])
    const refused = async (yaml: string) => {
      await cli.write('bad.yaml', yaml)
      return cli.troupe('run', 'collaborate', '--input', 'bad.yaml', '--model', model)
    }
    const cases: [yaml: string, why: RegExp][] = [
      ['task: hi\n', /agents is missing/],
      ['task: hi\nagents: []\n', /`agents` is empty/],
      ['task: hi\nagents: [architct, default]\n', /no agent 'architct'[\s\S]*did you mean 'architect'/],
      ['task: hi\nagents: [{name: a, rol: b}]\n', /agents\.0: Unrecognized key: "rol"/],
      ['task: hi\nagents: [{role: b}]\n', /agents\.0\.name is missing/],
      ['task: hi\nagents: [{name: a}, {name: a}]\n', /`agents` has the name 'a' twice/],
      ['task: hi\nagents: [{name: a}, [\n', /bad\.yaml is not valid JSON or YAML: .*line 3/s],
      ['task: hi\nagents: [{name: a}]\nmode: paralel\n', /mode: .*"parallel"\|"sequential"\|"hierarchical"/s],
    ]
    for (const [yaml, why] of cases) {
      const done = await refused(yaml)
      expect({ yaml, code: done.code, err: done.err.replace(/\n {2}/g, ' ') }).toMatchObject({
        yaml,
        code: 2,
        err: expect.stringMatching(why),
      })
    }
    expect(JSON.parse((await cli.troupe('runs', '--json')).out)).toEqual([])
  })

  test('G12 a specialist that asks a person leaves no process behind: exit 3', async () => {
    const cli = await createCliFixture()
    const question = { toolCalls: [{ name: 'ask_user', input: { question: 'Which colour?' } }] }
    const model = await cli.script('s.json', [
      { when: { agent: 'default', turn: 1 }, reply: question },
      { reply: { text: 'Blue it is.' } },
    ])
    await cli.write('in.json', { task: 'Paint it.', agents: ['default'], synthesis: 'merge' })
    const parked = await cli.troupe('run', 'collaborate', '--input', 'in.json', '--model', model)
    expect(parked).toMatchObject({ code: 3, out: '' })
    expect(parked.err).toContain('Which colour?')
  })

  test('L1 L35 an escalated conflict waits with exit 3, and the answer decides it', async () => {
    const cli = await createCliFixture()
    const run = await prepareRun(cli, [contributionRule('ann', 'wait'), contributionRule('bob', 'go')], {
      on_conflict: 'escalate',
    })
    const parked = await cli.troupe(...run)
    expect(parked).toMatchObject({ code: 3, out: '' })
    expect(parked.err).toMatch(
      /\n {2}1\. (wait|go) \(\w+; 50 %\)\n {2}2\. (wait|go) \(\w+; 50 %\)\n {2}Answer with a number/,
    )
    const [gate] = JSON.parse((await cli.troupe('inbox', '--json')).out)
    const done = await cli.troupe('answer', gate.gate_id, 'Ask again on Monday')
    expect(done.code).toBe(0)
    expect(done.out).toMatch(/^Decided by a person: Ask again on Monday/)
    expect(done.err).toMatch(/decided by a person: Ask again on Monday/)
  })

  test('L11 a killed collaboration resumes without calling specialists again that have answered', async () => {
    const cli = await createCliFixture()
    const input = { synthesis: 'coordinator' }
    const final = { when: { agent: 'coordinator' }, reply: { text: 'Wait.' } }
    const run = cli.start(
      ...(await prepareRun(
        cli,
        [contributionRule('ann', 'wait'), contributionRule('bob', 'go', { delayMs: 60_000 }), final],
        input,
      )),
    )
    const [, id = ''] = await run.waitFor(/run (r_[0-9a-f]{12}) started/)
    await run.waitFor(/ann {2}✓ 70 % sure: wait/)
    run.kill('SIGKILL')
    await run.done
    expect((await cli.troupe('show', id)).out).toMatch(/interrupted/)
    await cli.script('s.json', [contributionRule('ann', 'go'), contributionRule('bob', 'go'), final])
    const resumed = await cli.troupe('resume', id)
    expect(resumed).toMatchObject({ code: 0, out: 'Wait.\n' })
    expect(resumed.err).not.toMatch(/ann {2}(starts|✓)/)
    expect(resumed.err).toMatch(/bob {2}✓ 70 % sure: go/)
    expect(resumed.err).toMatch(/50 % {2}wait\n +ann 70 %/)
    const checked = await cli.troupe('verify', id, '--json')
    expect(JSON.parse(checked.out)).toMatchObject({ findings: [] })
  })
})

describe('help and outcomes', () => {
  test('CO99 --with names agents of the roster', async () => {
    const cli = await createCliFixture()
    const script = await cli.script('script.json', [{ reply: { text: 'Looks good.' } }])
    const done = await cli.troupe(
      ...['run', 'collaborate', 'Is it safe?', '--with', 'architect, reviewer', '--synthesis', 'merge'],
      ...['--model', script],
    )
    expect(done).toMatchObject({ code: 0 })
    expect(done.out).toContain('### architect (architect)\n\nLooks good.')
    expect(done.out).toContain('### reviewer (reviewer)')
    const unknown = await cli.troupe('run', 'collaborate', 'x', '--with', 'architct', '--model', script)
    expect(unknown.code).toBe(2)
    expect(unknown.err).toMatch(/no agent 'architct'; known: architect/)
    const empty = await cli.troupe('run', 'collaborate', 'x', '--with', 'architect,,reviewer')
    expect(empty.err).toContain("--with 'architect,,reviewer' has an empty name")
  })

  test('CO99 without --with and --input the error names both', async () => {
    const cli = await createCliFixture()
    for (const more of [[], ['--agents', 'architect']]) {
      const done = await cli.troupe('run', 'collaborate', 'Is it safe?', ...more)
      expect(done.code).toBe(2)
      expect(done.err.replace(/\s+/g, ' ')).toMatch(
        /the field 'agents' is missing.* hint: .*--with architect,reviewer.*--input FILE/,
      )
    }
    const mistaken = await cli.troupe('run', 'collaborate', 'Is it safe?', '--agents', 'writer,critic')
    expect(mistaken.err.replace(/\s+/g, ' ')).toMatch(
      /`--agents` is the folder of agent files hint: .*--with writer,critic/,
    )
  })

  test('L33 --help lists the fields without a flag', async () => {
    const cli = await createCliFixture()
    const { out } = await cli.troupe('run', 'collaborate', '--help')
    expect(out).toMatch(/--agents <folder> {2,}folder with agent files/)
    expect(out).toMatch(/Fields without a flag \(use --input\):\n {2}agents +Required\. Two to five specialists/)
    expect(out).toMatch(/\n {2}limits +\{max_agents, max_parallel, agent_timeout\}/)
  })

  test('L34 run outcome accepts an id prefix and prints what was recorded', async () => {
    const cli = await createCliFixture()
    const { run_id } = JSON.parse((await cli.troupe(...example('review'), '--json')).out)
    const outcome = await cli.troupe('run', 'outcome', '--of-run', run_id.slice(0, 8), '--verdict', 'right')
    const right = `recorded: ${run_id} was right at 67 % agreement\n`
    expect(outcome).toMatchObject({ code: 0, out: `${right}the run has no recorded votes\n` })
    const recorded = await cli.troupe('run', 'outcome', '--of-run', run_id, '--answer', 'request changes')
    expect(recorded.out).toBe(`${right}right: security-reviewer, test-reviewer\nwrong: quality-reviewer\n`)
    const unknown = await cli.troupe('run', 'outcome', 'r_none', '--verdict', 'right')
    expect(unknown).toMatchObject({ code: 2, out: '' })
    expect(JSON.parse((await cli.troupe('runs', '--json')).out)).toHaveLength(3)
  })
})
