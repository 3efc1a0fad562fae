import type { StartTurns } from '../kernel/session/turn-scope.ts'
import { startModelTurns } from './model/run-turn.ts'

/** Only agents with a performer need them. They must not be read during a run whose time is simulated. */
export const loadPerformerTurns = () => import('./external/performer-turn.ts')

/** Carries out turns with the performer that the agent names, or with the model loop. */
export const startTurns: StartTurns = async (scope) => {
  const { opening } = scope.session
  if (opening.agent.performer === undefined) return startModelTurns(scope)
  const { findPerformer, runPerformerTurn } = await loadPerformerTurns()
  const performer = findPerformer(scope.execution, opening)
  if (!performer) return startModelTurns(scope)
  const turn = { ...scope, name: opening.agent.performer ?? '', performer }
  return (ordinal) => runPerformerTurn(turn, ordinal)
}
