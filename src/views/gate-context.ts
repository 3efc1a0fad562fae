import type { PanelBlock } from '../kernel/panel.ts'

/* The blocks of a question that explain it: they stand beside what is decided about. */

export const HISTORY_TITLE = 'Before this'
export const OUTCOMES_TITLE = 'What happens next'

export function isGateContext({ title = '' }: PanelBlock): boolean {
  return title.startsWith(HISTORY_TITLE) || title === OUTCOMES_TITLE
}
