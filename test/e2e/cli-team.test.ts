import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { CliFixture, CliProcess } from './cli-fixture.ts'
import { createCliFixture, singleAnswerScript } from './cli-fixture.ts'
import type { ManualModel } from './manual-model.ts'
import { startManualModel } from './manual-model.ts'
import { APPROVAL_TEAM, prepareReviewRun, REVIEW_TEAM, replyRule, reviewScript, waitForRunId } from './team-script.ts'

const LONG = 60_000

/** A team run whose model responds when the test allows it. */
async function startManualRun(cli: CliFixture, model: ManualModel): Promise<{ run: CliProcess; id: string }> {
  await cli.write('review.yaml', REVIEW_TEAM)
  const run = cli.startWith(
    model,
    'run',
    'team',
    'Write it.',
    '--team',
    'review.yaml',
    '--model',
    model.name,
    '--no-tools',
  )
  return { run, id: await waitForRunId(run) }
}

describe('run team', () => {
  test('L37 progress shows turns and handoffs with reasons; the end prints answer and route', async () => {
    const cli = await createCliFixture()
    const { code, out, err } = await cli.troupe(...(await prepareReviewRun(cli)))
    expect({ code, out }).toEqual({ code: 0, out: 'It is out.\n' })
    expect(err).toMatch(/Review {2}writer starts/)
    expect(err).toMatch(/writer {2}round 1/)
    expect(err).toMatch(/writer → reviewer {2}draft is complete/)
    expect(err).toMatch(/reviewer → writer {2}not approved/)
    expect(err).toMatch(/route: writer → reviewer → writer → reviewer → publisher/)
    const shown = await cli.troupe('show')
    expect(shown.out).toMatch(/round 3: not approved/)
    expect(shown.out).toMatch(/route: writer → reviewer → writer → reviewer → publisher/)
    const json = JSON.parse((await cli.troupe('show', '--json')).out)
    expect(json.route).toEqual(['writer', 'reviewer', 'writer', 'reviewer', 'publisher'])
    expect(json.title).toBe('Write it.')
  })

  test('L37 team in an input file is relative to that file, and --set sets variables', async () => {
    const cli = await createCliFixture()
    await prepareReviewRun(cli)
    await cli.write('teams/mine.yaml', REVIEW_TEAM)
    await cli.write('teams/job.yaml', 'message: Write it.\nteam: mine.yaml\n')
    const run = ['run', 'team', '--input', 'teams/job.yaml', '--model', 'scripted:s.json', '--json', '--no-tools']
    const plain = JSON.parse((await cli.troupe(...run)).out)
    expect(plain).toMatchObject({ status: 'completed', output: { agent: 'publisher', variables: { strict: false } } })
    const strict = JSON.parse((await cli.troupe(...run, '--set', 'strict=true')).out)
    expect(strict.output).toMatchObject({ agent: 'reviewer', variables: { strict: true } })
  })

  test('L37 a team that returns to the user prints its answer and waits with exit 3; a reply continues it', async () => {
    const cli = await createCliFixture()
    await cli.write('one.yaml', 'name: One\nagents: [{ name: helper }]\n')
    const model = await cli.script('s.json', [
      replyRule('helper', 'And blue?', { after: 1 }),
      replyRule('helper', 'Red?'),
    ])
    const first = await cli.troupe('run', 'team', 'Paint.', '--team', 'one.yaml', '--model', model, '--no-tools')
    expect(first).toMatchObject({ code: 3, out: 'Red?\n' })
    expect(first.err).toMatch(/troupe chat --resume r_/)
    const [, gate = ''] = /troupe answer (g_\w+)/.exec(first.err) ?? []
    const second = await cli.troupe('answer', gate, 'no')
    expect(second).toMatchObject({ code: 3, out: 'And blue?\n' })
    expect(second.err).toMatch(/route: helper → user → helper/)
  })

  test('TM39 L1 an invalid team is reported as by team check, with exit 2, and nothing is stored', async () => {
    const cli = await createCliFixture()
    await cli.write(
      'bad.yaml',
      'name: Bad\nagents: [{ name: writer }]\nhandoffs: [{ from_agent: writer, to_agent: writr }]\n',
    )
    const refused = await cli.troupe('run', 'team', 'Go.', '--team', 'bad.yaml')
    expect(refused).toMatchObject({ code: 2, out: '' })
    expect(refused.err).toMatch(/bad\.yaml:3:\d+\n {2}no agent or group 'writr'/)
    const json = await cli.troupe('run', 'team', 'Go.', '--team', 'bad.yaml', '--json')
    expect(json.code).toBe(2)
    expect(JSON.parse(json.out)).toMatchObject({
      run_id: null,
      error: { message: expect.stringMatching(/bad\.yaml:3/) },
    })
    const agents = 'agents: [{ name: a }, { name: b }]'
    const circle = '[{ from_agent: a, to_agent: b }, { from_agent: b, to_agent: a }]'
    await cli.write('endless.yaml', `name: Endless\n${agents}\nhandoffs: ${circle}\n`)
    for (const command of [
      ['run', 'team', 'Go.', '--team', 'endless.yaml'],
      ['chat', 'endless.yaml'],
    ]) {
      const endless = await cli.troupe(...command)
      expect(endless).toMatchObject({ code: 2, out: '' })
      expect(endless.err).toMatch(/a → b → a never ends/)
    }
    const none = await cli.troupe('run', 'team', 'Go.')
    expect(none.err).toMatch(/--team is missing\n.*--team FILE/)
    const wrong = await cli.troupe(
      'run',
      'team',
      'Go.',
      '--team',
      await cli.write('r.yaml', REVIEW_TEAM),
      '--set',
      'stric=1',
    )
    expect(wrong).toMatchObject({ code: 2 })
    expect(wrong.err).toMatch(/no variable 'stric'; known: strict/)
    expect(existsSync(join(cli.folder, '.troupe'))).toBe(false)
  })
})

