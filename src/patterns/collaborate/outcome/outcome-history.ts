import type { Context } from '../../../kernel/context.ts'

/** Recorded outcomes of earlier collaborations. */
export interface OutcomeHistory {
  cases: { agreement: number; correct: boolean }[]
  /** Accuracy by agent. */
  records: Map<string, { right: number; total: number }>
}

/** Output of the pattern `outcome`. */
export interface OutcomeOutput {
  of_run: string
  correct: boolean
  agreement_score: number | null
  voices: { agent: string; role: string; right: boolean }[]
}

const MAX_OUTCOMES = 300

/** Loads the newest outcome of each run. */
export async function loadOutcomeHistory(context: Context): Promise<OutcomeHistory> {
  const outcomes = await context.recall('history', { pattern: 'outcome', limit: MAX_OUTCOMES })
  const history: OutcomeHistory = { cases: [], records: new Map() }
  const seen = new Set<string>()
  for (const { output } of outcomes) {
    const { of_run, correct, agreement_score, voices } = output as OutcomeOutput
    if (seen.has(of_run)) continue
    seen.add(of_run)
    if (agreement_score !== null) history.cases.push({ agreement: agreement_score, correct })
    for (const { agent, right } of voices) {
      const record = history.records.get(agent) ?? { right: 0, total: 0 }
      history.records.set(agent, { right: record.right + (right ? 1 : 0), total: record.total + 1 })
    }
  }
  return history
}
