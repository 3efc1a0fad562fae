import type { Contribution } from '../output.ts'
import { contributionsSection } from './prompt-sections.ts'

/** Asks a specialist again, in its session, with the arguments of the other side. */
export function mediationPrompt(others: readonly Contribution[], form: 'object' | 'text'): string {
  return [
    'You and other specialists disagree. They say:',
    contributionsSection(others),
    'Keep your recommendation if their arguments do not convince you; change it if they do.',
    form === 'object' ? 'Reply with one JSON object with the same keys as before.' : 'Answer in plain text, as before.',
  ].join('\n')
}
