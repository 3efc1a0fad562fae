import type { Agent } from './agent.ts'
import type { SessionOpen } from './event.ts'
import type { Execution } from './execution.ts'
import { isOfServer } from './named-tools.ts'
import { untilAborted } from './world.ts'

interface EquipSite {
  x: Execution
  signal: AbortSignal
}

/** Waits for what the agent's tools need. Nothing to wait for takes no time at all, so that openings keep their order. */
export function prepared({ x, signal }: EquipSite, agent: Agent): Promise<void> | undefined {
  const preparing = x.ports.prepare?.(agent)
  return preparing && x.recall(() => untilAborted(preparing, signal))
}

/**
 * The same for a session that was opened before. What it had from the servers of those who called it then is started again
 * for it: they need not be at work in this run.
 */
export function equipped(site: EquipSite, open: SessionOpen): Promise<void> | undefined {
  const { roster, tools, prepare } = site.x.ports
  const lacking = () => prepare !== undefined && open.tools.some((name) => isOfServer(name) && !tools.get(name))
  const preparing = prepared(site, open.agent)
  if (!preparing && !lacking()) return undefined
  const callers = open.path.toReversed().filter((name) => roster.has(name))
  return (async () => {
    await preparing
    for (const name of callers) if (lacking()) await prepared(site, roster.get(name))
  })()
}
