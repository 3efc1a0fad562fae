import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Model, ModelRequest } from '../../src/entries/models.ts'
import type { Troupe } from '../../src/index.ts'
import { createTroupe } from '../../src/index.ts'
import { agent, runToEnd } from '../support/test-troupe.ts'
import type { CliFixture } from './cli-fixture.ts'
import { createCliFixture } from './cli-fixture.ts'
import type { MockProvider } from './mock-provider.ts'
import { MOCK_API_KEY, startMockProvider } from './mock-provider.ts'

/** Reports 1,000 and 100 tokens, or none if `silent`; without a text it never responds. */
function model(name: string, respond: (request: ModelRequest) => string | undefined, silent = false): Model {
  return {
    name,
    async *stream(request, signal) {
      const text = respond(request)
      if (text === undefined)
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      else if (text.startsWith('task ')) {
        const [, name, ...rest] = text.split(' ')
        yield { type: 'tool-call', id: 'c1', name: 'task', input: { agent: name, instruction: rest.join(' ') } }
      } else yield { type: 'text', text }
      const usage = { input: 1000, output: 100, cache_read: 400, cache_write: 200, reasoning: 50 }
      yield { type: 'finish', stop: 'end', ...(silent ? undefined : { usage }) }
    },
  }
}

const PRICES = {
  updated: '2026-11-15',
  prices: [{ model: 'acme/*', from: '2020-01-01', usd_per_million: { input: 10, output: 100 } }],
}

function openCostTroupe(cli: CliFixture): Promise<Troupe> {
  const custom = [
    model('acme/lead', ({ session }) => (session.turn === 1 ? 'task helper find it' : 'Done.')),
    model('secret/helper', () => 'Found.'),
    model('acme/never', () => undefined),
    model('acme/silent', () => 'Done.', true),
  ]
  const agents = [
    agent('lead', { model: 'acme/lead', tools: ['task'] }),
    agent('helper', { model: 'secret/helper', tools: [] }),
    agent('sleeper', { model: 'acme/never', tools: [], timeout_ms: 30 }),
    agent('silent', { model: 'acme/silent', tools: [] }),
  ]
  return createTroupe({ store: join(cli.folder, '.troupe'), models: { custom }, agents })
}

/** Creates three runs: one with an unpriced model, one that times out, one without reported usage. */
async function createRuns(cli: CliFixture): Promise<{ runs: string[] }> {
  await using troupe = await openCostTroupe(cli)
  const runs: string[] = []
  for (const name of ['lead', 'sleeper', 'silent']) {
    runs.push((await runToEnd(troupe, 'task', { agent: name, instruction: 'go' })).run_id)
  }
  await cli.write('prices.json', PRICES)
  return { runs }
}

