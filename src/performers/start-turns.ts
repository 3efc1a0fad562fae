import type { StartTurns } from '../kernel/session/turn-scope.ts'
import { findPerformer, runPerformerTurn } from './external/performer-turn.ts'
import { startModelTurns } from './model/run-turn.ts'

/** Carries out turns with the performer that the agent names, or with the model loop. */
export const startTurns: StartTurns = async (scope) => {
  const { opening } = scope.session
  const performer = findPerformer(scope.execution, opening)
  if (!performer) return startModelTurns(scope)
  const turn = { ...scope, name: opening.agent.performer ?? '', performer }
  return (ordinal) => runPerformerTurn(turn, ordinal)
}
