import type { Team } from '../../../judgement/team/definition.ts'
import type { Cli } from '../cli.ts'
import type { Look } from '../render/line.ts'
import { line } from '../render/line.ts'
import { clip, oneLine, widthOf, wrap } from '../render/width.ts'
import type { Happening } from './happening.ts'
import type { Talk } from './talk.ts'

/** Who is there, and how to begin. */
export function greeting({ name, agents, groups, form }: Team, look: Look): string[] {
  const names = [...agents, ...(form?.roles ?? []), ...groups].map((each) => oneLine(each.name))
  return [
    ...namesLines(oneLine(name), names, look),
    line(look, [['dim', 'say what you want; /help lists what else you can do']]),
  ]
}

const NAMED = 12

/** A team of sixty would fill the screen before anybody has said a word. */
function namesLines(team: string, names: readonly string[], look: Look): string[] {
  const more = names.length > NAMED ? ` and ${names.length - NAMED} more: /who` : ''
  const members = names.length === 1 && names[0] === team ? '' : `  ${names.slice(0, NAMED).join(', ')}${more}`
  const short = clip(team, look.width)
  if (widthOf(short + members) <= look.width) return [look.paint('bold', short) + look.paint('dim', members)]
  return [look.paint('bold', short), ...wrap(members, look.width, 2).map((text) => look.paint('dim', text))]
}

const SHOWN = 4

/** The end of what was said before, so that whoever comes back knows where they were. */
export function recap(talk: Talk, { options }: Cli, past: readonly Happening[]): void {
  const { conversation } = talk
  const { run_id = '', questions, site } = conversation
  if (options.json) talk.show('resumed', { run_id, team: site.team.name }, [])
  else talk.note(`${site.team.name} · ${run_id}`)
  const shown = past.filter(({ type }) => type === 'said' || type === 'end')
  for (const happening of shown.slice(-SHOWN)) talk.tell(happening)
  for (const question of questions) talk.tell({ type: 'question', ...question })
}