describe('troupe cost', () => {
  test('AC8 cost is a table within the width, sorted by cost, with a total; unknown prices are noted', async () => {
    const cli = await createCliFixture()
    await createRuns(cli)
    for (const columns of [60, 24, 120]) {
      const env = { COLUMNS: String(columns) }
      const { out, err } = await cli.troupeWith({ env }, 'cost', '--by', 'model', '--prices', 'prices.json')
      for (const line of `${out}${err}`.split('\n')) expect(line.length, line).toBeLessThanOrEqual(columns)
    }
    const narrow = { env: { COLUMNS: '60' } }
    const { out, err, code } = await cli.troupeWith(narrow, 'cost', '--by', 'model', '--prices', 'prices.json')
    expect(code).toBe(0)
    const lines = out.trimEnd().split('\n')
    const cells = lines.map((line) => line.trim().split(/ {2,}/))
    expect(cells[0]).toEqual(['model', 'calls', 'cost', 'input', 'output', 'lost', 'cached'])
    expect(cells.map(([name]) => name)).toEqual([
      'model',
      'acme/silent',
      'acme/lead',
      'secret/helper',
      'acme/never',
      'total',
    ])
    expect(cells[2]).toEqual(['acme/lead', '2', '$0.0400', '2,000', '200', '800'])
    expect(cells[3]?.[2]).toBe('?')
    expect(cells.at(-1)?.[2]).toMatch(/^\$\d+\.\d+\+\?$/)
    const notes = err.replace(/\s+/g, ' ')
    expect(notes).toMatch(/1 call without a known price \(secret\/helper\); pass --prices FILE/)
    expect(notes.replace(/\s+/g, ' ')).toContain(
      'to "prices" of FILE: {"model": "secret/helper", "usd_per_million": {"inp',
    )
    expect(notes).toMatch(/1 call lost in a crash or an abort: at most [\d,]+ tokens, \$\d/)
    expect(notes).toMatch(/1 call without usable usage figures: estimated at [\d,]+ tokens/)
  })

  test('AC9 cost covers all runs or one, by group and since a day', async () => {
    const cli = await createCliFixture()
    const { runs } = await createRuns(cli)
    const groups = async (...argv: string[]) => {
      const { out } = await cli.troupe('cost', '--json', '--prices', 'prices.json', ...argv)
      return (JSON.parse(out) as { groups: { group: string }[] }).groups.map(({ group }) => group)
    }
    const today = new Date().toISOString().slice(0, 10)
    expect(await groups()).toEqual(runs.toReversed())
    expect(await groups(runs[0] ?? '')).toEqual(['lead', 'helper'])
    expect(await groups('--by', 'day')).toEqual([today])
    expect(await groups('--by', 'phase')).toEqual(['turn'])
    expect((await groups('--by', 'session')).length).toBe(4)
    expect(await groups('--since', today)).toEqual(runs.toReversed())
    expect(await groups('--since', '2999-01-01')).toEqual([])
    const later = await cli.troupe('cost', '--since', '2999-01-01')
    expect(later).toMatchObject({ code: 0, out: '' })
    expect(later.err).toMatch(/no model requests since 2999-01-01/)
  })

  test('AC16 cost prints tables by pattern, model, agent and run, with at most 20 groups each unless --all', async () => {
    const cli = await createCliFixture()
    const { runs } = await createRuns(cli)
    await using troupe = await openCostTroupe(cli)
    for (let n = 0; n < 22; n++)
      runs.push((await runToEnd(troupe, 'task', { agent: 'helper', instruction: `go ${n}` })).run_id)
    const { out } = await cli.troupe('cost', '--prices', 'prices.json')
    const titles = [...out.matchAll(/^(\w+) +calls/gm)].map(([, title]) => title)
    expect(titles).toEqual(['pattern', 'model', 'agent', 'run'])
    expect(runs.toReversed().filter((id) => out.includes(id))).toEqual(runs.toReversed().slice(0, 20))
    expect(out).toMatch(new RegExp(`^total +${runs.length + 1} `, 'm'))
    expect(out).toContain(`… and ${runs.length - 20} more (--all)`)
    const all = await cli.troupe('cost', '--by', 'run', '--all')
    expect(runs.every((id) => all.out.includes(id))).toBe(true)
    expect(all.out).not.toContain('more (--all)')
  })

  test('AC10 --json has the groups that the table has and the number of the others, with --all every group', async () => {
    const cli = await createCliFixture()
    const { runs } = await createRuns(cli)
    await using troupe = await openCostTroupe(cli)
    for (let n = 0; n < 22; n++)
      runs.push((await runToEnd(troupe, 'task', { agent: 'helper', instruction: `go ${n}` })).run_id)
    const costs = async (...args: string[]) => JSON.parse((await cli.troupe('cost', '--json', ...args)).out)
    const shown = await costs()
    const idsOf = ({ groups }: { groups: { group: string }[] }) => groups.map(({ group }) => group)
    expect(idsOf(shown)).toEqual(runs.toReversed().slice(0, 20))
    expect(shown).toMatchObject({ more: runs.length - 20, total: { calls: runs.length + 1 } })
    const all = await costs('--all')
    expect(idsOf(all)).toEqual(runs.toReversed())
    expect(all).toMatchObject({ more: 0, total: shown.total })
  })

  test('AC9 an invalid --since, --by or --prices is rejected with a hint', async () => {
    const cli = await createCliFixture()
    await cli.write('bad.json', { updated: 'x', prices: [{ model: 'a/b' }] })
    for (const day of ['yesterday', '2026-02-30', '2026-1-1']) {
      const { code, err } = await cli.troupe('cost', '--since', day)
      expect(code).toBe(2)
      expect(err).toMatch(/--since 2026-11-15/)
    }
    expect((await cli.troupe('cost', '--by', 'colour')).code).toBe(2)
    const prices = await cli.troupe('cost', '--prices', 'bad.json')
    expect(prices.code).toBe(1)
    expect(prices.err).toMatch(/bad\.json: updated: must be a date/)
  })

  test('AC10 --json prints one object with groups, total and unpriced models', async () => {
    const cli = await createCliFixture()
    const { runs } = await createRuns(cli)
    const { out } = await cli.troupe('cost', runs[0] ?? '', '--json', '--by', 'agent', '--prices', 'prices.json')
    const record = JSON.parse(out)
    expect(Object.keys(record)).toEqual(['by', 'since', 'groups', 'more', 'total', 'unpriced_models', 'inherited'])
    expect(record).toMatchObject({
      by: 'agent',
      since: null,
      groups: [
        {
          group: 'lead',
          calls: 2,
          usd: 0.04,
          usage: { input: 2000, cache_read: 800, cache_write: 400, reasoning: 100 },
        },
        { group: 'helper', calls: 1, usd: null, known_usd: 0, unpriced: 1 },
      ],
      total: { calls: 3, usd: null, known_usd: 0.04 },
      unpriced_models: ['secret/helper'],
      inherited: 0,
    })
  })

  test('AC7 requests copied by a fork are counted in the original run', async () => {
    const cli = await createCliFixture()
    const { runs } = await createRuns(cli)
    await using troupe = await openCostTroupe(cli)
    const [run = ''] = runs
    const end = (await troupe.events(run).all()).find(({ type }) => type === 'run:end')
    const fork = await troupe.fork(run, (end?.seq ?? 1) - 1)
    expect((await fork.result).status).toBe('completed')
    const { total, inherited } = JSON.parse((await cli.troupe('cost', '--json')).out)
    expect({ calls: total.calls, inherited }).toEqual({ calls: 4, inherited: 3 })
    expect((await cli.troupe('cost', fork.run_id)).err).toMatch(/3 calls copied by a fork/)
  })
})

