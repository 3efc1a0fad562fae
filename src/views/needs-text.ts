import type { NeedsReport } from '../judgement/needs/run-needs.ts'
import { formatParts, formatProgram } from '../judgement/needs/run-needs.ts'
import type { ModelChange } from '../kernel/event.ts'

/** The reason why a process cannot continue a run, and who can; empty if it can. */
export function missingPartsText({ missing, started_by }: Pick<NeedsReport, 'missing' | 'started_by'>): string {
  if (missing.length === 0) return ''
  const program = started_by ? `; started by ${formatProgram(started_by)}` : ''
  return `cannot be continued here: this process lacks ${formatParts(missing)}${program}`
}

/** The parts of the host that are not the same as when the run started; empty if all are. */
export function changedPartsText({ changed, unused }: NeedsReport): string {
  return [
    changed.length === 0 ? [] : [`changed since the run started: ${formatParts(changed)}`],
    unused.length === 0 ? [] : [`removed, but not used by this run: ${formatParts(unused)}`],
  ]
    .flat()
    .join('; ')
}

/** "general anthropic/b instead of openai/a (lead)" for each model that a resumed run uses instead of another one. */
export function modelChangesText(changes: readonly ModelChange[]): string {
  return changes
    .map(({ role, from, to, agents }) => {
      const users = agents.length > 0 ? ` (${agents.join(', ')})` : ''
      return `${role} ${to} instead of ${from}${users}`
    })
    .join('; ')
}
