import type { TimelineLane, TimelineTurn } from './timeline/timeline.ts'

export type CostRow = {
  agent: string
  model: string
  turns: number
  input: number
  cached: number
  output: number
  usd: number | null
  share: number
}

/** One row per agent, the most expensive first. */
export function costRows(turns: readonly TimelineTurn[], lanes: readonly TimelineLane[]): CostRow[] {
  const shareOf = shares(turns)
  const byLane = Map.groupBy(turns, ({ lane }) => lane)
  const rows = lanes.flatMap((lane): CostRow[] => {
    const own = byLane.get(lane.id)
    if (!own) return []
    return [
      {
        agent: lane.label,
        model: [...new Set(own.map(({ model }) => model))].join(', '),
        turns: own.length,
        input: sum(own, ({ tokens }) => tokens.input),
        cached: sum(own, ({ tokens }) => tokens.cached),
        output: sum(own, ({ tokens }) => tokens.output),
        usd: own.some(({ usd }) => usd === null) ? null : sum(own, knownUsd),
        share: shareOf(own),
      },
    ]
  })
  return rows.toSorted((a, b) => b.share - a.share)
}

export interface ModelCost {
  model: string
  usd: number | null
  share: number
  tokens: number
}

export function modelRows(turns: readonly TimelineTurn[]): ModelCost[] {
  const shareOf = shares(turns)
  const rows = [...Map.groupBy(turns, ({ model }) => model)].map(([model, own]) => ({
    model,
    usd: own.some(({ usd }) => usd === null) ? null : sum(own, knownUsd),
    share: shareOf(own),
    tokens: sum(own, tokensOf),
  }))
  return rows.toSorted((a, b) => b.share - a.share || b.tokens - a.tokens)
}

/** The share of the cost; without any known price, of the tokens. */
function shares(turns: readonly TimelineTurn[]): (own: readonly TimelineTurn[]) => number {
  const amount = turns.some(({ usd }) => usd !== null && usd > 0) ? knownUsd : tokensOf
  const whole = sum(turns, amount) || 1
  return (own) => sum(own, amount) / whole
}

function tokensOf({ tokens }: TimelineTurn): number {
  return tokens.input + tokens.output
}

function knownUsd({ usd }: TimelineTurn): number {
  return usd ?? 0
}

function sum(turns: readonly TimelineTurn[], amount: (turn: TimelineTurn) => number): number {
  return turns.reduce((total, turn) => total + amount(turn), 0)
}
