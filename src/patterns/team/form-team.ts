import { TroupeError, toTroupeError } from '../../errors.ts'
import { cosineSimilarity } from '../../judgement/similarity/similarity.ts'
import type { Team } from '../../judgement/team/team-schema.ts'
import type { Context } from '../../kernel/context.ts'
import type { Embedder } from '../../kernel/embedder.ts'
import type { Roster } from '../../kernel/roster.ts'
import { offeredNames } from '../../requests/agent-summary.ts'
import type { FilledRole } from './team-plan.ts'

export interface FormedTeam {
  roles: FilledRole[]
  /** The reason why roles were matched by words although there is an embedder. */
  problem?: string
}

/** Fills the open roles of a team with agents of the roster. The choice is a recorded step. */
export async function formTeam(context: Context, team: Team): Promise<FormedTeam> {
  if (!team.form) return { roles: [] }
  const { roster, embedder } = context
  return context.step('form', (signal) => fillRoles(team, roster, { embedder, signal }), { input: team.form })
}

interface EmbeddingOptions {
  embedder: Embedder | undefined
  signal: AbortSignal
}

/** Ranks by the meaning of role and description; without an embedder that works, by the words they share. */
export async function fillRoles(
  team: Team,
  roster: Roster,
  { embedder, signal }: EmbeddingOptions,
): Promise<FormedTeam> {
  const byWords = matchRoles(team, roster)
  const candidates = freeAgents(team, roster)
  if (!embedder || candidates.length < 2) return { roles: byWords }
  const roleTexts = team.form?.roles.map(roleText) ?? []
  const agentTexts = candidates.map((name) => textsAbout(name, roster))
  try {
    const vectors = await embedAgents(embedder, [...new Set(agentTexts.flat())], signal)
    const agentVectors = agentTexts.map((texts) => texts.map((text) => vectors.get(text) ?? new Float32Array()))
    const roleVectors = await embedder.embed(roleTexts, signal)
    const scores = roleVectors.map((role) => agentVectors.map((agent) => roleSimilarity(role, agent)))
    return { roles: assignBySimilarity(team, candidates, scores) }
  } catch (thrown) {
    signal.throwIfAborted()
    const problem = `the embedder failed, so open roles were filled by words: ${toTroupeError(thrown).message}`
    return { roles: byWords, problem }
  }
}

/** Vectors of the latest roster, by text: embedding takes up to 80 ms per agent, and most runs have the agents of the run before. */
const agentVectorCache = new WeakMap<Embedder, ReadonlyMap<string, Float32Array>>()

