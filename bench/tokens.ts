import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Troupe } from '../src/index.ts'
import { createTroupe } from '../src/index.ts'
import type { ProviderResponse } from '../test/e2e/provider-responses.ts'
import { assertEqual } from './bench.ts'
import { countCached } from './cached-share.ts'
import { commonPrefixLength } from './common-prefix.ts'
import type { SentRequest, WireDialect, WireRequest } from './wire-requests.ts'
import { DIALECTS, loadWireModel, toTokens } from './wire-requests.ts'

/* npm run bench:tokens [-- --requests] [--tools] [--dialect NAME] [--json FILE] */

const QUESTION = 'What is the capital of France?'
const PROSE = 'The capital of France is Paris. It has been the seat of government for centuries.'
const SPECIALISTS = ['historian', 'geographer', 'lawyer']

type Run = (troupe: Troupe) => Promise<unknown>

interface Scenario {
  name: string
  /** The calls that a model which answers in prose needs at least. */
  calls: number
  run: Run
  respond?(request: WireRequest): ProviderResponse
}

function start(pattern: string, input: object): Run {
  return async (troupe) => {
    const { status, error } = await troupe.run(pattern, input)
    assertEqual(status, 'completed', `${pattern} (${error?.message})`)
  }
}

function collaborate(options: object): Run {
  return start('collaborate', { task: QUESTION, agents: SPECIALISTS.map((name) => ({ name, role: name })), ...options })
}

const member = (name: string, role: string) => ({ name, role, instructions: `You are the ${name} of the desk.` })

const TEAM = {
  name: 'Desk',
  description: 'answers questions of readers',
  agents: [member('writer', 'drafts'), member('editor', 'edits'), member('checker', 'checks facts')],
  handoffs: [
    { from_agent: 'writer', to_agent: 'editor' },
    { from_agent: 'editor', to_agent: 'checker' },
  ],
  after_work_behavior: 'terminate',
}

async function chat(troupe: Troupe): Promise<void> {
  const first = await troupe.run('task', { agent: 'default', instruction: QUESTION })
  assertEqual(first.status, 'completed', 'the first message')
  const { session_id } = first.output as { session_id: string }
  await start('task', { session_id, instruction: 'And of Italy?' })(troupe)
}

/** The first agent delegates once, then answers. */
function delegate({ tools, messages }: WireRequest): ProviderResponse {
  const mayDelegate = tools.some((tool) => tool.includes('"name":"task"'))
  const input = { agent: 'researcher', instruction: QUESTION }
  return mayDelegate && messages.length === 1
    ? { call: { name: 'task', arguments: JSON.stringify(input) } }
    : { text: PROSE }
}

const BRIEF = 'The archive holds letters, maps and accounts of the city. '.repeat(145)

function readFourTimes({ messages }: WireRequest): ProviderResponse {
  const results = messages.filter((message) =>
    /tool_result|function_call_output|"role":"tool"|functionResponse/.test(message),
  )
  if (results.length >= 4) return { text: PROSE }
  return { call: { name: 'Read', arguments: JSON.stringify({ file_path: 'README.md', offset: results.length + 1 }) } }
}

/** One request reads the recommendations of all answers in prose. */
function extract({ schema, tools }: WireRequest): ProviderResponse {
  if (![schema, ...tools].some((text) => text.includes('"answers"'))) return { text: PROSE }
  const answers = SPECIALISTS.map((_, index) => ({ answer: index + 1, recommendation: 'Paris' }))
  return { text: JSON.stringify({ answers }) }
}

/** The coordinator divides the task; the specialists answer in prose. */
function divide({ schema, tools }: WireRequest): ProviderResponse {
  if (![schema, ...tools].some((text) => text.includes('"assignments"'))) return { text: PROSE }
  const assignments = SPECIALISTS.slice(1).map((agent) => ({ agent, subtask: QUESTION, depends_on: [] }))
  return { text: JSON.stringify({ plan: 'each answers', assignments }) }
}

const SCENARIOS: readonly Scenario[] = [
  { name: 'task', calls: 1, run: start('task', { instruction: QUESTION }) },
  { name: 'sub-task', calls: 3, run: start('task', { instruction: QUESTION }), respond: delegate },
  { name: 'chat, 2 messages', calls: 2, run: chat },
  { name: 'collaborate, parallel', calls: 4, run: collaborate({ synthesis: 'coordinator' }) },
  { name: 'collaborate, sequential', calls: 4, run: collaborate({ mode: 'sequential', synthesis: 'coordinator' }) },
  {
    name: 'collaborate, hierarchical',
    calls: 4,
    run: collaborate({ mode: 'hierarchical', synthesis: 'coordinator' }),
    respond: divide,
  },
  {
    ...{ name: 'collaborate, vote', calls: 4, run: collaborate({ synthesis: 'vote', categories: ['Paris', 'Lyon'] }) },
    respond: extract,
  },
  { name: 'team of 3', calls: 3, run: start('team', { team: TEAM, message: QUESTION }) },
  { name: 'task, 4 tool calls', calls: 5, run: start('task', { instruction: QUESTION }), respond: readFourTimes },
  {
    name: 'sequential, 8 KB of context',
    calls: 4,
    run: collaborate({ mode: 'sequential', context: { brief: BRIEF } }),
  },
  { name: 'team of 3, task of 8 KB', calls: 3, run: start('team', { team: TEAM, message: BRIEF }) },
]

