import type { ErrorRecord } from '../../errors.ts'
import { nearestNames } from '../../errors.ts'
import type { Agent, DetectedModels, Troupe } from '../../index.ts'
import type { Cli } from './cli.ts'
import { modelName } from './open-troupe.ts'
import type { DoctorCheck } from './render/doctor-checks.ts'
import { errorSummary } from './render/error-lines.ts'
import { formatDuration, formatUsd, pluralize } from './render/format-amount.ts'

/** What is configured, as runs would find it: variables and options, nothing is called. */
export async function detectConfiguredModels(cli: Cli): Promise<DetectedModels> {
  const { detectModels } = await import('../../index.ts')
  const model = modelName(cli)
  const detected = detectModels(process.env, model === undefined ? {} : { model })
  const by = cli.options.model ? '--model' : 'TROUPE_MODEL'
  for (const choice of Object.values(detected.roles)) if (choice.model === model) choice.reason = `set by ${by}`
  return detected
}

/** What was found, and what each role therefore uses and why. */
export function modelChecks(detected: DetectedModels): DoctorCheck[] {
  const { roles, found } = detected
  const chosen = Object.entries(roles)
  const seen = found.map(({ provider, reason }) => `${provider} (${reason})`).join(', ')
  const providers: DoctorCheck = {
    name: 'models',
    status: 'ok',
    message: seen === '' ? 'no provider found' : seen,
    hint: '',
  }
  if (chosen.length === 0) return [{ ...providers, status: 'warning', hint: setupHint(detected) }]
  if (seen === '') providers.message = 'by name only: no key and no address is set'
  return [providers, ...chosen.map(([role, { model, reason }]) => roleCheck(role, { model, why: reason }, detected))]
}

function roleCheck(
  role: string,
  { model, why }: { model: string; why: string },
  detected: DetectedModels,
): DoctorCheck {
  const problem = parseModelList(model)
    .map((name) => modelProblem(name, detected))
    .find((found) => found !== undefined)
  if (problem) return { name: role, status: 'error', message: `${model}: ${problem.words}`, hint: problem.hint }
  return { name: role, status: 'ok', message: `${model}: ${why}`, hint: '' }
}

const ROLE_NAMES = new Set(['fast', 'general', 'reasoning', 'haiku', 'sonnet', 'opus', 'fable'])

/** What is wrong with a name, as far as can be told without a call. */
function modelProblem(name: string, detected: DetectedModels): { words: string; hint: string } | undefined {
  if (name.startsWith('scripted:') || ROLE_NAMES.has(name.toLowerCase())) return undefined
  const [given = ''] = name.split('/', 1)
  const provider = given === 'openai-chat' ? 'openai' : given
  if (detected.found.some((one) => one.provider === provider)) return undefined
  const known = [...detected.found, ...detected.missing].map((one) => one.provider)
  const missing = detected.missing.find((one) => one.provider === provider)
  if (missing && name.includes('/')) {
    // Local servers are asked at their usual address; only a key, or an address without a usual one, must be set.
    const needed = missing.variable.endsWith('_API_KEY') || provider === 'compatible'
    return needed ? { words: `${missing.variable} is not set`, hint: `set ${missing.variable}` } : undefined
  }
  const words = name.includes('/') ? `there is no provider '${given}'` : 'models are named provider/model'
  return { words, hint: `providers are: ${nearestNames(provider, known).join(', ')}; a program can bring others` }
}

function setupHint({ missing, found }: DetectedModels): string {
  const [local] = found
  const which = local
    ? `name a model: TROUPE_MODEL=${local.provider}/NAME`
    : `set ${missing.map(({ variable, provider }) => `${variable} (${provider})`).join(', ')}`
  return `${which}; or pass --model provider/model; offline: --model scripted:FILE`
}

/** `a/x, b/y`: a model and its fallbacks. The name of a script may hold anything. */
function parseModelList(list: string): string[] {
  if (list.startsWith('scripted:')) return [list]
  const names = list.split(',').map((name) => name.trim())
  return names.filter((name) => name !== '')
}

/** The models that the roles use, each once. */
export function roleModels({ roles }: DetectedModels): string[] {
  return [...new Set(Object.values(roles).flatMap(({ model }) => parseModelList(model)))]
}

/** How one model answered. */
export interface ModelTest {
  model: string
  ok: boolean
  latency_ms: number
  usage: { input: number; output: number; usd: number | null } | null
  error: ErrorRecord | null
}

const PROBE: Agent = {
  name: 'doctor',
  description: 'Asks whether a model answers.',
  instructions: 'You are asked whether you are there. Answer with the one word: yes',
  tools: [],
  timeout_ms: 60_000,
}
// Enough for a model that thinks first; the answer itself is one word.
const PROBE_LIMITS = { calls: 1, output: 512, concurrency: 4 }

/** Asks each model one short question, in a run of its own that leaves nothing behind. Nothing is tried twice. */
export async function testModels(names: readonly string[]): Promise<ModelTest[]> {
  const { createTroupe } = await import('../../index.ts')
  const engine = { retryPolicy: { ready: () => undefined, next: () => undefined } }
  await using troupe = await createTroupe({ store: 'memory', agents: [PROBE], limits: PROBE_LIMITS, engine })
  return await Promise.all(names.map((name) => testModel(troupe, name)))
}

async function testModel(troupe: Troupe, model: string): Promise<ModelTest> {
  const { isEvent } = await import('../../index.ts')
  const result = await troupe.run('task', { agent: PROBE.name, instruction: 'Are you there?' }, { model })
  const events = await troupe.events(result.run_id)
  const begun = events.find((event) => isEvent(event, 'model:begin'))
  const end = events.find((event) => isEvent(event, 'model:end'))
  const failure = events.find((event) => isEvent(event, 'model:error'))
  const latency_ms = begun ? ((end ?? failure)?.at ?? begun.at) - begun.at : 0
  const name = begun?.data.model ?? model
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
    const price = usage.usd === null ? 'price not known' : formatUsd(usage.usd)
    return {
      name: 'call',
      status: 'ok',
      message: `${model} answered in ${formatDuration(latency_ms)}: ${tokens}, ${price}`,
      hint: '',
    }
  }
  const words = error ? errorSummary(error) : 'it gave no answer'
  return { name: 'call', status: 'error', message: `${model}: ${words}`, hint: error?.hint ?? '' }
}
