import { TroupeError } from '../errors.ts'
import type { Message, ModelRequest, ToolMessage, UserMessage } from '../kernel/model.ts'
import { NO_USAGE, textFrom } from '../kernel/model.ts'
import type { ScriptRule } from './script.ts'

const MAX_SHOWN_CHARACTERS = 160

/** The compiled conditions of a rule; an undefined condition always holds. */
export interface RuleConditions {
  agent: string | undefined
  turn: number | undefined
  inputPattern: RegExp | undefined
  historyPattern: RegExp | undefined
  tool: string | undefined
  times: number
  /** Recorded with every request that the rule served; `times` counts these marks. */
  mark: string
}

export function toRuleConditions({ when, times }: ScriptRule, index: number): RuleConditions {
  return {
    agent: when?.agent,
    turn: when?.turn,
    inputPattern: when?.says === undefined ? undefined : new RegExp(when.says),
    historyPattern: when?.heard === undefined ? undefined : new RegExp(when.heard),
    tool: when?.tool,
    times: times ?? Number.POSITIVE_INFINITY,
    mark: `rule:${index}`,
  }
}

/** The index of the first rule whose conditions all hold, or -1. */
export function findMatchingRule(rules: readonly RuleConditions[], request: ModelRequest): number {
  return rules.findIndex((rule) => unmetConditions(rule, request).next().done)
}

/** Error for a request that no rule matches, with the nearest rule and its unmet conditions. */
export function scriptMissError(model: string, rules: readonly RuleConditions[], request: ModelRequest): TroupeError {
  const { agent, turn } = request.session
  const input = lastInput(request.messages)
  const from = input?.role === 'tool' ? ` from ${input.content.map(({ name }) => name).join(', ')}` : ''
  const summary = `agent '${agent}', turn ${turn}, last input${from}: ${JSON.stringify(truncateText(inputText(input)))}`
  const nearest = nearestRule(rules, request)
  const reason = nearest
    ? `the nearest is rules[${nearest.index}]: ${nearest.unmet.join('; ')}`
    : 'the script has no rules'
  const error = new TroupeError('script_miss', `${model} has no rule for ${summary}. ${reason}`, {
    hint: 'add a rule for this request, or set "otherwise" to a reply',
  })
  return Object.assign(error, { mark: 'miss', usage: NO_USAGE })
}

function nearestRule(
  rules: readonly RuleConditions[],
  request: ModelRequest,
): { index: number; unmet: string[] } | undefined {
  return rules
    .map((rule, index) => ({ index, unmet: [...unmetConditions(rule, request)], total: conditionCount(rule) }))
    .map(({ index, unmet, total }) => ({ index, unmet, met: total - unmet.length }))
    .sort((a, b) => a.unmet.length - b.unmet.length || b.met - a.met || a.index - b.index)[0]
}

function conditionCount({ agent, turn, inputPattern, historyPattern, tool, times }: RuleConditions): number {
  const given = [agent, turn, inputPattern, historyPattern, tool].filter((condition) => condition !== undefined).length
  return given + (times === Number.POSITIVE_INFINITY ? 0 : 1)
}

/** The conditions of a rule that do not hold, one after the other: finding a rule ends at the first. */
function* unmetConditions(rule: RuleConditions, { session, messages }: ModelRequest): Generator<string> {
  if (rule.agent !== undefined && rule.agent !== session.agent) yield `agent must be '${rule.agent}'`
  if (rule.turn !== undefined && rule.turn !== session.turn) yield `turn must be ${rule.turn}`
  const input = lastInput(messages)
  if (rule.inputPattern && !rule.inputPattern.test(inputText(input)))
    yield `says ${rule.inputPattern} does not match the last input`
  if (rule.historyPattern && !matchesHistory(rule.historyPattern, messages))
    yield `heard ${rule.historyPattern} matches no earlier message`
  if (rule.tool !== undefined && !hasToolResult(input, rule.tool))
    yield `the last input must be a result of tool '${rule.tool}'`
  const uses = rule.times === Number.POSITIVE_INFINITY ? 0 : useCount(rule, session.marks)
  if (uses >= rule.times) yield `times is used up in this session (${uses} of ${rule.times})`
}

function useCount({ mark }: RuleConditions, marks: readonly string[]): number {
  let uses = 0
  for (const recorded of marks) if (recorded === mark) uses++
  return uses
}

function lastInput(messages: readonly Message[]): UserMessage | ToolMessage | undefined {
  for (let index = messages.length - 1; index >= 0; index--) {
    const message = messages[index]
    if (message && message.role !== 'assistant') return message
  }
  return undefined
}

function matchesHistory(pattern: RegExp, messages: readonly Message[]): boolean {
  const last = lastInput(messages)
  return messages.some((message) => message !== last && pattern.test(messageText(message)))
}

function messageText(message: Message): string {
  return message.role === 'assistant' ? textFrom(message) : inputText(message)
}

function inputText(input: UserMessage | ToolMessage | undefined): string {
  if (input?.role === 'tool') return input.content.map(({ text }) => text).join('\n')
  return textFrom(input)
}

function hasToolResult(input: UserMessage | ToolMessage | undefined, tool: string): boolean {
  return input?.role === 'tool' && input.content.some(({ name }) => name === tool)
}

function truncateText(text: string): string {
  return text.length > MAX_SHOWN_CHARACTERS
    ? `${text.slice(0, MAX_SHOWN_CHARACTERS)}… (${text.length} characters)`
    : text
}
