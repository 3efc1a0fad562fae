import { TroupeError, toTroupeError } from '../errors.ts'
import type { Pattern } from '../kernel/pattern.ts'
import { completePatterns } from '../kernel/pattern.ts'
import type { SteerAction } from '../kernel/steer-action.ts'
import { steerSchema } from '../kernel/steer-action.ts'
import { formatIssues } from '../schema/schema.ts'
import type { GateRow, Store } from '../store/store.ts'
import { requireRunStart } from './run-history.ts'

export interface SteeringRequest {
  action: unknown
  by: string
  /** Whether the action may answer this question. Default: any that accepts it. */
  mayAnswer?: ((gate: GateRow) => boolean) | undefined
}

export interface SteerDeps {
  store: Store
  patterns: ReadonlyMap<string, Pattern>
  now(): number
  /** Called before the action is stored as the answer to a question. */
  beforeAnswer?: (() => Promise<void>) | undefined
}

/**
 * Sends a steering action to a run. If an open gate accepts the action, the action is its answer and the run can resume;
 * otherwise the run applies the action between two turns.
 */
export async function steerRun(
  { store, patterns, now, beforeAnswer }: SteerDeps,
  run_id: string,
  { action, by, mayAnswer = () => true }: SteeringRequest,
): Promise<{ answered_gate?: string }> {
  const [first] = await store.events(run_id, { to: 1 })
  const start = requireRunStart(first ? [first] : [])
  const pattern = patterns.get(start.pattern)
  await pattern?.complete?.()
  const parsed = parseAction(action)
  if (!pattern?.checkSteer) {
    await completePatterns([...patterns.values()])
    const steerable = [...patterns.values()].filter(({ checkSteer }) => checkSteer).map(({ name }) => name)
    throw new TroupeError('invalid_input', `a run of the pattern '${start.pattern}' cannot be steered`, {
      hint: `cancel the run or answer its questions; patterns that can be steered: ${steerable.join(', ')}`,
    })
  }
  await pattern.checkSteer(start.input as never, parsed)
  const gates = (await store.openGates({ run_id })).filter(
    (gate) => acceptsAction(gate.detail, parsed) && mayAnswer(gate),
  )
  if (gates.length > 0) await beforeAnswer?.()
  const answered_gate = await answerOpenGate(store, gates, { action: parsed, by, time: now() })
  if (answered_gate !== undefined) return { answered_gate }
  await store.enqueueCommand(run_id, { kind: 'steer', action: parsed, by }, now())
  return {}
}

async function answerOpenGate(
  store: Store,
  [gate, ...others]: readonly GateRow[],
  { action, by, time }: { action: SteerAction; by: string; time: number },
): Promise<string | undefined> {
  if (!gate) return undefined
  if (others.length > 0) throw ambiguousGateError(action, [gate, ...others])
  try {
    await store.enqueueCommand(gate.run_id, { kind: 'answer', gate_id: gate.gate_id, answer: action, by }, time)
    return gate.gate_id
  } catch (thrown) {
    // Another answer came first: the run resumes with it and applies this action later.
    if (toTroupeError(thrown).code !== 'gate_answered') throw thrown
    return undefined
  }
}

/** True if the gate accepts this kind of action and, for `override`, the agent is one of its possible answers. */
function acceptsAction(detail: unknown, action: SteerAction): boolean {
  const { takes: verbs, answers, path } = (detail ?? {}) as { takes?: unknown; answers?: unknown; path?: unknown }
  if (!Array.isArray(verbs) || !verbs.includes(action.do) || path !== action.path) return false
  return action.do !== 'override' || !Array.isArray(answers) || answers.includes(action.agent)
}

function ambiguousGateError(action: SteerAction, gates: readonly GateRow[]): TroupeError {
  const questions = gates.map(({ gate_id, question, detail }) => {
    const { as } = (detail ?? {}) as { as?: unknown }
    return `${gate_id} (${typeof as === 'string' ? `to ${as}: ` : ''}${question})`
  })
  return new TroupeError('invalid_input', `'${action.do}' could answer ${gates.length} questions`, {
    alternatives: gates.map(({ gate_id }) => gate_id),
    hint: `answer one of them by its id: ${questions.join('; ')}`,
  })
}

function parseAction(action: unknown): SteerAction {
  const parsed = steerSchema.safeParse(action)
  if (parsed.success) return parsed.data
  const known = steerSchema.options.map((option) => option.shape.do.value)
  throw new TroupeError('invalid_input', `invalid steering action: ${formatIssues(parsed.error)}`, {
    alternatives: [...known],
    hint: `the actions are ${known.join(', ')}`,
  })
}
