import type { Agent } from '../agent.ts'
import type { SessionOpen } from '../event.ts'
import type { Execution } from '../journal/execution.ts'
import { withAbort } from '../world.ts'
import { isServerTool } from './expand-tool-names.ts'

interface PrepareScope {
  execution: Execution
  signal: AbortSignal
}

/** Waits for what the agent's tools need. Nothing to wait for takes no time at all, so that openings keep their order. */
export function prepareTools({ execution, signal }: PrepareScope, agent: Agent): Promise<void> | undefined {
  const preparing = execution.ports.prepareTools?.(agent)
  return preparing && execution.load(() => withAbort(preparing, signal))
}

/**
 * The same for a session that was opened before. What it had from the servers of those who called it then is started again
 * for it: they need not be at work in this run.
 */
export function prepareResumedTools(site: PrepareScope, open: SessionOpen): Promise<void> | undefined {
  const { ports } = site.execution
  const lacking = () =>
    ports.prepareTools !== undefined && open.tools.some((name) => isServerTool(name) && !ports.tools.get(name))
  const preparing = prepareTools(site, open.agent)
  if (!preparing && !lacking()) return undefined
  const callers = open.path.toReversed().filter((name) => ports.roster.has(name))
  return (async () => {
    await preparing
    for (const name of callers) if (lacking()) await prepareTools(site, ports.roster.get(name))
  })()
}
