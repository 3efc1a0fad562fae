import type { RunScenario } from './chaos-run.ts'
import { collaborationScenario } from './collaborate-scenarios.ts'
import { consultScenario } from './consult-scenarios.ts'
import { calledTeamScenario, teamScenario } from './team-scenario.ts'

/** The scenario that a child process executes; `undefined` for the reference run, a `task`. */
export function namedScenario(name: string): RunScenario | undefined {
  if (name === '' || name === 'task') return undefined
  if (name === 'called team') return calledTeamScenario
  if (name.startsWith('consult ')) return consultScenario(name.slice('consult '.length))
  return name === 'team' ? teamScenario : collaborationScenario(name)
}
