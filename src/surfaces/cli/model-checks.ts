import type { ErrorRecord } from '../../errors.ts'
import { nearest } from '../../errors.ts'
import type { Agent, Detected, Troupe } from '../../index.ts'
import type { Cli } from './cli.ts'
import { modelName } from './open.ts'
import { counted, duration, money } from './render/amounts.ts'
import type { Check } from './render/checks.ts'
import { told } from './render/error.ts'

/** What is configured, as runs would find it: variables and options, nothing is called. */
export async function detectedModels(cli: Cli): Promise<Detected> {
  const { detect } = await import('../../index.ts')
  const model = modelName(cli)
  const detected = detect(process.env, model === undefined ? {} : { model })
  const by = cli.options.model ? '--model' : 'TROUPE_MODEL'
  for (const choice of Object.values(detected.roles)) if (choice.model === model) choice.why = `${by} says so`
  return detected
}

/** What was found, and what each role therefore uses and why. */
export function modelChecks(detected: Detected): Check[] {
  const { roles, found } = detected
  const chosen = Object.entries(roles)
  const seen = found.map(({ provider, why }) => `${provider} (${why})`).join(', ')
  const providers: Check = { what: 'models', state: 'ok', words: seen === '' ? 'no provider found' : seen, hint: '' }
  if (chosen.length === 0) return [{ ...providers, state: 'note', hint: whatToSet(detected) }]
  if (seen === '') providers.words = 'by name only: no key and no address is set'
  return [providers, ...chosen.map(([role, { model, why }]) => roleCheck(role, { model, why }, detected))]
}

function roleCheck(role: string, { model, why }: { model: string; why: string }, detected: Detected): Check {
  const problem = namesIn(model)
    .map((name) => problemWith(name, detected))
    .find((found) => found !== undefined)
  if (problem) return { what: role, state: 'bad', words: `${model}: ${problem.words}`, hint: problem.hint }
  return { what: role, state: 'ok', words: `${model}: ${why}`, hint: '' }
}

const ROLES = new Set(['fast', 'general', 'reasoning', 'haiku', 'sonnet', 'opus', 'fable'])

/** What is wrong with a name, as far as can be told without a call. */
function problemWith(name: string, detected: Detected): { words: string; hint: string } | undefined {
  if (name.startsWith('scripted:') || ROLES.has(name.toLowerCase())) return undefined
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
  return { words, hint: `providers are: ${nearest(provider, known).join(', ')}; a program can bring others` }
}

function whatToSet({ missing, found }: Detected): string {
  const [local] = found
  const which = local
    ? `name a model: TROUPE_MODEL=${local.provider}/NAME`
    : `set ${missing.map(({ variable, provider }) => `${variable} (${provider})`).join(', ')}`
  return `${which}; or pass --model provider/model; offline: --model scripted:FILE`
}

/** `a/x, b/y`: a model and its fallbacks. The name of a script may hold anything. */
function namesIn(list: string): string[] {
  if (list.startsWith('scripted:')) return [list]
  const names = list.split(',').map((name) => name.trim())
  return names.filter((name) => name !== '')
}

/** The models that the roles use, each once. */
export function roleModels({ roles }: Detected): string[] {
  return [...new Set(Object.values(roles).flatMap(({ model }) => namesIn(model)))]
}

/** How one model answered. */
export interface TestCall {
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
const LIMITS = { calls: 1, output: 512, concurrency: 4 }

/** Asks each model one short question, in a run of its own that leaves nothing behind. Nothing is tried twice. */
export async function callModels(names: readonly string[]): Promise<TestCall[]> {
  const { createTroupe } = await import('../../index.ts')
  const engine = { pacing: { ready: () => undefined, next: () => undefined } }
  await using troupe = await createTroupe({ store: 'memory', agents: [PROBE], limits: LIMITS, engine })
  return await Promise.all(names.map((name) => callModel(troupe, name)))
}

async function callModel(troupe: Troupe, model: string): Promise<TestCall> {
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

export function callCheck({ model, latency_ms, usage, error }: TestCall): Check {
  if (usage) {
    const tokens = `${counted(usage.input, 'token')} in, ${usage.output} out`
    const price = usage.usd === null ? 'price not known' : money(usage.usd)
    return {
      what: 'call',
      state: 'ok',
      words: `${model} answered in ${duration(latency_ms)}: ${tokens}, ${price}`,
      hint: '',
    }
  }
  const words = error ? told(error) : 'it gave no answer'
  return { what: 'call', state: 'bad', words: `${model}: ${words}`, hint: error?.hint ?? '' }
}
