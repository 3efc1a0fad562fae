import type { RunScenario } from './chaos-run.ts'
import { collaborationScenario } from './collaborate-scenarios.ts'
import { teamScenario } from './team-scenario.ts'

/** The scenario that a child process executes; `undefined` for the reference run, a `task`. */
export function namedScenario(name: string): RunScenario | undefined {
  if (name === '' || name === 'task') return undefined
  return name === 'team' ? teamScenario : collaborationScenario(name)
}