async function embedAgents(
  embedder: Embedder,
  texts: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Float32Array>> {
  const cached = agentVectorCache.get(embedder)
  const missing = texts.filter((text) => !cached?.has(text))
  const added = missing.length === 0 ? [] : await embedder.embed(missing, signal)
  const addedByText = new Map(missing.map((text, index) => [text, added[index] ?? new Float32Array()]))
  const vectors = new Map(texts.map((text) => [text, cached?.get(text) ?? addedByText.get(text) ?? new Float32Array()]))
  agentVectorCache.set(embedder, vectors)
  return vectors
}

function assignBySimilarity(
  { form }: Team,
  candidates: readonly string[],
  scores: readonly (readonly number[])[],
): FilledRole[] {
  const assigned = new Set<string>()
  return (form?.roles ?? []).map(({ name, role, expertise = [] }, index) => {
    const [best] = candidates
      .map((uses, candidate) => ({ uses, similarity: scores[index]?.[candidate] ?? 0 }))
      .filter(({ uses }) => !assigned.has(uses))
      .sort((a, b) => b.similarity - a.similarity)
    // Unreachable: matching by words found a different agent for each role.
    if (!best) throw unfilledRoleError({ name, role }, candidates)
    assigned.add(best.uses)
    return { name, role, expertise, method: 'embeddings', by: [], ...best }
  })
}

/**
 * The mean of the similarity to the whole description and to the part that is closest, because the rest of a description dilutes the sentence
 * that fits. Rounded: the last digits differ between processors.
 */
function roleSimilarity(role: Float32Array, [whole = role, ...parts]: readonly Float32Array[]): number {
  const closest = Math.max(...parts.map((part) => cosineSimilarity(role, part)))
  return Math.round(((cosineSimilarity(role, whole) + closest) / 2) * 10_000) / 10_000
}

/** Long descriptions continue with examples, whose subject is not the agent's. */
const MAX_DESCRIPTION_LENGTH = 500
const MAX_SENTENCES = 6
const MIN_SENTENCE_LENGTH = 12

/** The name with the description; then the name and each sentence of its own. */
function textsAbout(name: string, roster: Roster): string[] {
  const description = roster.get(name).description.slice(0, MAX_DESCRIPTION_LENGTH)
  const sentences = description
    .split(/(?<=[.!?:])\s+|\n+/)
    .map((sentence) => sentence.trim())
    .filter(({ length }) => length > MIN_SENTENCE_LENGTH)
  return [`${toWords(name)}: ${description}`, toWords(name), ...sentences.slice(0, MAX_SENTENCES)]
}

type OpenRole = NonNullable<Team['form']>['roles'][number]

function roleText({ name, role, expertise = [] }: OpenRole): string {
  return `${toWords(name)}: ${[role, ...expertise].join(', ')}`
}

function toWords(name: string): string {
  return name.replaceAll(/[_-]/g, ' ')
}

/** The offered agents that no member of the team uses already, in roster order. */
function freeAgents({ agents }: Team, roster: Roster): string[] {
  const used = new Set(agents.flatMap(({ uses }) => uses ?? []))
  return offeredNames(roster).filter((name) => !used.has(name))
}

/** Matches each role to the agent with the most words in common; ties go to the first agent of the roster. */
export function matchRoles(team: Team, roster: Roster): FilledRole[] {
  const roles = team.form?.roles ?? []
  const limit = team.form?.max_agents ?? 0
  if (roles.length > limit) {
    throw new TroupeError(
      'invalid_input',
      `\`form.roles\` has ${roles.length} roles, but \`form.max_agents\` is ${limit}`,
      {
        hint: 'raise `form.max_agents`, or remove roles',
      },
    )
  }
  const candidates = freeAgents(team, roster)
  const assigned = new Set<string>()
  return roles.map((open) => {
    const { name, role, expertise = [] } = open
    const roleStems = wordStems([role, toWords(name), ...expertise].join(' '))
    const [best] = candidates
      .filter((candidate) => !assigned.has(candidate))
      .map((candidate) => ({ candidate, ...matchScore(roleStems, candidate, roster) }))
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score)
    if (!best) throw unfilledRoleError(open, roster.names)
    assigned.add(best.candidate)
    return { name, role, uses: best.candidate, expertise, method: 'words', by: best.by }
  })
}

function unfilledRoleError({ name, role }: Pick<OpenRole, 'name' | 'role'>, names: readonly string[]): TroupeError {
  return new TroupeError('unknown_agent', `no agent of the roster fits the role '${role}' (${name})`, {
    alternatives: [...names],
    hint: `the roster has: ${names.join(', ')}; name one with \`uses\`, or describe the role in its words`,
  })
}

const NAME_MATCH_WEIGHT = 3

function matchScore(roleStems: ReadonlySet<string>, name: string, roster: Roster): { score: number; by: string[] } {
  const nameStems = wordStems(toWords(name))
  const descriptionStems = wordStems(roster.get(name).description)
  const by = [...roleStems].filter((stem) => nameStems.has(stem) || descriptionStems.has(stem))
  const score = by.reduce(
    (sum, stem) => sum + (nameStems.has(stem) ? NAME_MATCH_WEIGHT : 0) + (descriptionStems.has(stem) ? 1 : 0),
    0,
  )
  return { score, by }
}

const MIN_STEM_LENGTH = 3

/** Stemming: reviewer, reviews and reviewing become one word. */
function wordStems(text: string): Set<string> {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
  const stems = words.map((word) => word.replace(/(ers?|ors?|ing|ed|es|s|ions?|e)$/u, ''))
  return new Set(stems.filter((stem) => stem.length >= MIN_STEM_LENGTH))
}
