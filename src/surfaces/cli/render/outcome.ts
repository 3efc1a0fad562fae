import { oneLine } from './width.ts'

interface Outcome {
  of_run: string
  correct: boolean
  agreement_score: number | null
  voices: { agent: string; right: boolean }[]
}

/** What was written down about an earlier run; `undefined` for other outputs. */
export function outcomeText(output: object): string | undefined {
  const { of_run, correct, agreement_score, voices } = output as Partial<Outcome>
  if (typeof of_run !== 'string' || typeof correct !== 'boolean' || !Array.isArray(voices)) return undefined
  const named = (right: boolean) => voices.filter((voice) => voice.right === right).map(({ agent }) => oneLine(agent))
  const level = typeof agreement_score === 'number' ? ` at ${Math.round(agreement_score * 100)} % agreement` : ''
  return [
    `noted: ${of_run} was ${correct ? 'right' : 'wrong'}${level}`,
    ...listed('right', named(true)),
    ...listed('wrong', named(false)),
    ...(voices.length === 0 ? ['nothing is known of its voices'] : []),
  ].join('\n')
}

function listed(label: string, names: readonly string[]): string[] {
  return names.length === 0 ? [] : [`${label}: ${names.join(', ')}`]
}
