import { expect, test } from 'vitest'
import { plainStyle } from '../../../test/support/plain-style.ts'
import type { RunResult } from '../../index.ts'
import { exitCodeFrom } from './exit-code.ts'
import { summaryLine } from './render/result-lines.ts'

function result(output: unknown, status: RunResult['status'] = 'completed'): RunResult {
  const usage = { calls: 1, input: 1, output: 1, usd: null }
  return {
    run_id: 'r1',
    status,
    stop_reason: 'completed',
    output,
    usage,
    duration_ms: 5,
    gates: [],
  } as unknown as RunResult
}

test('L64 a completed run without a decision exits with 4, and its summary has no tick', () => {
  expect(exitCodeFrom(result({ decided: false }))).toBe(4)
  expect(summaryLine(result({ decided: false }), plainStyle(80))).toMatch(/^◐ completed without a decision {2}/)
  for (const output of [{ decided: true }, {}, null, 'text']) {
    expect(exitCodeFrom(result(output))).toBe(0)
    expect(summaryLine(result(output), plainStyle(80))).toMatch(/^✓ completed {2}/)
  }
  expect(exitCodeFrom(result({ decided: false }, 'failed'))).toBe(1)
})
