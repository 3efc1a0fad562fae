import type { Answer } from '../../../kernel/session-request.ts'
import { readText } from '../../../requests/read-answer.ts'
import type { routingAnswer } from './routing-prompt.ts'

/** A routing decision as it could be read from an answer of the model. */
export type SpecialistDecision =
  | { kind: 'chosen'; agents: string[]; reason: string; rationale: string; confidence: number }
  | { kind: 'none'; rationale: string }
  /** The answer names no agent that can be asked. */
  | { kind: 'unusable'; problem: string; reason?: string }

export type RoutingAnswer = Pick<Answer<ReturnType<typeof routingAnswer>>, 'value' | 'fields' | 'text'>

/** The most specialists for one question. */
export const MAX_SPECIALISTS = 3
/** The confidence of a decision that states none. */
const UNSTATED_CONFIDENCE = 0.5

/** A decision from the fields of an answer, or from prose that names one agent. */
export function parseRoutingDecision(answer: RoutingAnswer, names: readonly string[]): SpecialistDecision {
  const { value, fields = {}, text } = answer
  if (!value) return parseProse(text, names)
  const { confidence } = value
  const [needed, reason] = [oneParagraph(value.needed), oneParagraph(value.reason)]
  const rationale = oneParagraph(value.rationale) || needed
  // With a schema that lists the agents, a model that copies the example has to name some agent: that is no choice.
  if (needed === '' && reason === '' && readText(fields.needed) !== '' && readText(fields.reason) !== '')
    return { kind: 'unusable', problem: 'it repeats the example' }
  const given = fields.agents ?? fields.agent ?? fields.selected_agent
  if (Array.isArray(given) && given.length === 0) return { kind: 'none', rationale }
  const agents = [...new Set(value.agents)].slice(0, MAX_SPECIALISTS)
  if (agents.length > 0)
    return { kind: 'chosen', agents, reason, rationale, confidence: confidence ?? UNSTATED_CONFIDENCE }
  const listed = [given].flat().filter((each) => typeof each === 'string')
  if (listed.length > 0 && listed.every(isNobody)) return { kind: 'none', rationale }
  const quoted = listed.map((name) => `'${name}'`).join(', ')
  const problem = listed.length === 0 ? 'it names no agent in "agents"' : `no agent ${quoted} can be asked`
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

function isNobody(name: string): boolean {
  return /^\W*(none|nobody|no one|no agent|null|n\/a)\W*$/i.test(name)
}

const MAX_RATIONALE = 600

function oneParagraph(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim().slice(0, MAX_RATIONALE).toWellFormed()
}