interface RequestTokens {
  tools: number
  instructions: number
  schema: number
  /** Messages that another request of the run begins with, too. */
  shared: number
  /** The messages of this request alone. */
  own: number
  total: number
  /** The part of it that the provider bills as cached. */
  cached: number
  toolCount: number
}

interface CountedRequest extends RequestTokens {
  /** The tokens of each definition, by the name of the tool. */
  definitions: Record<string, number>
}

function countTokens(requests: readonly SentRequest[], { name }: WireDialect): CountedRequest[] {
  const cacheCounts = countCached(requests, name === 'Anthropic')
  const texts = requests.map(({ messages }) => messages.join('\n'))
  return requests.map(({ tools, instructions, schema }, index) => {
    const text = texts[index] ?? ''
    const prefixes = texts.map((other, at) => (at === index ? 0 : commonPrefixLength(other, text)))
    const shared = toTokens(Math.max(0, ...prefixes))
    const counts = {
      tools: toTokens(tools.join('\n').length),
      instructions: toTokens(instructions.length),
      schema: toTokens(schema.length),
      shared,
      own: toTokens(text.length) - shared,
    }
    const total = Object.values(counts).reduce((sum, count) => sum + count, 0)
    const { chars = 0, cached = 0 } = cacheCounts[index] ?? {}
    const definitions = Object.fromEntries(
      tools.map((tool) => [/"name":"([^"]*)"/.exec(tool)?.[1] ?? '?', toTokens(tool.length)]),
    )
    const share = chars === 0 ? 0 : cached / chars
    return { ...counts, total, cached: Math.round(total * share), toolCount: tools.length, definitions }
  })
}

async function measure(
  { respond = () => ({ text: PROSE }), run }: Scenario,
  dialect: WireDialect,
): Promise<CountedRequest[]> {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-tokens-'))
  writeFileSync(join(folder, 'README.md'), '# A project\n')
  try {
    const { model, sent } = await loadWireModel(dialect, respond)
    const troupe = await createTroupe({ store: 'memory', model, embedder: false, workspace: { workspace: folder } })
    await run(troupe)
    await troupe.close()
    return countTokens(sent, dialect)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

const COLUMNS = ['tools', 'instructions', 'schema', 'shared', 'own'] as const

function formatRow(label: string, requests: readonly RequestTokens[]): string {
  const sum = (field: keyof RequestTokens) => requests.reduce((total, request) => total + request[field], 0)
  const total = sum('total')
  const shares = COLUMNS.map((column) => {
    const share = total === 0 ? 0 : (100 * sum(column)) / total
    return `${String(sum(column)).padStart(6)} ${`${share.toFixed(0)} %`.padStart(5)}`
  })
  const toolCount = Math.max(...requests.map((request) => request.toolCount))
  return `${label.padEnd(28)}${String(requests.length).padStart(5)}${String(total).padStart(8)}${shares.join('')}${String(toolCount).padStart(6)}${`${((100 * sum('cached')) / total).toFixed(0)} %`.padStart(8)}`
}

const { values } = parseArgs({
  options: {
    ...{ requests: { type: 'boolean' }, tools: { type: 'boolean' } },
    ...{ dialect: { type: 'string' }, json: { type: 'string' } },
  },
})
const dialects = DIALECTS.filter(({ name }) => values.dialect === undefined || name === values.dialect)
if (dialects.length === 0)
  throw new Error(`unknown dialect '${values.dialect}'; known: ${DIALECTS.map(({ name }) => name).join(', ')}`)
print('Input tokens of each pattern with default settings and a workspace, one token per four characters of JSON.')
print('The model answers in prose. shared: messages that another request of the run begins with, too.')
print('cached: the share that the provider bills as cached, from 1,024 tokens on.')
const results: Record<string, Record<string, CountedRequest[]>> = {}
for (const dialect of dialects) {
  print(
    `\n${dialect.name.padEnd(28)}calls   total       tools instructions      schema      shared         own tools  cached`,
  )
  const byScenario: Record<string, CountedRequest[]> = {}
  for (const scenario of SCENARIOS) {
    const requests = await measure(scenario, dialect)
    byScenario[scenario.name] = requests
    const target = requests.length <= scenario.calls ? '' : `  MISS: ${scenario.calls} calls`
    print(formatRow(scenario.name, requests) + target)
    if (values.requests)
      for (const [index, request] of requests.entries()) print(formatRow(`  request ${index + 1}`, [request]))
    const definitions = Object.entries(Object.assign({}, ...requests.map((request) => request.definitions)))
    if (values.tools) print(`  ${definitions.map(([tool, tokens]) => `${tool} ${tokens}`).join(', ')}`)
  }
  results[dialect.name] = byScenario
}
if (values.json) writeFileSync(values.json, `${JSON.stringify(results, null, 2)}\n`)