describe('steering from another process', () => {
  test('L39 pause, step and continue work, and a paused run needs no process', async () => {
    const cli = await createCliFixture()
    const model = await startManualModel()
    const { run, id } = await startManualRun(cli, model)
    const writing = await model.nextTurn('writer')
    const busy = await cli.troupe('chat', '--resume', id)
    expect(busy).toMatchObject({
      code: 1,
      err: expect.stringMatching(/r_\w+ is running in another process[\s\S]*troupe watch/),
    })
    const paused = await cli.troupe('steer', id, 'pause')
    expect(paused).toMatchObject({ code: 0, out: `recorded; ${id} applies it before the next turn\n` })
    await run.waitFor(/user requests: pause/)
    writing.answer('A draft.', { holds: [true] })
    const first = await run.done
    expect(first.code).toBe(3)
    expect(first.err).toMatch(/Paused before reviewer/)
    const step = cli.startWith(model, 'steer', id.slice(0, 8), 'step')
    const reading = await model.nextTurn('reviewer')
    reading.answer('Good.', { sets: { approved: true } })
    const stepped = await step.done
    expect(stepped.code).toBe(3)
    expect(stepped.err).toMatch(/Paused before publisher/)
    const recorded = await cli.troupe('steer', id, 'continue', '--no-wait', '--json')
    expect(JSON.parse(recorded.out)).toMatchObject({ run_id: id })
    const resumed = cli.startWith(model, 'resume', id)
    const publishing = await model.nextTurn('publisher')
    publishing.answer('It is out.')
    expect(await resumed.done).toMatchObject({ code: 0, out: 'It is out.\n' })
  })

  test('L39 next, set and say are recorded in the journal and applied once', async () => {
    const cli = await createCliFixture()
    const model = await startManualModel()
    const { run, id } = await startManualRun(cli, model)
    const writing = await model.nextTurn('writer')
    await cli.troupe('steer', id, 'set', 'strict=true')
    await cli.troupe('steer', id, 'say', 'Mind', 'the', 'tone.')
    await cli.troupe('steer', id, 'pause')
    await run.waitFor(/user requests: pause/)
    writing.answer('A draft.', { holds: [true] })
    expect((await run.done).code).toBe(3)
    const next = cli.startWith(model, 'steer', id, 'next', 'publisher', '--json')
    const publishing = await model.nextTurn('publisher')
    publishing.answer('It is out.')
    const { output } = JSON.parse((await next.done).out)
    expect(output).toMatchObject({ agent: 'publisher', variables: { strict: true } })
    const events = (await cli.troupe('show', id, '--events', '--json')).out.trim().split('\n')
    const steered = events.map((text) => JSON.parse(text)).filter(({ type }) => type === 'team:steered')
    expect(steered.map(({ data }) => data.action.do)).toEqual(['set', 'say', 'pause'])
    expect(steered.every(({ data }) => data.accepted)).toBe(true)
    const shown = await cli.troupe('show', id)
    expect(shown.out).toMatch(/route: writer → publisher/)
  })

  test('L39 unknown runs and agents, wrong types, other patterns and ended runs are rejected', async () => {
    const cli = await createCliFixture()
    const run = await cli.troupe(...(await prepareReviewRun(cli)))
    const [, id = ''] = /(r_[0-9a-f]{12}) started/.exec(run.err) ?? []
    const model = await cli.script('t.json', singleAnswerScript('Hi.'))
    const other = await cli.troupe('run', 'task', 'hi', '--agent', 'default', '--model', model, '--json', '--no-tools')
    const task = JSON.parse(other.out).run_id as string
    const refusals: [string[], RegExp][] = [
      [['r_nowhere', 'pause'], /no run 'r_nowhere'/],
      [[task, 'pause'], /is a run of the pattern 'task', not of 'team'/],
      [[id, 'next', 'publishr'], /no agent or group 'publishr'; known: publisher/],
      [[id, 'set', 'strict=maybe'], /'strict' must be a boolean, not 'maybe'/],
      [[id, 'set', 'stric=true'], /no variable 'stric'; known: strict/],
      [[id, 'set', 'round=1'], /'round' is a system variable/],
      [[id, 'set', 'strict'], /'strict' is not NAME=VALUE/],
    ]
    for (const [args, problem] of refusals) {
      const refused = await cli.troupe('steer', ...args)
      expect({ args, code: refused.code, out: refused.out }).toEqual({ args, code: 2, out: '' })
      expect(refused.err.replaceAll(/\s+/g, ' ')).toMatch(problem)
    }
    const ended = await cli.troupe('steer', id, 'pause', '--json')
    expect(ended.code).toBe(1)
    expect(JSON.parse(ended.out).error).toMatchObject({ code: 'run_ended' })
  })

  test('L39 a handoff that needs approval waits in the inbox and is approved with answer', async () => {
    const cli = await createCliFixture()
    await cli.write('gate.yaml', APPROVAL_TEAM)
    const model = await cli.script('s.json', [replyRule('writer', 'Draft.'), replyRule('editor', 'Edited.')])
    const parked = await cli.troupe('run', 'team', 'Go.', '--team', 'gate.yaml', '--model', model, '--no-tools')
    expect(parked.code).toBe(3)
    expect(parked.err).toMatch(/writer wants to hand off to editor: "always" holds/)
    const [, gate = ''] = /troupe answer (g_\w+)/.exec(parked.err) ?? []
    const approved = await cli.troupe('answer', gate, 'yes')
    expect(approved).toMatchObject({ code: 0, out: 'Edited.\n' })
    expect(approved.err).toMatch(/route: writer → editor/)
  })

  test('L39 an action for a team that waits for another question is applied when it continues', async () => {
    const cli = await createCliFixture()
    await cli.write(
      'two.yaml',
      'name: Two\nagents: [{ name: helper }, { name: other }]\nentry: helper\nhandoffs: [{ from_agent: user, to_agent: other, condition: "1 > 2" }]\n',
    )
    const model = await cli.script('s.json', [replyRule('helper', 'Yes?'), replyRule('other', 'I am another.')])
    const run = await cli.troupe('run', 'team', 'Hi.', '--team', 'two.yaml', '--model', model, '--no-tools')
    const [, id = ''] = /(r_[0-9a-f]{12}) started/.exec(run.err) ?? []
    const recorded = await cli.troupe('steer', id, 'next', 'other')
    expect(recorded).toMatchObject({ code: 0, out: expect.stringMatching(/applies it when it continues/) })
    const message = await cli.troupe('steer', id, 'say', 'go on')
    expect(message).toMatchObject({ code: 3, out: 'I am another.\n' })
  })
})

describe('crash recovery of a team', () => {
  test('L11 a team killed during a turn resumes with the agent that has the turn', async () => {
    const cli = await createCliFixture()
    const run = cli.start(...(await prepareReviewRun(cli, reviewScript({ reviewer: LONG }))))
    const id = await waitForRunId(run)
    await run.waitFor(/reviewer {2}round 2/)
    run.kill('SIGKILL')
    await run.done
    // The writer would now decide differently; recorded handoffs stay.
    const [, , ...rest] = reviewScript()
    await cli.script('s.json', [replyRule('writer', 'Never parked.', { holds: [false] }), ...rest])
    const resumed = await cli.troupe('resume', id)
    expect(resumed.err).toMatch(/resumed/)
    expect(resumed.err).toMatch(/reviewer → writer {2}not approved/)
    const shown = await cli.troupe('show', id)
    expect(shown.out).toMatch(/route: writer → reviewer → writer/)
    expect(shown.out).toMatch(/The first draft\./)
    const checked = await cli.troupe('verify', id)
    expect(checked.code).toBe(0)
  })
})