describe('troupe doctor and models', () => {
  let mock: MockProvider
  beforeAll(async () => {
    mock = await startMockProvider()
  })
  afterAll(() => mock.stop())
  const claude = () => ({ ANTHROPIC_API_KEY: MOCK_API_KEY, ANTHROPIC_BASE_URL: mock.url })

  test('AC11 doctor lists the detected providers and the model of each role with the reason', async () => {
    const cli = await createCliFixture()
    const env = { ...claude(), TROUPE_MODEL_FAST: 'ollama/llama3' }
    const { out, code } = await cli.troupeWith({ env }, 'doctor')
    expect(code).toBe(0)
    expect(out).toMatch(/✓ models\s+anthropic \(ANTHROPIC_API_KEY is set\)/)
    expect(out).toMatch(/✓ fast\s+ollama\/llama3: set by TROUPE_MODEL_FAST/)
    expect(out).toMatch(/✓ reasoning anthropic\/claude-\S+: default reasoning model of anthropic\s+\(ANTHROPIC_API_KEY/)
    expect(out).not.toContain(MOCK_API_KEY)
    const given = await cli.troupe('doctor', '--model', 'scripted:a.json')
    expect(given.out).toMatch(/✓ general\s+scripted:\S+a\.json: set by\s+--model/)
  })

  test('AC11 without a provider doctor lists the variables to set', async () => {
    const { out, code } = await (await createCliFixture()).troupe('doctor')
    expect(code).toBe(0)
    expect(out).toMatch(/! models\s+no provider found\s+set ANTHROPIC_API_KEY \(anthropic\), OPENAI_API_KEY \(openai\)/)
    expect(out).toMatch(/scripted:FILE/)
  })

  test('AC12 a role without API key or with an unknown provider is reported and fails doctor', async () => {
    const cli = await createCliFixture()
    const env = { TROUPE_MODEL_FAST: 'antropic/x', TROUPE_MODEL_GENERAL: 'openai-chat/gpt-5', TROUPE_MODEL: 'ollama/a' }
    const { out, code } = await cli.troupeWith({ env }, 'doctor')
    expect(code).toBe(1)
    expect(out).toMatch(/✗ fast\s+antropic\/x: no provider 'antropic'\s+known providers: anthropic, /)
    expect(out).toMatch(/✗ general\s+openai-chat\/gpt-5: OPENAI_API_KEY is not set/)
    expect(out).toMatch(/✓ reasoning ollama\/a: set by TROUPE_MODEL/)
  })

  test('AC13 doctor --call sends one request per model and shows latency and tokens', async () => {
    const cli = await createCliFixture()
    const usage = { input_tokens: 31, output_tokens: 2 }
    await mock.setFixtures([{ match: { userMessage: 'Are you there?' }, response: { content: 'yes', usage } }])
    const env = { ...claude(), TROUPE_MODEL_REASONING: 'anthropic/claude-haiku-5-5' }
    const { out, code } = await cli.troupeWith({ env }, 'doctor', '--call', '--json')
    expect(code).toBe(0)
    const { calls } = JSON.parse(out) as { calls: { model: string; ok: boolean; latency_ms: number; usage: object }[] }
    expect(calls.map(({ model: name, ok }) => [name, ok])).toEqual([
      ['anthropic/claude-haiku-5-5', true],
      ['anthropic/claude-sonnet-5-5', true],
    ])
    for (const call of calls) expect(call.usage).toMatchObject({ input: 31, output: 2 })
    expect((await mock.requests()).length).toBe(2)
    const checked = await cli.troupeWith({ env }, 'doctor', '--call', 'anthropic/claude-haiku-5-5')
    expect(checked.out).toMatch(
      /✓ call\s+anthropic\/claude-haiku-5-5 responded in \S+: 31 tokens in, 2 out,\s+<\$0\.0001/,
    )
  })

  test('AC13 a failed test request is shown with its hint, not retried, and shows no API key', async () => {
    const cli = await createCliFixture()
    await mock.setFixtures([{ match: { userMessage: 'there' }, response: { error: { message: 'busy' }, status: 500 } }])
    const env = { ...claude(), OPENAI_API_KEY: 'sk-wrong-0123456789', OPENAI_BASE_URL: mock.url }
    const names = ['anthropic/claude-haiku-5-5', 'openai/gpt-5', 'google/gemini-2.5-flash', 'nonsense']
    const { out, code } = await cli.troupeWith({ env }, 'doctor', '--call', ...names)
    expect(code).toBe(1)
    const text = out.replace(/\s+/g, ' ')
    expect(text).toMatch(/✗ call anthropic\/claude-haiku-5-5: model_failed: .*busy/)
    expect(text).toMatch(/✗ call openai\/gpt-5: model_auth: .*OPENAI_API_KEY/)
    expect(text).toMatch(/✗ call google\/gemini-2.5-flash: model_auth: .*set GOOGLE_GENERATIVE_AI_API_KEY/)
    expect(text).toMatch(/✗ call nonsense: unknown_model/)
    expect(text).not.toMatch(/sk-wrong|test-key-of-the-mock/)
    expect((await mock.requests()).filter(({ response }) => response.status === 500).length).toBe(1)
  })
})
