import type { Agent } from '../../../index.ts'
import type { Look } from './line.ts'
import { line } from './line.ts'
import { oneLine, wrap } from './width.ts'

/** Each agent with what it is for and what it brings along. */
export function agentLines(agents: readonly Agent[], look: Look): string[] {
  return agents.flatMap((agent) => [
    line(look, [
      ['bold', oneLine(agent.name)],
      ['dim', `  ${factsOf(agent)}`],
    ]),
    ...wrap(`  ${oneLine(agent.description) || 'without a description'}`, look.width, 2),
  ])
}

function factsOf(agent: Agent): string {
  const tools = agent.tools === undefined ? "its caller's tools" : agent.tools.join(', ') || 'no tools'
  const without = agent.exclude_tools?.length ? `, not ${agent.exclude_tools.join(', ')}` : ''
  return oneLine([...(agent.model ? [agent.model] : []), tools + without].join(' · '))
}

export function problemLine(problem: { path: string; line: number; message: string }, look: Look): string[] {
  return wrap(`${problem.path}:${problem.line}: ${oneLine(problem.message)}`, look.width, 2)
}
