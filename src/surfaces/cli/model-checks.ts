import type { DetectedModels } from '../../entries/models.ts'
import type { ErrorRecord } from '../../errors.ts'
import { nearestNames } from '../../errors.ts'
import type { Agent, Troupe } from '../../index.ts'
import { errorSummary } from '../../views/content-text.ts'
import { formatDuration, formatUsd, pluralize } from '../../views/format-amount.ts'
import type { Cli } from './cli.ts'
import { modelName } from './open-troupe.ts'
import type { DoctorCheck } from './render/doctor-checks.ts'

/** Models configured by environment variables and options; sends no request. */
export async function detectConfiguredModels(cli: Cli): Promise<DetectedModels> {
  const { detectModels } = await import('../../entries/models.ts')
  const model = modelName(cli)
  const detected = detectModels(process.env, {
    ...cli.config?.options.models?.config,
    ...(model === undefined ? undefined : { model }),
  })
  const source = cli.options.model ? '--model' : process.env.TROUPE_MODEL ? 'TROUPE_MODEL' : 'the configuration'
  for (const choice of Object.values(detected.roles)) if (choice.model === model) choice.reason = `set by ${source}`
  return detected
}

/** The detected providers, and the model of each role with the reason. */
export function modelChecks(detected: DetectedModels): DoctorCheck[] {
  const { roles, found } = detected
  const chosen = Object.entries(roles)
  const providerList = found.map(({ provider, reason }) => `${provider} (${reason})`).join(', ')
  const providers: DoctorCheck = {
    name: 'models',
    status: 'ok',
    message: providerList === '' ? 'no provider found' : providerList,
    hint: '',
  }
  if (chosen.length === 0) return [{ ...providers, status: 'warning', hint: setupHint(detected) }]
  if (providerList === '') providers.message = 'configured by name only; no API key or base URL is set'
  return [providers, ...chosen.map(([role, { model, reason }]) => roleCheck(role, { model, reason }, detected))]
}

function roleCheck(
  role: string,
  { model, reason }: { model: string; reason: string },
  detected: DetectedModels,
): DoctorCheck {
  const problem = parseModelList(model)
    .map((name) => modelProblem(name, detected))
    .find((found) => found !== undefined)
  if (problem) return { name: role, status: 'error', message: `${model}: ${problem.message}`, hint: problem.hint }
  return { name: role, status: 'ok', message: `${model}: ${reason}`, hint: '' }
}

const ROLE_NAMES = new Set(['fast', 'general', 'reasoning', 'haiku', 'sonnet', 'opus', 'fable'])

/** Problems of a model name that can be found without a request. */
function modelProblem(name: string, detected: DetectedModels): { message: string; hint: string } | undefined {
  if (name.startsWith('scripted:') || ROLE_NAMES.has(name.toLowerCase())) return undefined
  const [prefix = ''] = name.split('/', 1)
  const provider = prefix === 'openai-chat' ? 'openai' : prefix
  if (detected.found.some((one) => one.provider === provider)) return undefined
  const known = [...detected.found, ...detected.missing].map((one) => one.provider)
  const missing = detected.missing.find((one) => one.provider === provider)
  if (missing && name.includes('/')) {
    // Local servers have a default URL; only an API key, or a URL without default, must be set.
    const isRequired = missing.variable.endsWith('_API_KEY') || provider === 'compatible'
    return isRequired ? { message: `${missing.variable} is not set`, hint: `set ${missing.variable}` } : undefined
  }
  const message = name.includes('/') ? `no provider '${prefix}'` : 'a model name has the form provider/model'
  return { message, hint: `known providers: ${nearestNames(provider, known).join(', ')}` }
}

function setupHint({ missing, found }: DetectedModels): string {
  const [local] = found
  const setup = local
    ? `set TROUPE_MODEL=${local.provider}/NAME`
    : `set ${missing.map(({ variable, provider }) => `${variable} (${provider})`).join(', ')}`
  return `${setup}; or pass --model provider/model; offline: --model scripted:FILE`
}

/** Splits `a/x, b/y`, a model and its fallbacks. A script path may contain commas. */
function parseModelList(list: string): string[] {
  if (list.startsWith('scripted:')) return [list]
  const names = list.split(',').map((name) => name.trim())
  return names.filter((name) => name !== '')
}

/** The distinct models of all roles. */
export function roleModels({ roles }: DetectedModels): string[] {
  return [...new Set(Object.values(roles).flatMap(({ model }) => parseModelList(model)))]
}

/** Result of one test request. */
export interface ModelTest {
  model: string
  ok: boolean
  latency_ms: number
  usage: { input: number; output: number; usd: number | null } | null
  error: ErrorRecord | null
}

const PROBE: Agent = {
  name: 'doctor',
  description: 'Tests whether a model responds.',
  instructions: 'This is a connection test. Answer with the single word: yes',
  tools: [],
  timeout_ms: 60_000,
}
// Enough for a reasoning model; the answer itself is one word.
const PROBE_LIMITS = { calls: 1, output: 512, concurrency: 4 }

/** Sends each model one short request in an in-memory run, without retries. */
export async function testModels(names: readonly string[]): Promise<ModelTest[]> {
  const { createTroupe } = await import('../../index.ts')
  const engine = { retryPolicy: { ready: () => undefined, next: () => undefined } }
  await using troupe = await createTroupe({ store: 'memory', agents: [PROBE], limits: PROBE_LIMITS, engine })
  return await Promise.all(names.map((name) => testModel(troupe, name)))
}

async function testModel(troupe: Troupe, model: string): Promise<ModelTest> {
  const { isEvent } = await import('../../index.ts')
  const probe = await troupe.stream('task', { agent: PROBE.name, instruction: 'Are you there?' }, { model })
  const result = await probe.result
  const events = await troupe.events(result.run_id).all()
  const begin = events.find((event) => isEvent(event, 'model:begin'))
  const end = events.find((event) => isEvent(event, 'model:end'))
  const failure = events.find((event) => isEvent(event, 'model:error'))
  const latency_ms = begin ? ((end ?? failure)?.at ?? begin.at) - begin.at : 0
  const name = begin?.data.model ?? model
  if (!end) return { model: name, ok: false, latency_ms, usage: null, error: failure?.data.error ?? result.error }
  const { usage, usd } = end.data
  return {
    model: name,
    ok: true,
    latency_ms,
    usage: { input: usage.input, output: usage.output, usd },
    error: null,
  }
}

export function modelTestCheck({ model, latency_ms, usage, error }: ModelTest): DoctorCheck {
  if (usage) {
    const tokens = `${pluralize(usage.input, 'token')} in, ${usage.output} out`
    const price = usage.usd === null ? 'unknown price' : formatUsd(usage.usd)
    return {
      name: 'call',
      status: 'ok',
      message: `${model} responded in ${formatDuration(latency_ms)}: ${tokens}, ${price}`,
      hint: '',
    }
  }
  const problem = error ? errorSummary(error) : 'no response'
  return { name: 'call', status: 'error', message: `${model}: ${problem}`, hint: error?.hint ?? '' }
}
