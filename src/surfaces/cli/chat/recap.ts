import type { Team } from '../../../judgement/team/definition.ts'
import type { Cli } from '../cli.ts'
import type { Look } from '../render/line.ts'
import { line } from '../render/line.ts'
import { oneLine } from '../render/width.ts'
import type { Happening } from './happening.ts'
import type { Talk } from './talk.ts'

/** Who is there, and how to begin. */
export function greeting({ name, agents, groups, form }: Team, look: Look): string[] {
  const names = [...agents, ...(form?.roles ?? []), ...groups].map((each) => oneLine(each.name))
  return [
    line(look, [
      ['bold', oneLine(name)],
      ['dim', names.length === 1 && names[0] === name ? '' : `  ${names.join(', ')}`],
    ]),
    line(look, [['dim', 'say what you want; /help lists what else you can do']]),
  ]
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
