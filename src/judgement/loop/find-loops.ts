import { createLoopDetector, handoffResult, textFingerprint } from './handoff-loop.ts'
import { isOutsideFailure, isWaiting } from './outside-failure.ts'
import { findRepeatedSteps } from './repeated-step.ts'
import type { RepeatedWork } from './repeated-work.ts'
import { createRepeatedWorkDetector } from './repeated-work.ts'
import type { LoopFinding, TraceMessage } from './trace.ts'

/** The suspected loops of a trace, in the order in which they show. */
export function findLoops(messages: readonly TraceMessage[]): LoopFinding[] {
  const findings = [
    ...findRepeatedWork(messages),
    ...findAlternation(messages),
    ...findRepeatedCalls(messages),
    ...findRepeatedSteps(messages),
  ]
  return findings.toSorted((a, b) => a.at - b.at)
}

/** Similar instructions without new results: those of the agent that addresses others most often. */
function findRepeatedWork(messages: readonly TraceMessage[]): LoopFinding[] {
  const detector = createRepeatedWorkDetector()
  const isInstruction = instructionTest(messages)
  const positions: number[] = []
  let results: string[] = []
  let freshStart = true
  return messages.flatMap((message, at) => {
    if (message.kind === 'plan' || message.kind === 'person') freshStart = true
    if (message.kind !== 'message') return []
    if (!isInstruction(message)) {
      results.push(message.text)
      return []
    }
    const repeated = detector.add({
      ...{ instruction: message.text, results, freshStart },
      ...(message.to !== undefined && { to: message.to }),
    })
    positions.push(at)
    results = []
    freshStart = false
    if (!repeated.isLoop) return []
    const evidence = repeated.similar.flatMap((ordinal) => positions[ordinal] ?? [])
    const agent = message.agent
    return [{ kind: 'repeated_work' as const, at, evidence, agent, message: describe(agent, repeated) }]
  })
}

function instructionTest(messages: readonly TraceMessage[]): (message: TraceMessage) => boolean {
  const spoken = messages.filter(({ kind }) => kind === 'message')
  const addressed = spoken.filter(({ to }) => to !== undefined)
  if (addressed.length > 0) {
    const lead = mostFrequent(addressed.map(({ agent }) => agent))
    return ({ agent, to }) => to !== undefined && agent === lead
  }
  // The agent that most messages of others follow gives the instructions.
  const lead = mostFrequent(
    spoken.flatMap(({ agent }, index) => {
      const next = spoken[index + 1]
      return next && next.agent !== agent ? [agent] : []
    }),
  )
  return ({ agent }) => agent === lead
}

function mostFrequent(names: readonly string[]): string | undefined {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return [...counts].toSorted(([, a], [, b]) => b - a)[0]?.[0]
}

function describe(agent: string, { similar, newWords, repeatedLine, withoutResult }: RepeatedWork): string {
  const signs = [
    ...(similar.length > 0 ? [`the instruction resembles ${similar.length} earlier ones`] : []),
    ...(withoutResult
      ? ['an instruction brought no result']
      : [`${Math.round(newWords * 100)} % of a recent result is new`]),
    ...(repeatedLine === undefined
      ? []
      : [`a recent result begins like an earlier one: “${repeatedLine.slice(0, 60)}”`]),
  ]
  return `${agent}: ${signs.join('; ')}`
}

const SPOKEN: ReadonlySet<TraceMessage['kind']> = new Set(['message', 'plan', 'person'])

/** Agents that pass the same results back and forth. */
function findAlternation(messages: readonly TraceMessage[]): LoopFinding[] {
  const detector = createLoopDetector({ max_rounds: Infinity, max_repeats_per_edge: Infinity, ping_pong: 4 })
  const spoken = messages.flatMap((message, at) =>
    SPOKEN.has(message.kind) && !isOutsideFailure(message.text) ? [{ ...message, at }] : [],
  )
  return spoken.flatMap(({ agent, kind, text, at }, index) => {
    if (kind === 'person') detector.reset()
    const next = spoken[index + 1]
    if (kind === 'person' || next === undefined || next.agent === agent) return []
    const verdict = detector.add({ from: agent, to: next.agent, result: handoffResult({ text }) })
    if (verdict.ok) return []
    const evidence = spoken.slice(Math.max(0, index - verdict.moves.length + 1), index).map((earlier) => earlier.at)
    return [{ kind: 'alternation' as const, at, evidence, agent, message: verdict.message }]
  })
}

/** Tool calls that bring only results that are known: the same call with the same result, several times in a row. */
function findRepeatedCalls(messages: readonly TraceMessage[]): LoopFinding[] {
  const known = new Set<string>()
  let pending: TraceMessage[] = []
  let idle: number[] = []
  return messages.flatMap((message, at) => {
    if (message.kind === 'call') pending.push(message)
    if (message.kind === 'person') idle = []
    if (message.kind !== 'result') return []
    const call = pending.find(({ to }) => to === message.agent)
    pending = pending.filter((other) => other !== call)
    const outcome = textFingerprint(`${call?.text} ${message.text}`)
    idle = known.has(outcome) && !isOutsideFailure(message.text) ? [...idle, at].slice(-MAX_IDLE) : []
    known.add(outcome)
    const limit = isWaiting(message.text) ? IDLE_POLLS : IDLE_CALLS
    if (idle.length < limit || call === undefined) return []
    const text = `${call.agent}: ${idle.length} tool calls in a row with results that it had before`
    return [{ kind: 'repeated_call' as const, at, evidence: idle.slice(0, -1), agent: call.agent, message: text }]
  })
}

const IDLE_CALLS = 3
/** Positions that are kept as evidence. */
const MAX_IDLE = 100
/** Polling for the end of other work is no loop until then. */
const IDLE_POLLS = 20
