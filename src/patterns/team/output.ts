import type { PatternResult } from '../../kernel/pattern.ts'
import type { Floor } from './floor.ts'
import type { TeamOutput, TeamReason } from './input.ts'
import type { Failure } from './speak.ts'

export function completed(floor: Floor, agent: string, reason: TeamReason): PatternResult {
  floor.context.emit('complete', 'team:complete', { rounds: floor.round, agent, reason })
  return { success: true, output: outputOf(floor, { agent, status: 'completed', reason }), stop_reason: 'completed' }
}

/** Everything that was done is in the output; whoever resumes the run tries the failed step again. */
export function failed(
  floor: Floor,
  { error, stop_reason }: Failure,
  { agent, where }: { agent: string; where: string },
): PatternResult {
  const status = stop_reason === 'cancelled' ? 'cancelled' : 'failed'
  const output = outputOf(floor, { agent, status, reason: status })
  const detail = { ...error, message: `${where}${error.message}` }
  return { success: false, output, error: detail.message, stop_reason, detail }
}

function outputOf(floor: Floor, end: Pick<TeamOutput, 'agent' | 'status' | 'reason'>): TeamOutput {
  const { response, history, round: rounds, variables, artifacts, handoffs, totals } = floor
  return {
    response,
    ...end,
    ...{ rounds, history, variables, artifacts: [...new Set(artifacts)], handoffs, totals },
  }
}
