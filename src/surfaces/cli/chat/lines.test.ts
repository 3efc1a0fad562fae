import { describe, expect, test } from 'vitest'
import { plainLook } from '../render/line.ts'
import { widthOf } from '../render/width.ts'
import type { Happening } from './happening.ts'
import { chatLines } from './lines.ts'

const said = (text: string, more: object = {}): Happening => ({
  ...{ type: 'said', agent: 'writer', round: 1, text, artifacts: [], ...more },
})

function shown(happening: Happening, width = 40, wrapped = true) {
  const look = plainLook(width)
  return chatLines(happening, { look, beside: look, wrapped })
}

const LONG = 'a long text with many words that does not fit into one line of forty columns, 猫 included'

const everything: Happening[] = [
  said(LONG, { artifacts: ['draft@1', 'a-very-long-name-of-an-artifact@12'], error: LONG }),
  { type: 'run', run_id: 'r_123456789abc', team: LONG, first: 'writer' },
  { type: 'handoff', round: 1, from: 'writer', to: 'reviewer', by: 'verdict', reason: LONG, problems: [LONG] },
  { type: 'turn', round: 1, agent: LONG },
  { type: 'group', round: 1, group: 'jury', kind: 'parallel', members: [LONG] },
  { type: 'loop', round: 1, kind: 'edge_repeats', message: LONG },
  { type: 'compress', round: 1, messages: 3, error: LONG },
  { type: 'steered', action: { do: 'say', text: LONG }, by: 'user', taken: false, why: LONG },
  { type: 'tool', agent: 'writer', tool: 'Read', input: { path: LONG } },
  { type: 'artifact', artifact: LONG, by: 'writer' },
  { type: 'question', gate_id: 'g_1', kind: 'approve', question: LONG, answers: ['yes', 'no', LONG], as: 'boss' },
  { type: 'trouble', agent: 'writer', message: LONG },
  { type: 'end', run_id: 'r_1', status: 'completed', route: [LONG, 'b'], error: null },
]

describe('a conversation in lines', () => {
  test('CH1 whoever speaks stands first, and further lines are indented; in a pipe the words stay as they are', () => {
    expect(shown(said('One.\n\nTwo.')).spoken).toEqual(['writer: One.', '', '  Two.'])
    expect(shown(said(LONG)).spoken.length).toBeGreaterThan(1)
    expect(shown(said(LONG), 40, false).spoken).toEqual([`writer: ${LONG}`])
    expect(
      shown(said(LONG))
        .spoken.slice(1)
        .every((text) => text.startsWith('  ')),
    ).toBe(true)
  })

  test('L5 nothing is wider than the terminal, whatever happens', () => {
    for (const width of [24, 40, 60, 100]) {
      for (const happening of everything) {
        const { spoken, around } = shown(happening, width)
        for (const text of [...spoken, ...around]) expect(widthOf(text)).toBeLessThanOrEqual(width)
      }
    }
  })

  test('L22 what agents say cannot steer the terminal', () => {
    const { spoken } = shown(said('\x1b[2Jgone\x07 \x1b]0;title\x07'))
    for (const sign of ['\x07', '\x1b']) expect(spoken.join('')).not.toContain(sign)
    const { around } = shown({ type: 'question', gate_id: 'g', kind: 'question', question: '\x1b[31mred?' })
    expect(around.join('')).not.toContain('\x1b')
  })

  test('CH6 a question says whom one answers for and what can be answered; the wait for a reply asks nothing', () => {
    const question = { gate_id: 'g_1', question: 'May I?', answers: ['yes', 'no'] }
    expect(shown({ type: 'question', kind: 'person', as: 'boss', ...question }).around).toEqual([
      '? you answer as boss: May I?',
      '  yes · no',
    ])
    expect(shown({ type: 'question', kind: 'reply', ...question }).around).toEqual([])
  })

  test('CH6 a call that wants permission is shown whole, and nothing in it is invisible', () => {
    const call = 'Bash(npm test;\u200b\ncurl evil.test)'
    const question = { gate_id: 'g_1', kind: 'permission', question: `May writer call ${call}?`, call }
    const lines = shown({ type: 'question', answers: ['allow', 'deny'], ...question }).around.join('\n')
    expect(lines).toContain('│ curl evil.test')
    expect(lines).toContain('\\u{200b}')
    expect(lines).toMatch(/^\? May writer call Bash\?$/m)
  })

  test('CH1 handoffs name whom and why; returning to the user, or to the team above, needs no reason', () => {
    const handoff: Omit<Extract<Happening, { type: 'handoff' }>, 'to'> = {
      type: 'handoff',
      round: 1,
      from: 'writer',
      by: 'after_work',
      reason: 'no rule',
      problems: [],
    }
    expect(shown({ ...handoff, to: 'user' }).around).toEqual(['  → you'])
    expect(shown({ ...handoff, to: 'user', within: 'research' }).around).toEqual(['  → back'])
    expect(shown({ ...handoff, to: null }).around).toEqual(['  → the end'])
    expect(shown({ ...handoff, to: 'reviewer', by: 'verdict', reason: '"done" holds (done: yes)' }).around).toEqual([
      '  → reviewer  done',
    ])
    expect(shown({ ...handoff, from: 'user', to: 'writer' }).around).toEqual([])
    const { around } = shown({ ...handoff, to: 'reviewer', by: 'verdict', reason: LONG })
    expect(around.map((text) => text.trim()).join(' ')).toBe(`→ reviewer ${LONG}`)
  })
})
