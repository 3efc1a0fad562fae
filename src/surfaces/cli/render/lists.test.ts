import { describe, expect, test } from 'vitest'
import { plainStyle } from '../../../../test/support/plain-style.ts'
import type { GateRow, RunResult, RunRow } from '../../../index.ts'
import { formatAge, formatCompactCount, formatDuration, formatUsd } from '../../../views/format-amount.ts'
import { outputText } from '../../../views/pattern-views.ts'
import { displayWidth } from '../../../views/text-width.ts'
import { quoteShellWord } from '../program-name.ts'
import { agentLines } from './agent-lines.ts'
import { doctorCheckLines } from './doctor-checks.ts'
import { errorLines } from './error-lines.ts'
import { gateLines, nextStepLines, summaryLine } from './result-lines.ts'
import { runsTable } from './runs-table.ts'

const style = plainStyle(60)
const usage = { calls: 2, input: 1000, output: 234, cache_read: 0, cache_write: 0, usd: null }
const result: RunResult = {
  run_id: 'r_0123456789ab',
  status: 'completed',
  stop_reason: 'completed',
  output: { response: 'Done.' },
  error: null,
  usage,
  duration_ms: 1234,
  gates: [],
}
const gate = {
  gate_id: 'g_1',
  run_id: 'r_1',
  question: 'Which\ncolour?',
  choices: ['dark blue', 'red'],
  asked_by: 'painter',
} as GateRow

function row(more: Partial<RunRow>, is_running = false): RunRow & { is_running: boolean } {
  const base = {
    run_id: 'r_0123456789ab',
    pattern: 'task',
    title: 'do it',
    status: 'completed',
    stop_reason: 'completed',
    created_at: 0,
  }
  return { ...base, ended_at: 1500, usage, ...more, is_running } as RunRow & { is_running: boolean }
}

