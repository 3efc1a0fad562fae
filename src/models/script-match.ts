import { TroupeError } from '../errors.ts'
import type { Message, ModelRequest, ToolMessage, UserMessage } from '../kernel/model.ts'
import { NO_USAGE, textOf } from '../kernel/model.ts'
import type { ScriptRule } from './script.ts'

const SHOWN = 160

/** A rule's conditions, ready to be asked; an absent one always holds. */
export interface Conditions {
  agent: string | undefined
  turn: number | undefined
  says: RegExp | undefined
  heard: RegExp | undefined
  tool: string | undefined
  times: number
  /** Recorded with every call that used the rule: what `times` counts. */
  mark: string
}

export function conditionsOf({ when, times }: ScriptRule, index: number): Conditions {
  return {
    agent: when?.agent,
    turn: when?.turn,
    says: when?.says === undefined ? undefined : new RegExp(when.says),
    heard: when?.heard === undefined ? undefined : new RegExp(when.heard),
    tool: when?.tool,
    times: times ?? Number.POSITIVE_INFINITY,
    mark: `rule:${index}`,
  }
}

/** The index of the first rule whose conditions all hold, or -1. */
export function firstMatch(rules: readonly Conditions[], request: ModelRequest): number {
  const { agent, turn, marks } = request.session
  const input = lastInput(request.messages)
  let text: string | undefined
  for (let index = 0; index < rules.length; index++) {
    const rule = rules[index]
    if (!rule) continue
    if (rule.agent !== undefined && rule.agent !== agent) continue
    if (rule.turn !== undefined && rule.turn !== turn) continue
    if (rule.tool !== undefined && !hasResultOf(input, rule.tool)) continue
    if (rule.says !== undefined) {
      text ??= inputText(input)
      if (!rule.says.test(text)) continue
    }
    if (rule.heard && !wasHeard(rule.heard, request.messages)) continue
    if (rule.times !== Number.POSITIVE_INFINITY && used(rule, marks) >= rule.times) continue
    return index
  }
  return -1
}

/** The request that no rule answers, beside the rule that came closest and what it missed. */
export function scriptMiss(model: string, rules: readonly Conditions[], request: ModelRequest): TroupeError {
  const { agent, turn } = request.session
  const input = lastInput(request.messages)
  const from = input?.role === 'tool' ? ` from ${input.content.map(({ name }) => name).join(', ')}` : ''
  const asked = `agent '${agent}', turn ${turn}, last input${from}: ${JSON.stringify(shortened(inputText(input)))}`
  const near = nearestRule(rules, request)
  const reason = near ? `nearest is rules[${near.index}]: ${near.unmet.join('; ')}` : 'the script has no rules'
  const error = new TroupeError('script_miss', `${model} has no rule for ${asked}. ${reason}`, {
    hint: 'add a rule for this request, or set "otherwise" to a reply',
  })
  return Object.assign(error, { mark: 'miss', usage: NO_USAGE })
}

function nearestRule(
  rules: readonly Conditions[],
  request: ModelRequest,
): { index: number; unmet: string[] } | undefined {
  return rules
    .map((rule, index) => ({ index, unmet: unmetConditions(rule, request), met: conditionCount(rule) }))
    .map((near) => ({ ...near, met: near.met - near.unmet.length }))
    .sort((a, b) => a.unmet.length - b.unmet.length || b.met - a.met || a.index - b.index)[0]
}

function conditionCount({ agent, turn, says, heard, tool, times }: Conditions): number {
  const given = [agent, turn, says, heard, tool].filter((condition) => condition !== undefined).length
  return given + (times === Number.POSITIVE_INFINITY ? 0 : 1)
}

function unmetConditions(rule: Conditions, { session, messages }: ModelRequest): string[] {
  const input = lastInput(messages)
  const unmet: string[] = []
  if (rule.agent !== undefined && rule.agent !== session.agent) unmet.push(`it wants agent '${rule.agent}'`)
  if (rule.turn !== undefined && rule.turn !== session.turn) unmet.push(`it wants turn ${rule.turn}`)
  if (rule.says && !rule.says.test(inputText(input))) unmet.push(`${rule.says} does not match the last input`)
  if (rule.heard && !wasHeard(rule.heard, messages)) unmet.push(`${rule.heard} matches nothing that was said before`)
  if (rule.tool !== undefined && !hasResultOf(input, rule.tool)) unmet.push(`it wants a result of tool '${rule.tool}'`)
  const uses = used(rule, session.marks)
  if (uses >= rule.times) unmet.push(`its times are used up in this session (${uses} of ${rule.times})`)
  return unmet
}

function used({ mark }: Conditions, marks: readonly string[]): number {
  let uses = 0
  for (const known of marks) if (known === mark) uses++
  return uses
}

function lastInput(messages: readonly Message[]): UserMessage | ToolMessage | undefined {
  for (let index = messages.length - 1; index >= 0; index--) {
    const message = messages[index]
    if (message && message.role !== 'assistant') return message
  }
  return undefined
}

function wasHeard(heard: RegExp, messages: readonly Message[]): boolean {
  const last = lastInput(messages)
  return messages.some((message) => message !== last && heard.test(saidIn(message)))
}

function saidIn(message: Message): string {
  return message.role === 'assistant' ? textOf(message) : inputText(message)
}

function inputText(input: UserMessage | ToolMessage | undefined): string {
  if (input?.role === 'tool') return input.content.map(({ text }) => text).join('\n')
  return textOf(input)
}

function hasResultOf(input: UserMessage | ToolMessage | undefined, tool: string): boolean {
  return input?.role === 'tool' && input.content.some(({ name }) => name === tool)
}

function shortened(text: string): string {
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}… (${text.length} characters)` : text
}
