import { isCopiedExample } from '../../../requests/copied-example.ts'
import { parseJsonObject } from '../../../requests/structured-output.ts'
import { ROUTING_EXAMPLE } from './routing-prompt.ts'
import { toIdentifier } from './scenarios.ts'

/** A routing decision as it could be read from an answer of the model. */
export type SpecialistDecision =
  | { kind: 'chosen'; agents: string[]; reason: string; rationale: string; confidence: number }
  | { kind: 'none'; rationale: string }
  /** The answer names no agent that can be asked. */
  | { kind: 'unusable'; problem: string; reason?: string }

export interface RoutingAnswer {
  object?: unknown
  text: string
}

/** The most specialists for one question. */
export const MAX_SPECIALISTS = 3
/** The confidence of a decision that states none. */
const UNSTATED_CONFIDENCE = 0.5

/** Reads a decision leniently: names in any spelling, one name instead of a list, percentages, and prose that names one agent. */
export function parseRoutingDecision({ object, text }: RoutingAnswer, names: readonly string[]): SpecialistDecision {
  const answer = isFields(object) ? object : parseJsonObject(text)
  return isFields(answer) ? parseFields(answer, names) : parseProse(text, names)
}

function parseFields(answer: Record<string, unknown>, names: readonly string[]): SpecialistDecision {
  const given = answer.agents ?? answer.agent ?? answer.selected_agent
  const listed = (Array.isArray(given) ? given : [given]).filter((each) => typeof each === 'string')
  const rationale = copiedAsEmpty(toText(answer.rationale), ROUTING_EXAMPLE.rationale) || toText(answer.needed)
  // With a schema that lists the agents, a model that copies the example has to name some agent: that is no choice.
  if (isCopy(answer, 'needed') && isCopy(answer, 'reason'))
    return { kind: 'unusable', problem: 'it repeats the example' }
  if (Array.isArray(given) && given.length === 0) return { kind: 'none', rationale }
  const agents = [...new Set(listed.flatMap((name) => resolveName(name, names) ?? []))].slice(0, MAX_SPECIALISTS)
  const reason = copiedAsEmpty(toText(answer.reason), ROUTING_EXAMPLE.reason)
  if (agents.length > 0)
    return { kind: 'chosen', agents, reason, rationale, confidence: toConfidence(answer.confidence) }
  if (listed.length > 0 && listed.every(isNobody)) return { kind: 'none', rationale }
  const problem =
    listed.length === 0 ? 'it names no agent in "agents"' : `no agent ${listed.map(quoted).join(', ')} can be asked`
  return { kind: 'unusable', problem, reason }
}

/** A line such as "Selected Agent: Security Expert" decides; otherwise prose decides only if it mentions one agent alone. */
function parseProse(text: string, names: readonly string[]): SpecialistDecision {
  const [, stated] = /(?:selected agent|agents?|decision|specialist)"?\s*[:=]\s*(.{1,80})/i.exec(text) ?? []
  const rationale = oneParagraph(text)
  const chosen = mentionedNames(stated ?? '', names).slice(0, 1)
  const agents = chosen.length > 0 ? chosen : mentionedNames(text, names)
  const [agent] = agents
  if (agent !== undefined && agents.length === 1) {
    return { kind: 'chosen', agents: [agent], reason: '', rationale, confidence: UNSTATED_CONFIDENCE }
  }
  if (stated !== undefined && isNobody(stated)) return { kind: 'none', rationale }
  const problem =
    agents.length === 0 ? 'it names no agent that can be asked' : `it names ${agents.join(', ')} and decides for none`
  return { kind: 'unusable', problem }
}

/** The mentioned names, in the order of the text. A name inside a longer one does not count. */
function mentionedNames(text: string, names: readonly string[]): string[] {
  const words = ` ${text.toLowerCase().replaceAll(/[^\p{L}\p{N}:]+/gu, ' ')} `
  return names
    .map((name) => ({ name, at: words.indexOf(` ${name.toLowerCase().replaceAll(/[^\p{L}\p{N}:]+/gu, ' ')} `) }))
    .filter(({ at }) => at >= 0)
    .toSorted((a, b) => a.at - b.at)
    .map(({ name }) => name)
}

function resolveName(given: string, names: readonly string[]): string | undefined {
  return names.find((name) => name === given) ?? names.find((name) => toIdentifier(name) === toIdentifier(given))
}

function isNobody(name: string): boolean {
  return /^\W*(none|nobody|no one|no agent|null|n\/a)\W*$/i.test(name)
}

/** 92 and "92 %" are 0.92; what is out of range counts as not stated. */
function toConfidence(value: unknown): number {
  const number = typeof value === 'string' ? Number.parseFloat(value) : value
  if (typeof number !== 'number' || !Number.isFinite(number) || number < 0) return UNSTATED_CONFIDENCE
  if (number <= 1) return number
  return number <= 100 ? number / 100 : UNSTATED_CONFIDENCE
}

function isCopy(answer: Record<string, unknown>, field: 'needed' | 'reason'): boolean {
  return isCopiedExample(toText(answer[field]), [ROUTING_EXAMPLE[field]])
}

function copiedAsEmpty(text: string, example: string): string {
  return isCopiedExample(text, [example]) ? '' : text
}

function toText(value: unknown): string {
  return typeof value === 'string' ? oneParagraph(value) : ''
}

const MAX_RATIONALE = 600

function oneParagraph(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim().slice(0, MAX_RATIONALE).toWellFormed()
}

function quoted(name: string): string {
  return `'${name}'`
}

function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
