import type { Team } from '../../../judgement/team/team-schema.ts'
import type { ChatEvent } from '../../../patterns/team/chat-event.ts'
import { displayWidth, toTerminalLine, truncateToWidth, wrapText } from '../../../views/text-width.ts'
import type { Cli } from '../cli.ts'
import type { TerminalStyle } from '../render/styled-line.ts'
import { renderLine } from '../render/styled-line.ts'
import type { ChatController } from './chat-controller.ts'

export function greetingLines({ name, agents, groups, form }: Team, style: TerminalStyle): string[] {
  const names = [...agents, ...(form?.roles ?? []), ...groups].map((each) => toTerminalLine(each.name))
  return [
    ...memberLines(toTerminalLine(name), names, style),
    renderLine(style, [['dim', 'type a message; /help lists commands']]),
  ]
}

const NAMES_SHOWN = 12

/** Lists at most `NAMES_SHOWN` members, so that a large team does not fill the screen. */
function memberLines(team: string, names: readonly string[], style: TerminalStyle): string[] {
  const more = names.length > NAMES_SHOWN ? ` and ${names.length - NAMES_SHOWN} more` : ''
  const members = names.length === 1 && names[0] === team ? '' : `  ${names.slice(0, NAMES_SHOWN).join(', ')}${more}`
  const short = truncateToWidth(team, style.width)
  if (displayWidth(short + members) <= style.width) return [style.paint('bold', short) + style.paint('dim', members)]
  return [style.paint('bold', short), ...wrapText(members, style.width, 2).map((text) => style.paint('dim', text))]
}

const EVENTS_SHOWN = 4

/** Shows the last messages and the open questions of a resumed conversation. */
export function showRecap(chat: ChatController, { options }: Cli, pastEvents: readonly ChatEvent[]): void {
  const { conversation } = chat
  const { run_id = '', questions, context } = conversation
  if (options.json) chat.show('resumed', { run_id, team: context.team.name }, [])
  else chat.note(`${context.team.name} · ${run_id}`)
  const relevant = pastEvents.filter(({ type }) => type === 'message' || type === 'end')
  for (const chatEvent of relevant.slice(-EVENTS_SHOWN)) chat.showEvent(chatEvent)
  for (const question of questions) chat.showEvent({ type: 'question', ...question })
}
