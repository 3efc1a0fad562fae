import type { Team } from '../../../judgement/team/team-schema.ts'
import type { ChatEvent } from '../../../views/chat-event.ts'
import type { Cli } from '../cli.ts'
import type { TerminalStyle } from '../render/styled-line.ts'
import { renderLine } from '../render/styled-line.ts'
import { displayWidth, toTerminalLine, truncateToWidth, wrapText } from '../render/text-width.ts'
import type { ChatController } from './chat-controller.ts'

/** Who is there, and how to begin. */
export function greetingLines({ name, agents, groups, form }: Team, style: TerminalStyle): string[] {
  const names = [...agents, ...(form?.roles ?? []), ...groups].map((each) => toTerminalLine(each.name))
  return [
    ...memberLines(toTerminalLine(name), names, style),
    renderLine(style, [['dim', 'say what you want; /help lists what else you can do']]),
  ]
}

const NAMES_SHOWN = 12

/** A team of sixty would fill the screen before anybody has said a word. */
function memberLines(team: string, names: readonly string[], style: TerminalStyle): string[] {
  const more = names.length > NAMES_SHOWN ? ` and ${names.length - NAMES_SHOWN} more: /who` : ''
  const members = names.length === 1 && names[0] === team ? '' : `  ${names.slice(0, NAMES_SHOWN).join(', ')}${more}`
  const short = truncateToWidth(team, style.width)
  if (displayWidth(short + members) <= style.width) return [style.paint('bold', short) + style.paint('dim', members)]
  return [style.paint('bold', short), ...wrapText(members, style.width, 2).map((text) => style.paint('dim', text))]
}

const EVENTS_SHOWN = 4

/** The end of what was said before, so that whoever comes back knows where they were. */
export function showRecap(talk: ChatController, { options }: Cli, past: readonly ChatEvent[]): void {
  const { conversation } = talk
  const { run_id = '', questions, context } = conversation
  if (options.json) talk.show('resumed', { run_id, team: context.team.name }, [])
  else talk.note(`${context.team.name} · ${run_id}`)
  const shown = past.filter(({ type }) => type === 'message' || type === 'end')
  for (const chatEvent of shown.slice(-EVENTS_SHOWN)) talk.showEvent(chatEvent)
  for (const question of questions) talk.showEvent({ type: 'question', ...question })
}
