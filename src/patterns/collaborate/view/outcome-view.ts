import { definePatternView } from '../../../views/pattern-view.ts'
import { toTerminalLine } from '../../../views/text-width.ts'

/** The view of a recorded outcome: its output as text. */
export const outcomeView = definePatternView({
  initial: () => undefined,
  reduce: (state) => state,
  outputText: outcomeText,
})

interface RecordedOutcome {
  of_run: string
  correct: boolean
  agreement_score: number | null
  voices: { agent: string; right: boolean }[]
}

/** A recorded outcome as text; `undefined` for other outputs. */
function outcomeText(output: unknown): string | undefined {
  const { of_run, correct, agreement_score, voices } = (output ?? {}) as Partial<RecordedOutcome>
  if (typeof of_run !== 'string' || typeof correct !== 'boolean' || !Array.isArray(voices)) return undefined
  const agentNames = (right: boolean) =>
    voices.filter((voice) => voice.right === right).map(({ agent }) => toTerminalLine(agent))
  const level = typeof agreement_score === 'number' ? ` at ${Math.round(agreement_score * 100)} % agreement` : ''
  return [
    `recorded: ${of_run} was ${correct ? 'right' : 'wrong'}${level}`,
    ...namesLine('right', agentNames(true)),
    ...namesLine('wrong', agentNames(false)),
    ...(voices.length === 0 ? ['the run has no recorded votes'] : []),
  ].join('\n')
}

function namesLine(label: string, names: readonly string[]): string[] {
  return names.length === 0 ? [] : [`${label}: ${names.join(', ')}`]
}
