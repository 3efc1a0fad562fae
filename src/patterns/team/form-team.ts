import { TroupeError } from '../../errors.ts'
import type { Team } from '../../judgement/team/team-schema.ts'
import type { Context } from '../../kernel/context.ts'
import type { Roster } from '../../kernel/roster.ts'
import type { FilledRole } from './team-plan.ts'

/** Fills the places that the team left open with agents of the roster; who was chosen is remembered with the run. */
export async function formTeam(context: Context, team: Team): Promise<FilledRole[]> {
  if (!team.form) return []
  return context.step('form', () => matchRoles(team, context.roster), { input: team.form })
}

/** The best fitting agent for each place, by the words of name and description; ties go by the order of the roster. */
export function matchRoles({ form, agents }: Team, roster: Roster): FilledRole[] {
  const places = form?.roles ?? []
  const most = form?.max_agents ?? 0
  if (places.length > most) {
    throw new TroupeError(
      'invalid_input',
      `the team asks for ${places.length} agents of the roster, max_agents is ${most}`,
      {
        hint: 'raise form.max_agents, or ask for fewer roles',
      },
    )
  }
  const taken = new Set(agents.flatMap(({ uses }) => uses ?? []))
  return places.map(({ name, role, expertise = [] }) => {
    const wanted = wordStems([role, name.replaceAll(/[_-]/g, ' '), ...expertise].join(' '))
    const [best] = roster.names
      .filter((candidate) => !taken.has(candidate))
      .map((candidate, order) => ({ candidate, order, ...matchScore(wanted, candidate, roster) }))
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score || a.order - b.order)
    if (!best) {
      throw new TroupeError('unknown_agent', `nobody in the roster fits '${role}' (${name})`, {
        alternatives: [...roster.names],
        hint: `the roster has: ${roster.names.join(', ')}; name one with uses, or describe the role in its words`,
      })
    }
    taken.add(best.candidate)
    return { name, role, uses: best.candidate, expertise, by: best.by }
  })
}

const NAME_MATCH_WEIGHT = 3

/** How well one fits, and by which of the words. */
function matchScore(wanted: ReadonlySet<string>, name: string, roster: Roster): { score: number; by: string[] } {
  const [named, described] = [wordStems(name.replaceAll(/[_-]/g, ' ')), wordStems(roster.get(name).description)]
  const by = [...wanted].filter((word) => named.has(word) || described.has(word))
  const score = by.reduce(
    (sum, word) => sum + (named.has(word) ? NAME_MATCH_WEIGHT : 0) + (described.has(word) ? 1 : 0),
    0,
  )
  return { score, by }
}

const MIN_STEM_LENGTH = 3

/** Words without their endings, so that reviewer, reviews and reviewing are one. */
function wordStems(text: string): Set<string> {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
  const stems = words.map((word) => word.replace(/(ers?|ors?|ing|ed|es|s|ions?|e)$/u, ''))
  return new Set(stems.filter((stem) => stem.length >= MIN_STEM_LENGTH))
}
