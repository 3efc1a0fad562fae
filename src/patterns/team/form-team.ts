import { TroupeError } from '../../errors.ts'
import type { Team } from '../../judgement/team/team-schema.ts'
import type { Context } from '../../kernel/context.ts'
import type { Roster } from '../../kernel/roster.ts'
import type { FilledRole } from './team-plan.ts'

/** Fills the open roles of a team with agents of the roster. The choice is a recorded step. */
export async function formTeam(context: Context, team: Team): Promise<FilledRole[]> {
  if (!team.form) return []
  return context.step('form', () => matchRoles(team, context.roster), { input: team.form })
}

/** Matches each role to the agent with the most words in common; ties go to the first agent of the roster. */
export function matchRoles({ form, agents }: Team, roster: Roster): FilledRole[] {
  const roles = form?.roles ?? []
  const limit = form?.max_agents ?? 0
  if (roles.length > limit) {
    throw new TroupeError(
      'invalid_input',
      `\`form.roles\` has ${roles.length} roles, but \`form.max_agents\` is ${limit}`,
      {
        hint: 'raise `form.max_agents`, or remove roles',
      },
    )
  }
  const assigned = new Set(agents.flatMap(({ uses }) => uses ?? []))
  return roles.map(({ name, role, expertise = [] }) => {
    const roleStems = wordStems([role, name.replaceAll(/[_-]/g, ' '), ...expertise].join(' '))
    const [best] = roster.names
      .filter((candidate) => !assigned.has(candidate))
      .map((candidate, order) => ({ candidate, order, ...matchScore(roleStems, candidate, roster) }))
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score || a.order - b.order)
    if (!best) {
      throw new TroupeError('unknown_agent', `no agent of the roster fits the role '${role}' (${name})`, {
        alternatives: [...roster.names],
        hint: `the roster has: ${roster.names.join(', ')}; name one with \`uses\`, or describe the role in its words`,
      })
    }
    assigned.add(best.candidate)
    return { name, role, uses: best.candidate, expertise, by: best.by }
  })
}

const NAME_MATCH_WEIGHT = 3

function matchScore(roleStems: ReadonlySet<string>, name: string, roster: Roster): { score: number; by: string[] } {
  const nameStems = wordStems(name.replaceAll(/[_-]/g, ' '))
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
