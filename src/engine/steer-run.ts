import { TroupeError, toTroupeError } from '../errors.ts'
import type { Pattern } from '../kernel/pattern.ts'
import { formatIssues } from '../kernel/schema.ts'
import type { SteerAction } from '../kernel/steer-action.ts'
import { steerSchema } from '../kernel/steer-action.ts'
import type { Store } from '../store/store.ts'
import { runHistoryFrom } from './run-history.ts'

export interface SteerDeps {
  store: Store
  patterns: ReadonlyMap<string, Pattern>
  now(): number
}

/**
 * Writes down what a person asks of a run. A question that such an action answers is answered with it, and `goes_on` says
 * that the run can go on; all else waits until the run takes it.
 */
export async function steerRun(
  { store, patterns, now }: SteerDeps,
  run_id: string,
  { action, by }: { action: unknown; by: string },
): Promise<{ resumes: boolean }> {
  const [first] = await store.events(run_id, { to: 1 })
  const { start } = runHistoryFrom(first ? [first] : [])
  const pattern = patterns.get(start.pattern)
  const checked = parseAction(action)
  if (!pattern?.checkSteer) {
    const steerable = [...patterns.values()].filter(({ checkSteer }) => checkSteer).map(({ name }) => name)
    throw new TroupeError('invalid_input', `a run of ${start.pattern} cannot be steered`, {
      hint: `cancel it, or answer its questions; these can: ${steerable.join(', ')}`,
    })
  }
  pattern.checkSteer(start.input as never, checked)
  if (await answerOpenGate(store, run_id, { action: checked, by, at: now() })) return { resumes: true }
  await store.enqueueCommand(run_id, { kind: 'steer', action: checked, by }, now())
  return { resumes: false }
}

async function answerOpenGate(
  store: Store,
  run_id: string,
  { action, by, at }: { action: SteerAction; by: string; at: number },
): Promise<boolean> {
  const [gate, ...others] = (await store.openGates({ run_id })).filter(({ detail }) => acceptsAction(detail, action))
  if (!gate) return false
  if (others.length > 0) throw ambiguousGateError(action, [gate, ...others])
  try {
    await store.enqueueCommand(run_id, { kind: 'answer', gate_id: gate.gate_id, answer: action, by }, at)
    return true
  } catch (thrown) {
    // Somebody was quicker: the run goes on, and takes this in its turn.
    if (toTroupeError(thrown).code !== 'gate_answered') throw thrown
    return false
  }
}

/** Whether a question is answered by such an action: one that lists its answers takes nobody who is not among them. */
function acceptsAction(detail: unknown, action: SteerAction): boolean {
  const { takes: verbs, answers } = (detail ?? {}) as { takes?: unknown; answers?: unknown }
  if (!Array.isArray(verbs) || !verbs.includes(action.do)) return false
  return action.do !== 'override' || !Array.isArray(answers) || answers.includes(action.agent)
}

type OpenGate = { gate_id: string; question: string; detail?: unknown }

function ambiguousGateError(action: SteerAction, gates: readonly OpenGate[]): TroupeError {
  const questions = gates.map(({ gate_id, question, detail }) => {
    const { as } = (detail ?? {}) as { as?: unknown }
    return `${gate_id} (${typeof as === 'string' ? `to ${as}: ` : ''}${question})`
  })
  return new TroupeError('invalid_input', `'${action.do}' could answer ${gates.length} questions`, {
    alternatives: gates.map(({ gate_id }) => gate_id),
    hint: `answer the one that is meant: ${questions.join('; ')}`,
  })
}

function parseAction(action: unknown): SteerAction {
  const parsed = steerSchema.safeParse(action)
  if (parsed.success) return parsed.data
  const known = steerSchema.options.map((option) => option.shape.do.value)
  throw new TroupeError('invalid_input', `this is nothing that a run can be asked: ${formatIssues(parsed.error)}`, {
    alternatives: [...known],
    hint: `what can be asked: ${known.join(', ')}`,
  })
}
