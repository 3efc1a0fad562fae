import { TroupeError, unknownName } from '../errors.ts'
import type { CallSite } from './call-site.ts'
import { isEvent } from './event.ts'
import type { ToolCallPart } from './model.ts'
import { isOfServer } from './named-tools.ts'
import type { PatternTool } from './pattern.ts'
import { problemsOf } from './schema.ts'
import type { Tool } from './tool.ts'
import { within } from './within.ts'

/*
 * What a call is to be, before anyone is asked and anything is done: the tool the agent has by that name, its arguments
 * checked, and what hooks made of them. The hooks' verdict is a step of its own, so that a person who is asked for
 * permission and a run that is resumed both see the same call.
 */

export type Callable = Tool | PatternTool

export interface Proposal {
  tool: Callable
  /** As it is recorded: what the model or a hook wrote. */
  input: unknown
  /** As the tool gets it: checked and transformed by its schema. */
  parsed: unknown
}

const HOOK_MS = 120_000

export async function propose(site: CallSite, call: ToolCallPart): Promise<Proposal> {
  const tool = find(site, call.name)
  if (call.invalid !== undefined) throw badInput(tool.name, `the arguments are not JSON: ${call.invalid}`)
  const checked = tool.input.safeParse(call.input)
  if (!checked.success) throw badInput(tool.name, problemsOf(checked.error))
  const proposal = { tool, input: call.input, parsed: checked.data }
  if (!site.x.ports.hooks.some((hooks) => hooks.beforeTool)) return proposal
  const verdict = await verdictOf(site, proposal)
  if (verdict.deny !== undefined) {
    throw new TroupeError('denied', `the call of ${tool.name} was refused: ${verdict.deny}`, {
      hint: 'this is final for this call; do not repeat it unchanged',
    })
  }
  if (!('input' in verdict)) return proposal
  return { tool, input: verdict.input, parsed: changed(tool, verdict.input) }
}

interface HooksVerdict {
  deny?: string
  input?: unknown
}

async function verdictOf(site: CallSite, proposal: Proposal): Promise<HooksVerdict> {
  const { x, session } = site
  const key = `${site.key}/hooks`
  x.claim(key)
  const settled = x.recorded.settled(key)
  if (isEvent(settled, 'step:end')) return settled.data.result as HooksVerdict
  const verdict = await askHooks(site, proposal)
  x.journal.append('step:end', { key, v: 1, input_hash: null, result: verdict }, session.id)
  return verdict
}

async function askHooks(site: CallSite, { tool, parsed }: Proposal): Promise<HooksVerdict> {
  const { x, session, signal } = site
  const about = { run_id: x.run.id, session_id: session.id, agent: session.open.agent.name, tool: tool.name }
  const late = () => new TroupeError('tool_failed', `a hook did not decide about ${tool.name} within ${HOOK_MS} ms`)
  let verdict: HooksVerdict = {}
  let input = parsed
  for (const hooks of x.ports.hooks) {
    if (!hooks.beforeTool) continue
    const asked = async () => hooks.beforeTool?.({ ...about, input })
    const said = await x.effect(() => within({ world: x.ports.world, signal, ms: HOOK_MS, late }, asked()))
    if (said && 'deny' in said) return { deny: said.deny }
    if (!said) continue
    verdict = { input: said.input }
    input = changed(tool, said.input)
  }
  return verdict
}

function find({ x, session }: CallSite, name: string): Callable {
  const granted = session.open.tools
  const tool = x.ports.tools.get(name) ?? x.ports.patternTools.get(name)
  if (tool && granted.includes(tool.name)) return tool
  const there = granted.filter((each) => x.ports.tools.get(each) ?? x.ports.patternTools.get(each))
  throw granted.includes(name) ? goneTool(name, there) : unknownName('unknown_tool', 'tool', name, there)
}

/** The session had it when it was opened, and nobody provides it now. */
function goneTool(name: string, there: string[]): TroupeError {
  const whose = isOfServer(name)
    ? 'the server it comes from is not there in this run'
    : 'nobody provides it in this run'
  return new TroupeError('unknown_tool', `the tool '${name}' is gone: ${whose}`, {
    alternatives: there,
    hint: 'do without it, or say in your answer that it is missing: whoever has it can delegate this anew',
  })
}

/** The model must not pay for what a hook made of its call. */
function changed(tool: Callable, input: unknown): unknown {
  const parsed = tool.input.safeParse(input)
  if (parsed.success) return parsed.data
  throw new TroupeError('tool_failed', `a hook changed the input of ${tool.name}: ${problemsOf(parsed.error)}`, {
    retry: false,
  })
}

function badInput(tool: string, why: string): TroupeError {
  return new TroupeError('invalid_tool_input', `the arguments of ${tool} do not fit: ${why}`, {
    hint: 'correct the arguments and call it again; a second misfit ends the session',
  })
}
