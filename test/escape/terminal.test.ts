import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createTroupe } from '../../src/index.ts'
import { issueWarning } from '../../src/runtime/issue-warning.ts'
import { gateLines } from '../../src/surfaces/cli/render/result-lines.ts'
import { countEachTest, recordAttempts } from '../support/attempt-count.ts'
import { runCommand } from '../support/command-run.ts'
import { plainStyle } from '../support/plain-style.ts'
import { agent, functionModel } from '../support/test-troupe.ts'
import { HOSTILE_TEXTS, terminalCommands } from './terminal.attempts.ts'

beforeEach(countEachTest('terminal'))

/* Text of a model, a tool or a journal never controls the terminal of the person who looks at it. */

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a terminal obeys
const OBEYED = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/

let folder = ''
let run_id = ''
let gate_id = ''
const text = HOSTILE_TEXTS.join(' ')

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-terminal-'))
  const model = functionModel(({ session }) => {
    if (session.turn === 1) return { text, calls: [{ name: `no such ${text}`, input: { [text]: text } }] }
    return { text, calls: [{ name: 'ask_user', input: { question: text, choices: HOSTILE_TEXTS.slice(0, 10) } }] }
  })
  const agents = [agent('lead', { description: text, instructions: text })]
  const troupe = await createTroupe({ store: join(folder, 'runs.db'), model, agents })
  const result = await troupe.run('task', { agent: 'lead', instruction: text })
  run_id = result.run_id
  gate_id = result.gates[0]?.gate_id ?? ''
  expect(gate_id).not.toBe('')
  // The control: the journal has the text as the model wrote it.
  const journal = JSON.stringify(await troupe.events(run_id).all())
  for (const hostile of HOSTILE_TEXTS) expect(journal).toContain(JSON.stringify(hostile).slice(1, -1))
  await troupe.close()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('L94 no command prints control sequences or bidirectional marks of a model', async (context) => {
  recordAttempts(context, 'terminal', { attempts: HOSTILE_TEXTS.length, controls: HOSTILE_TEXTS.length })
  for (const command of terminalCommands(run_id, gate_id)) {
    const { out, err } = await runCommand([...command, '--store', join(folder, 'runs.db')])
    const shown = [...out, ...err]
    expect.soft(shown.join('\n').length, command.join(' ')).toBeGreaterThan(0)
    expect
      .soft(
        shown.filter((line) => OBEYED.test(line)),
        command.join(' '),
      )
      .toEqual([])
  }
})

test('L94 with --json the text stays the same, and the terminal shows it escaped', async () => {
  const { out } = await runCommand(['inbox', '--json', '--store', join(folder, 'runs.db')])
  const printed = out.join('\n')
  expect(OBEYED.test(printed)).toBe(false)
  expect(JSON.stringify(JSON.parse(printed))).toContain(JSON.stringify(text).slice(1, -1))
})

test('L94 a warning of the library contains no control sequence', () => {
  const warnings: string[] = []
  const listener = (warning: Error) => void warnings.push(warning.message)
  const { emitWarning } = process
  process.emitWarning = ((message: string) => listener(new Error(message))) as typeof process.emitWarning
  issueWarning(`troupe: ${text}`)
  process.emitWarning = emitWarning
  expect(warnings).toHaveLength(1)
  expect(OBEYED.test(warnings[0] ?? '')).toBe(false)
})

test.each([
  ['--no-sandbox', 'troupe answer -- g1 --no-sandbox'],
  ['-h', 'troupe answer -- g1 -h'],
  ["a'; rm -rf ~; '", "troupe answer g1 'a'\\''; rm -rf ~; '\\'''"],
  ['$(id)', "troupe answer g1 '$(id)'"],
  ['plain', 'troupe answer g1 plain'],
  ['two\nlines', 'troupe answer g1 YOUR ANSWER'],
  ['\u001b[2Jx', 'troupe answer g1 YOUR ANSWER'],
  ['a\u202eb', 'troupe answer g1 YOUR ANSWER'],
])('L95 the choice %j is never an option or a command of the line to copy', (choice, command) => {
  const gate = { gate_id: 'g1', run_id: 'r1', question: 'Which?', choices: [choice, 'other'], asked_by: 'lead' }
  expect(gateLines(gate as never, plainStyle(200)).join('\n')).toContain(`answer with: ${command}`)
})

test('L95 an answer after -- is taken as it is', async () => {
  const store = join(folder, 'runs.db')
  const { err } = await runCommand(['answer', '--store', store, '--no-wait', '--', gate_id, '--no-sandbox'])
  expect(err.join('\n')).not.toMatch(/unknown option/)
})
