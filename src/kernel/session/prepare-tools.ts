import type { Agent } from '../agent.ts'
import type { SessionOpen } from '../event.ts'
import type { Execution } from '../journal/execution.ts'
import { withAbort } from '../world.ts'

interface PrepareScope {
  execution: Execution
  signal: AbortSignal
}

/** Starts what the agent's tools need. Returns `undefined` when all is ready, so that sessions open without waiting. */
export function prepareTools({ execution, signal }: PrepareScope, agent: Agent): Promise<void> | undefined {
  const preparing = execution.ports.prepareTools?.(agent)
  return preparing && execution.load(() => withAbort(preparing, signal))
}

/**
 * The same for a session that was opened before. Servers of its former callers are started again for the tools that it
 * inherited from them: those callers need not be part of this run.
 */
export function prepareResumedTools(scope: PrepareScope, opening: SessionOpen): Promise<void> | undefined {
  const { ports } = scope.execution
  const isMissing = (name: string) => ports.serverToolNames.isServerTool(name) && !ports.tools.get(name)
  const hasMissingTools = () => ports.prepareTools !== undefined && opening.tools.some(isMissing)
  const preparing = prepareTools(scope, opening.agent)
  if (!preparing && !hasMissingTools()) return undefined
  const callers = opening.path.toReversed().filter((name) => ports.roster.has(name))
  return (async () => {
    await preparing
    for (const name of callers) if (hasMissingTools()) await prepareTools(scope, ports.roster.get(name))
  })()
}