describe('lists', () => {
  test('L11 a run whose process has crashed is listed as interrupted', () => {
    const crashed = row({ status: 'running', ended_at: null })
    expect(runsTable([crashed], 0, style).join('\n')).toContain('interrupted')
    expect(runsTable([row({ status: 'running', ended_at: null }, true)], 0, style).join('\n')).toContain('running')
  })

  test('L9 the table of runs drops columns before it truncates the title', () => {
    const rows = [
      row({}),
      row({ status: 'waiting', ended_at: null, title: 'Paint the shed in a colour that everybody likes' }),
    ]
    expect(runsTable(rows, 65_000, plainStyle(90))).toEqual([
      'run             status     age  time  tokens  pattern  title',
      'r_0123456789ab  completed   1m  1.5s   1,234  task     do it',
      'r_0123456789ab  waiting     1m         1,234  task     Paint the shed in a colour that ev…',
    ])
    const narrow = runsTable(rows, 65_000, plainStyle(50))
    expect(narrow[2]).toBe('r_0123456789ab  waiting     1m  Paint the shed in…')
    for (const line of narrow) expect(displayWidth(line)).toBeLessThanOrEqual(50)
  })

  test('L17 an error shows message, hint and alternatives, without repetitions', () => {
    const message = "no agent 'architct'; known: architect, reviewer"
    const alternatives = ['architect', 'reviewer']
    expect(errorLines({ message, hint: "did you mean 'architect'?", alternatives }, style)).toEqual([
      `error: ${message}`,
      "hint: did you mean 'architect'?",
    ])
    expect(errorLines({ message: 'neither is given', hint: 'name one', alternatives }, style)).toEqual([
      'error: neither is given',
      'hint: name one',
      'known: architect, reviewer',
    ])
    const many = Array.from({ length: 30 }, (_, index) => `name-${index}`)
    expect(errorLines({ message: 'no', hint: '', alternatives: many }, plainStyle(200))[1]).toMatch(
      /name-7 and 22 more$/,
    )
  })

  test('L13 a gate shows the agent, the question, the choices and the command to answer it', () => {
    expect(gateLines(gate, style)).toEqual([
      '? g_1  painter asks in r_1',
      '  Which colour?',
      '  one of: dark blue, red',
      "  answer with: troupe answer g_1 'dark blue'",
    ])
    expect(quoteShellWord("it's")).toBe("'it'\\''s'")
  })

  test('L35 a question with a list keeps its lines, and control characters are removed', () => {
    const question = 'They do not agree:\n1. wait \u001b[2J(a)\n2. go (b)\nAnswer with a number.'
    const { choices: _, ...open } = gate
    expect(gateLines({ ...open, question }, style).slice(1, 5)).toEqual([
      '  They do not agree:',
      '  1. wait (a)',
      '  2. go (b)',
      '  Answer with a number.',
    ])
    const long = { ...open, question: `Which?\n${'- one\n'.repeat(50)}` }
    expect(gateLines(long, style)).toHaveLength(23)
  })

  test('L4 the summary is one line, followed by the next command', () => {
    expect(summaryLine(result, style)).toBe('✓ completed  1.2s · 2 calls · 1,234 tokens · r_0123456789ab')
    expect(nextStepLines(result, style)).toEqual([])
    expect(nextStepLines({ ...result, status: 'pending' }, style)).toEqual([
      'resume with: troupe resume r_0123456789ab',
    ])
    expect(nextStepLines({ ...result, status: 'waiting', gates: [gate] }, style)).toEqual(gateLines(gate, style))
    const error = {
      code: 'limit_reached',
      message: 'calls',
      responsible: 'operator',
      retry: true,
      hint: '',
      alternatives: [],
    } as const
    expect(
      nextStepLines({ ...result, status: 'failed', error: { ...error, alternatives: [] } }, plainStyle(90)),
    ).toEqual([
      'error: calls',
      'inspect with: troupe show r_0123456789ab',
      'raise the limit with: troupe resume r_0123456789ab --limit NAME=VALUE',
    ])
  })

  test('L4 the result is its text, or JSON without one', () => {
    expect(outputText([], 'task', { response: 'words', more: 1 })).toBe('words')
    expect(outputText([], 'task', 'words')).toBe('words')
    expect(outputText([], 'task', null)).toBe('')
    expect(JSON.parse(outputText([], 'task', { a: [1] }))).toEqual({ a: [1] })
  })

  test('A17 L20 agents and doctor checks fit into a narrow terminal', () => {
    const agents = [
      { name: 'zoë', description: 'word '.repeat(30), instructions: '', tools: [], exclude_tools: ['Bash'] },
    ]
    const checks = [
      { name: 'store', status: 'error' as const, message: 'word '.repeat(30), hint: 'do something about it, soon' },
    ]
    const narrow = plainStyle(40)
    expect(agentLines(agents, narrow)[0]).toBe('zoë  no tools, except Bash')
    expect(doctorCheckLines(checks, narrow)[0]).toMatch(/^✗ store {5}word word/)
    for (const line of [...agentLines(agents, narrow), ...doctorCheckLines(checks, narrow)]) {
      expect(displayWidth(line)).toBeLessThanOrEqual(40)
    }
  })

  test('L8 durations, counts and costs are formatted briefly and correctly', () => {
    expect([0, 999, 1000, 59_949, 60_000, 3_599_999, 7_800_000].map(formatDuration)).toEqual([
      '0ms',
      '999ms',
      '1.0s',
      '59.9s',
      '1m00s',
      '1h00m',
      '2h10m',
    ])
    expect([0, 61_000, 7_200_000, 200_000_000].map(formatAge)).toEqual(['0s', '1m', '2h', '2d'])
    expect([0, 9_999, 12_345, 99_999, 999_499, 1_250_000].map(formatCompactCount)).toEqual([
      '0',
      '9,999',
      '12.3k',
      '100k',
      '999k',
      '1.3M',
    ])
    expect([0, 0.0123, 1.5].map(formatUsd)).toEqual(['$0.00', '$0.0123', '$1.50'])
  })
})
